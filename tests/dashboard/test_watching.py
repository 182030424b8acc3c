"""What is shown of real queries on Spark, while they run."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sash
from sash.dashboard import Feed, MessageFolder, watch
from sash.dashboard.report_folder import ReportFolder
from tests.runtimes.micro_batches import stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND, TEN_THIRTY = 1_000_000, 1_767_609_000_000_000
KEYS, TIMES = "abac", (0, 3, 6, 9)


def batches() -> list[pa.Table]:
    """Two micro-batches of quotes; the second has an event that comes too late."""
    found = []
    for number in range(2):
        times = [TEN_THIRTY + (10 * number + at) * SECOND for at in TIMES]
        if number == 1:
            times[0] = TEN_THIRTY
        found.append(
            pa.table(
                {
                    "t": pa.array(times, pa.timestamp("us", "UTC")),
                    "k": list(KEYS),
                    "x": [float(number + at) for at in range(4)],
                }
            )
        )
    return found


def sliding_query(df: Any) -> Any:
    return (
        sash.stream(df, time="t", key="k", delay="2 seconds")
        .window(sash.sliding("10 seconds", every="5 seconds"))
        .agg(n=sash.count(), top=sash.max("x"))
    )


def messages_of(feed: Feed, kind: str) -> list[dict[str, Any]]:
    return [message for message in feed.since(0)[1] if message["kind"] == kind]


def finished(feed: Feed, name: str) -> None:
    """Spark tells of an end a moment after it."""
    end = time.monotonic() + 20
    while name not in {message["query"] for message in messages_of(feed, "ended")}:
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.spark
def test_a_query_tells_its_counts_times_windows_and_keys(spark: SparkSession, tmp_path: Path) -> None:
    feed, query = Feed(), sliding_query(stream_batches(spark, batches()))
    watching = watch(spark, feed)
    try:
        handle = query.start(
            tmp_path / "out", checkpoint=tmp_path / "c", trigger="available now", name="fixed"
        )
        watching.add(handle, query=query, reports=tmp_path / "out")
        handle.awaitTermination()
        finished(feed, "fixed")
    finally:
        watching.stop()
    (about,) = messages_of(feed, "about")
    assert about["plan"]["windows"][0]["label"] == "time(10 seconds, 5 seconds)"
    assert about["explain"].startswith("window ")
    frames = messages_of(feed, "frame")
    assert frames[-1]["totals"]["events"] == 8
    assert frames[-1]["totals"]["late"] == 1
    assert [frame["batch"] for frame in frames] == sorted({frame["batch"] for frame in frames})
    newest = TEN_THIRTY // 1000 + 19_000
    assert max(frame["newest"] or 0 for frame in frames) == newest
    assert frames[-1]["watermark"] == newest - 2_000
    assert frames[-1]["open"] == 2  # the watermark is 10:30:17: [10, 20) and [15, 25)
    assert frames[-1]["state_bytes"] > 0
    assert frames[-1]["degree"] == 2
    assert frames[0]["decisions"][-1] == "two stages: nothing is known of a first batch"
    assert messages_of(feed, "ended")[0]["error"] is None
    written = pq.read_table(tmp_path / "out").to_pylist()
    assert frames[-1]["totals"]["reports"] == len(written)
    kept = {key: feed.windows("fixed", key) for key in "abc"}
    assert {(key, window["start"], window["values"]["n"]) for key in kept for window in kept[key]} == {
        (row["k"], round(row["window"]["start"].timestamp() * 1000), row["n"]) for row in written
    }
    (reports,) = messages_of(feed, "reports")
    latest = {row["k"]: row["n"] for row in sorted(written, key=lambda row: row["window"]["end"])}
    assert dict(reports["hottest"]) == latest
    assert reports["measure"] == "events in the latest window"


@pytest.mark.spark
def test_an_elastic_query_tells_the_degree_of_every_micro_batch(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed, query = Feed(), sliding_query(stream_batches(spark, batches()))
    degrees = iter([1, 2, 1, 2, 2, 2])
    elastic = sash.Elastic(min=1, max=2, buckets=2, controller=lambda samples: next(degrees))
    watching = watch(spark, feed)
    try:
        handle = query.start(
            tmp_path / "out",
            checkpoint=tmp_path / "c",
            elastic=elastic,
            trigger="available now",
            name="elastic",
        )
        watching.add(handle, query=query, reports=tmp_path / "out")
        handle.awaitTermination()
        finished(feed, "elastic")
    finally:
        watching.stop()
    frames = messages_of(feed, "frame")
    assert {frame["batch"]: frame["degree"] for frame in frames} == handle.degrees
    assert len(set(handle.degrees.values())) == 2
    assert frames[-1]["totals"] == {
        count: sum(getattr(batch, count) for batch in handle.metrics)
        for count in ("events", "late", "reports")
    }
    assert frames[-1]["watermark"] == TEN_THIRTY // 1000 + 17_000
    assert frames[-1]["state_bytes"] > 0
    assert messages_of(feed, "about")[0]["elastic"]
    assert feed.windows("elastic", "a")


@pytest.mark.spark
def test_queries_that_run_together_have_messages_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    feed, df = Feed(), stream_batches(spark, batches())
    eager = sash.stream(df, time="t", key="k").window(sash.tumbling("5 seconds")).agg(low=sash.min("x"))
    queries = sash.together(sliding=sliding_query(df), eager=eager)
    places = {name: tmp_path / name for name in queries.queries}
    watching = watch(spark, feed)
    try:
        handle = queries.start(places, checkpoint=tmp_path / "c", trigger="available now", name="market")
        watching.add(handle, query=queries, reports=places)
        handle.awaitTermination()
        finished(feed, "market/eager")
    finally:
        watching.stop()
    names = {"market/sliding", "market/eager"}
    for kind in ("about", "started", "ended"):
        assert {message["query"] for message in messages_of(feed, kind)} == names, kind
    last = {message["query"]: message for message in messages_of(feed, "frame")}
    assert last.keys() == names
    newest = TEN_THIRTY // 1000 + 19_000
    assert last["market/sliding"]["watermark"] == newest - 2_000
    assert last["market/eager"]["watermark"] == newest
    assert {name: one["totals"]["events"] for name, one in last.items()} == dict.fromkeys(names, 8)
    assert {name: one["totals"]["late"] for name, one in last.items()} == dict.fromkeys(names, 1)
    for name, place in places.items():
        assert last[f"market/{name}"]["totals"]["reports"] == pq.read_table(place).num_rows
    assert feed.windows("market/sliding", "a")[0]["values"].keys() == {"n", "top"}
    assert feed.windows("market/eager", "a")[0]["values"].keys() == {"low"}
    assert all(one["state_bytes"] > 0 and one["shared"] for one in last.values())


@pytest.mark.spark
def test_the_rows_of_look_backs_are_shown_as_rows(spark: SparkSession, tmp_path: Path) -> None:
    feed, df = Feed(), stream_batches(spark, batches())
    query = sash.stream(df, time="t", key="k", delay="2 seconds").rolling("5 seconds").agg(n=sash.count())
    watching = watch(spark, feed)
    try:
        handle = query.start(
            tmp_path / "out", checkpoint=tmp_path / "c", trigger="available now", name="rows"
        )
        watching.add(handle, query=query, reports=tmp_path / "out")
        handle.awaitTermination()
        finished(feed, "rows")
    finally:
        watching.stop()
    (about,) = messages_of(feed, "about")
    assert about["plan"]["rows"] == "event"
    assert about["explain"].startswith("rows     one row per event")
    written = pq.read_table(tmp_path / "out").to_pylist()
    shown = [row for key in "abc" for row in feed.windows("rows", key)]
    assert sorted((row["start"], row["values"]["n_5_seconds"]) for row in shown) == sorted(
        (round(row["t"].timestamp() * 1000), row["n_5_seconds"]) for row in written
    )
    assert messages_of(feed, "reports")[-1]["measure"] == "n_5_seconds"


@pytest.mark.spark
def test_a_query_that_nobody_described_and_that_fails_is_told_of_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    def broken(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        raise ValueError("broken on purpose")

    feed = Feed()
    watching = watch(spark, feed)
    try:
        rows = stream_batches(spark, [pa.table({"x": [1]})]).mapInArrow(broken, "x long")
        writing = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
        query = writing.trigger(availableNow=True).start()
        with pytest.raises(Exception, match="broken on purpose"):
            query.awaitTermination()
        finished(feed, str(query.id)[:8])
    finally:
        watching.stop()
    (ended,) = messages_of(feed, "ended")
    assert ended["query"] == str(query.id)[:8]
    assert ended["error"]
    assert "\n" not in ended["error"]


@pytest.mark.spark
def test_after_stopping_nothing_more_is_told(spark: SparkSession, tmp_path: Path) -> None:
    watching = watch(spark, MessageFolder(tmp_path / "frames"))
    watching.stop()
    rows = stream_batches(spark, [pa.table({"x": [1, 2]})])
    writing = rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "c"))
    writing.trigger(availableNow=True).start().awaitTermination()
    assert list((tmp_path / "frames").iterdir()) == []


def window(id: int) -> dict[str, int]:
    return {"id": id, "start": 10 * id, "end": 10 * id + 10}


def write(folder: Path, name: str, **columns: list[Any]) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), folder / name)


def test_reports_are_read_once_and_what_is_not_complete_is_not_read(tmp_path: Path) -> None:
    out = ReportFolder(tmp_path, keys=("k",), values=("n",), count="n")
    assert out.look() is None
    write(tmp_path, "batch=0/a.parquet", k=["a", "b"], window=[window(1), window(1)], n=[3, 5])
    write(tmp_path, "_batch=1/a.parquet", k=["c"], window=[window(2)], n=[9])
    (tmp_path / "late.parquet").write_text("not complete")
    page = out.look()
    assert page is not None
    assert page["hottest"] == [("b", 5), ("a", 3)]
    assert [row["key"] for row in page["rows"]] == ["a", "b"]
    assert out.look() is None
    write(tmp_path, "batch=1/a.parquet", k=["a"], window=[window(2)], n=[7])
    page = out.look()
    assert page is not None
    assert page["hottest"] == [("a", 7), ("b", 5)]
    write(tmp_path, "late.parquet", k=["c"], window=[window(2)], n=[6])
    page = out.look()
    assert page is not None
    assert [row["key"] for row in page["rows"]] == ["c"]


def test_the_folder_of_a_query_is_not_listed_and_nothing_of_it_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ReportFolder(tmp_path, keys=("k",), values=("n",), count="n")
    (tmp_path / "_sash").mkdir()
    monkeypatch.setattr(Path, "rglob", lambda *_: pytest.fail("the whole folder is listed"))
    for batch in range(0, 300, 3):  # batches without rows leave nothing
        write(tmp_path, f"batch={batch}/1f/a.parquet", k=["a"], window=[window(batch)], n=[batch])
        (tmp_path / "_sash" / str(batch)).touch()
        page = out.look(batch)
        assert page is not None
        assert [row["id"] for row in page["rows"]] == [batch]
        assert out.look(batch + 1) is None
    write(tmp_path, "batch=300/1f/a.parquet", k=["a"], window=[window(300)], n=[1])
    assert out.look(300) is None, "it is not published"
    (tmp_path / "_sash" / "300").touch()
    assert out.look() is not None, "at the end no batch is known"
    assert len(out._read_then) == 1


def test_without_a_count_keys_are_ranked_by_reports_and_the_page_says_so(tmp_path: Path) -> None:
    out = ReportFolder(tmp_path, keys=("k", "l"), values=("x",), count=None)
    write(
        tmp_path, "a.parquet", k=["a", "a", None], l=[1, 1, 2], window=[window(1), window(2), window(1)],
        x=[1.5, float("nan"), None],
    )  # fmt: skip
    page = out.look()
    assert page is not None
    assert page["measure"] == "windows reported"
    assert page["hottest"] == [("a · 1", 2), ("null · 2", 1)]
    assert [row["values"]["x"] for row in page["rows"]] == [1.5, None, "nan"]


def test_a_query_without_keys_has_one_for_all(tmp_path: Path) -> None:
    out = ReportFolder(tmp_path, keys=(), values=("n",), count="n")
    write(tmp_path, "a.parquet", window=[window(1), window(2)], n=[3, 4])
    page = out.look()
    assert page is not None
    assert page["hottest"] == [("(all)", 4)]
