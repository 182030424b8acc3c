"""Look-backs of a hot key on a stream, on Spark: shared without a hint, through failures and restarts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.errors import DifferentQuery
from sash.runtimes.observed_counts import decisions_in
from sash.runtimes.spark.streaming.hot_keys import choose_shared_keys
from tests.runtimes.micro_batches import read_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
ROWS, BATCHES = 1_000, 10
AT = pa.timestamp("us", "UTC")


def batches() -> list[pa.Table]:
    """A second each; nine tenths of the rows are of one key, from the seventh batch on of another one."""
    random, made = np.random.default_rng(3), []
    for number in range(BATCHES):
        times = 10**12 + number * 10**6 + random.integers(-200_000, 10**6, ROWS)
        hot = "a" if number < 6 else "b"
        keys = np.where(random.random(ROWS) < 0.9, hot, random.choice(["a", "b", "c", "d", "e"], ROWS))
        made.append(
            pa.table({
                "ts": pa.array(times, AT), "k": keys, "e": np.arange(ROWS) + number * ROWS,
                "x": random.integers(0, 100, ROWS),
            })
        )  # fmt: skip
    times = pa.array([10**12 + 10**9] * 5, AT)
    last = {"ts": times, "k": list("abcde"), "e": range(-5, 0), "x": [0] * 5}
    return [*made, pa.table(last, schema=made[0].schema)]


def rolling(data: Any) -> sash.WindowQuery:
    stream = sash.stream(data, time="ts", key="k", delay="150 ms")
    return stream.rolling("240 ms", "1200 ms").agg(n=sash.count(), s=sash.sum("x"), hi=sash.max("x"))


def test_a_hot_key_is_shared_from_a_later_batch_on_and_the_rows_are_those_without_that(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_shared_keys, "LEAST", 200)
    (tmp_path / "in").mkdir()
    every, failing = batches(), {4, 8}
    found: dict[int, pa.Table] = {}
    late: dict[int, pa.Table] = {}
    decided: dict[int, list[str]] = {}

    def sink(rows: DataFrame, batch: int) -> None:
        found[batch] = rows.toArrow()
        if batch in failing:
            failing.remove(batch)
            raise RuntimeError("the sink has failed")

    def late_sink(rows: DataFrame, batch: int) -> None:
        late[batch] = rows.toArrow()

    def run() -> None:
        query = rolling(read_batches(spark, tmp_path / "in", every[0].schema))
        handle = query.start(sink, late=late_sink, checkpoint=tmp_path / "c", trigger="available now")
        try:
            handle.awaitTermination()
        finally:
            for progress in handle.recentProgress:
                decided.setdefault(progress["batchId"], []).extend(map(str, decisions_in(progress)))

    write_batches(tmp_path / "in", every[:6])
    with pytest.raises(Exception, match="the sink has failed"):
        run()
    run()
    other = rolling(read_batches(spark, tmp_path / "in", every[0].schema))
    with pytest.raises(DifferentQuery, match="shares look-backs of hot keys just now"):
        other.start(sink, checkpoint=tmp_path / "c", trigger="available now", online=tmp_path / "online")
    write_batches(tmp_path / "in", every[6:], first=6)
    with pytest.raises(Exception, match="the sink has failed"):
        run()
    run()

    whole = pa.concat_tables(every)
    too_late = set(pa.concat_tables(late.values())["e"].to_pylist())
    assert 0 < len(too_late) < 0.2 * whole.num_rows
    kept = [row["e"] not in too_late for row in whole.to_pylist()]
    expected = rolling(whole.filter(pa.array(kept)).sort_by("ts")).collect()
    expected = expected.filter(pa.array([row["e"] >= 0 for row in expected.to_pylist()]))
    order = [("e", "ascending")]
    assert (
        pa.concat_tables(found.values()).sort_by(order).to_pylist() == expected.sort_by(order).to_pylist()
    )
    shared = [batch for batch, texts in decided.items() if any("look-backs of" in one for one in texts)]
    assert {3, 5, 9} <= set(shared)
    assert not {0, 1} & set(shared)


def test_what_is_shared_goes_back_before_an_aggregate_is_added(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose_shared_keys, "LEAST", 200)
    (tmp_path / "in").mkdir()
    every, found = batches(), list[pa.Table]()

    def run(query: sash.WindowQuery) -> None:
        handle = query.start(
            lambda rows, batch: found.append(rows.toArrow()), checkpoint=tmp_path / "c",
            trigger="available now",
        )  # fmt: skip
        handle.awaitTermination()

    def query() -> sash.WindowQuery:
        return rolling(read_batches(spark, tmp_path / "in", every[0].schema))

    def changed() -> sash.WindowQuery:
        stream = sash.stream(
            read_batches(spark, tmp_path / "in", every[0].schema), time="ts", key="k", delay="150 ms"
        )
        aggregates = {"n": sash.count(), "s": sash.sum("x"), "hi": sash.max("x"), "low": sash.min("x")}
        return stream.rolling("240 ms", "1200 ms").agg(**aggregates)

    write_batches(tmp_path / "in", every[:4])
    run(query())
    with pytest.raises(DifferentQuery, match=r"hottest=0\.001"):
        run(changed())
    write_batches(tmp_path / "in", every[4:], first=4)
    run(query().parallel(sash.Auto(hottest=0.001)))
    before = len(found)
    times = pa.array([10**12 + 2 * 10**9 + at for at in range(3)] + [10**12 + 3 * 10**9] * 2, AT)
    more = {"ts": times, "k": list("aabab"), "e": range(5), "x": [4, 2, 9, 0, 0]}
    write_batches(tmp_path / "in", [pa.table(more, schema=every[0].schema)], first=len(every))
    run(changed())
    rows = [row for table in found[before:] for row in table.to_pylist() if 0 <= row["e"] < 3]
    rows.sort(key=lambda row: row["e"])
    assert [(row["k"], row["n_1200_ms"], row["low_1200_ms"]) for row in rows if row["x"]] == [
        ("a", 1, 4), ("a", 2, 2), ("b", 1, 9),
    ]  # fmt: skip


def test_the_plan_has_when_look_backs_are_shared(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    query = rolling(read_batches(spark, tmp_path / "in", batches()[0].schema))
    planned = " ".join(query.explain("plan").split())
    assert "look-backs of a key that has more rows than a task has on average, and at least 100" in planned
    assert "look-backs of a key" not in query.parallel(sash.Auto(hottest=0.001)).explain("plan")
