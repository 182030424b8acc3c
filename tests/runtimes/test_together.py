"""Several queries over one stream on Spark: read once, each with its own sinks, state and counts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, Unsupported
from sash.runtimes.spark.inspection.checkpoint_contents import StageSeen
from sash.runtimes.spark.inspection.elastic_state import stages_in, store_of
from tests.runtimes.micro_batches import counted_in, read_batches, stream_batches, write_batches
from tests.runtimes.test_spark_streaming import DELAY, SCHEMA, by_minute, closed, cut, disordered, trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark


class Kept:
    """Sinks by name that remember."""

    def __init__(self, *names: str) -> None:
        self.rows: dict[str, list[str]] = {name: [] for name in names}

    def sinks(self) -> dict[str, Any]:
        return {name: self._sink(name) for name in self.rows}

    def _sink(self, name: str) -> Any:
        return lambda df, batch: self.rows[name].extend(map(str, df.toArrow().to_pylist()))


def queries_over(data: Any) -> dict[str, Any]:
    """Windows, look-backs and whole windows; two of the same keys, one of none, one that waits longer."""
    stream = sash.stream(data, time="ts", key="symbol", delay=DELAY)
    every = sash.stream(data, time="ts", delay="1 minute")
    return {
        "minutes": stream.window(sash.tumbling("1 minute"), flush=False).agg(n=sash.count()),
        "features": stream.rolling("10 seconds").agg(total=sash.sum("size"), high=sash.max("price")),
        "sessions": every.window(sash.session("1 second"), flush=False).agg(sizes=sash.collect("size")),
        "whole": stream.window(sash.rows(10), flush=False).apply(
            lambda rows: {"n": rows.num_rows}, schema="n bigint"
        ),
    }


def test_differential_each_query_says_what_it_says_alone_and_the_stream_is_read_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = disordered(trades(180))
    batches = cut(rows, 3)
    df = stream_batches(spark, batches)
    queries = queries_over(df)
    kept = Kept(*queries)
    handle = sash.together(**queries).start(
        kept.sinks(), checkpoint=tmp_path / "checkpoint", trigger="available now", name="all"
    )
    handle.awaitTermination()
    alone = queries_over(pa.Table.from_pylist(rows, schema=SCHEMA))
    for name in ("minutes", "sessions", "whole"):
        assert sorted(kept.rows[name]) == closed(alone[name]) != []
    assert set(kept.rows["features"]) < set(map(str, alone["features"].collect().to_pylist()))
    progress = handle.recentProgress
    assert sum(one.numInputRows for one in progress) == len(rows)
    for name in queries:
        mine = [
            row
            for one in progress
            for metric, row in one.observedMetrics.items()
            if metric.startswith(f"sash {name} ")
        ]
        assert sum(row["events"] for row in mine) == len(rows)
        assert sum(row["reports"] for row in mine) == len(kept.rows[name])
    assert counted_in(progress, "late") == 0


def test_a_query_is_added_and_removed_and_the_others_go_on_with_their_state(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = disordered(trades(180))
    batches = cut(rows, 3)
    (tmp_path / "input").mkdir()
    minutes, late = Kept("one"), Kept("one")

    def run(first: int, some: list[pa.Table], *more: str) -> None:
        write_batches(tmp_path / "input", some, first=first)
        df = read_batches(spark, tmp_path / "input", SCHEMA)
        queries = {"one": by_minute(df)} | {name: queries_over(df)[ADDED[name]] for name in more}
        sinks: dict[str, Any] = {name: tmp_path / name for name in more}
        handle = sash.together(**queries).start(
            minutes.sinks() | sinks, late=late.sinks(), checkpoint=tmp_path / "checkpoint",
            trigger="available now",
        )  # fmt: skip
        handle.awaitTermination()

    run(0, batches[:2])
    of_symbols = _buckets(tmp_path / "checkpoint")
    run(2, batches[2:3], "two", "three")
    one, three, two = sorted(_stages(tmp_path / "checkpoint"), key=lambda stage: stage.where)
    assert [stage.where for stage in (one, two, three)] == [
        "in files, query one", "in files, query two", "in files, query three"
    ]  # fmt: skip
    assert one.buckets
    assert _buckets(tmp_path / "checkpoint") > of_symbols
    assert one.description != two.description
    run(3, [*batches[3:], pa.Table.from_pylist(trades(5), schema=SCHEMA)])
    bounded = sash.stream(pa.Table.from_pylist(rows, schema=SCHEMA), time="ts", key="symbol", delay=DELAY)
    expected = bounded.window(sash.tumbling("1 minute"), flush=False).agg(n=sash.count())
    assert sorted(minutes.rows["one"]) == closed(expected)
    assert len(late.rows["one"]) == 5
    assert sash.published(tmp_path / "two", spark=spark).count() > 0
    (alone,) = _stages(tmp_path / "checkpoint")
    assert alone.where == one.where
    assert _buckets(tmp_path / "checkpoint") == of_symbols, "those of the query without keys are gone"


ADDED = {"two": "features", "three": "sessions"}


def _buckets(checkpoint: Path) -> set[str]:
    return {folder.name for folder in (checkpoint / "sash").glob("bucket-*")}


def _stages(checkpoint: Path) -> list[StageSeen]:
    found = stages_in(store_of(checkpoint), checkpoint=checkpoint)
    assert found is not None
    assert found.wrong == []
    return found.stages


def test_what_does_not_fit_together_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    rate = spark.readStream.format("rate").load()
    other = spark.readStream.format("rate").load()

    def counts(df: DataFrame, **more: Any) -> Any:
        stream = sash.stream(df, time="timestamp", **more)
        return stream.window(sash.tumbling("1 minute")).agg(n=sash.count())

    with pytest.raises(Unsupported, match="a query over the stream of one"):
        sash.together(one=counts(rate), two=counts(other))
    with pytest.raises(Unsupported, match="without a pattern"):
        sash.together(one=counts(rate, key="value").parallel(sash.KeyFarm(2)))
    with pytest.raises(Unsupported, match="a streaming DataFrame"):
        sash.together(one=by_minute(SCHEMA.empty_table()))
    with pytest.raises(ArgumentError, match="at least one query"):
        sash.together()
    with pytest.raises(ArgumentError, match="a query over windows"):
        sash.together(one=rate)
    both = sash.together(one=counts(rate), two=counts(rate, key="value"))
    with pytest.raises(ArgumentError, match=r"a sink for each query; \['two'\] have none"):
        both.start({"one": tmp_path}, checkpoint=tmp_path)
    with pytest.raises(ArgumentError, match="the name of a query: one, two"):
        both.start({"one": tmp_path, "two": tmp_path}, late={"three": tmp_path}, checkpoint=tmp_path)
    stores = {"one": tmp_path / "store", "two": tmp_path / "store"}
    with pytest.raises(ArgumentError, match="a store for each query"):
        both.start({"one": tmp_path, "two": tmp_path}, online=stores, checkpoint=tmp_path)
    with pytest.raises(Unsupported, match=r"online must be used with \.rolling"):
        both.start(
            {"one": tmp_path / "one", "two": tmp_path / "two"},
            online={"one": tmp_path / "store"}, checkpoint=tmp_path / "checkpoint",
        )  # fmt: skip
    text = both.explain()
    assert "buckets of (no key): one" in text
    assert "buckets of (value): two" in text
