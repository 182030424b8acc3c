"""`sash size`: what a small trial predicts of a bucket, against a bucket of that size."""

from __future__ import annotations

import os
import shutil
import time
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, Unsupported
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.sizing.bucket_trial import tried
from sash.runtimes.spark.sizing.cluster_size import cluster_size
from sash.runtimes.spark.sizing.load import ExpectedLoad, SampleEvents
from tests.runtimes.micro_batches import write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("user", pa.string()), ("amount", pa.float64())])
NEAR = pytest.approx
CLOSE = 0.3


def over(data: Any) -> dict[str, Any]:
    stream = sash.stream(data, time="ts", key="user", delay="10 seconds")
    values = {"n": sash.count(), "spent": sash.sum("amount")}
    return {
        "sliding": stream.window(sash.sliding("5 minutes", every="10 seconds")).agg(**values),
        "tumbling": stream.window(sash.tumbling("1 minute")).agg(**values),
        "rows": stream.window(sash.rows(20, every=5)).agg(**values, most=sash.max("amount")),
        "look-backs": stream.rolling("1 minute", "10 minutes").agg(**values),
        "sessions": stream.window(sash.session("20 seconds")).agg(**values),
    }


QUERIES = over(SCHEMA.empty_table())


@pytest.mark.parametrize(
    ("name", "keys"), [*((name, 4_000) for name in QUERIES), ("sliding", 16_000), ("rows", 16_000)]
)
def test_a_trial_with_few_keys_predicts_a_bucket_with_many(name: str, keys: int) -> None:
    bound, load = QUERIES[name].bound, ExpectedLoad(rate=keys / 10, keys=keys, seconds=5)
    small = tried(bound, load, buckets=1, limit=50_000)
    large = tried(bound, load, buckets=1, limit=10**9)
    assert (large.scale, large.keys) == (1, keys)
    assert small.scale > 1
    for predicted, counted in (
        (small.arena_of_a_key, large.arena_of_a_key), (small.kept_of_a_key, large.kept_of_a_key),
        (small.written, large.written), (small.block, large.block), (small.shuffled, large.shuffled),
        (small.reports, large.reports), (small.report_bytes, large.report_bytes),
    ):  # fmt: skip
        assert predicted == NEAR(counted, rel=CLOSE)


def test_sums_have_terms_and_grow_with_the_load() -> None:
    bounds = {name: QUERIES[name].bound for name in ("tumbling", "sliding")}
    small = cluster_size(
        bounds, ExpectedLoad(rate=2_000, keys=20_000, seconds=10), partitions=4, limit=20_000
    )
    large = cluster_size(
        bounds, ExpectedLoad(rate=200_000, keys=2 * 10**6, seconds=10), partitions=400, limit=20_000
    )
    for one, two in zip(small.quantities, large.quantities, strict=True):
        assert one.amount == NEAR(sum(term.amount for term in one.terms) / one.divisor)
        assert two.amount > one.amount
    disk = [size["local disk"].amount for size in (small, large)]
    assert disk[1] == NEAR(100 * disk[0], rel=CLOSE)
    assert large.as_data()["partitions"] == 400


def test_partitions_are_as_many_as_the_work_needs() -> None:
    size = cluster_size(
        {"": QUERIES["tumbling"].bound}, ExpectedLoad(rate=1e6, keys=10**8, seconds=10), limit=200_000
    )
    assert size["cores"].amount == NEAR(size.partitions, rel=0.5)


def test_a_load_that_is_small_needs_what_its_micro_batches_need() -> None:
    bounds = {"": QUERIES["tumbling"].bound}
    loads = [ExpectedLoad(rate=10, keys=10, seconds=every) for every in (1, 10)]
    often, seldom = (cluster_size(bounds, load, partitions=2, limit=10_000)["cores"] for load in loads)
    assert often.amount == NEAR(10 * seldom.amount, rel=CLOSE)


def test_a_stream_without_a_key_has_one_bucket() -> None:
    stream = sash.stream(SCHEMA.empty_table(), time="ts")
    bound = stream.window(sash.tumbling("1 minute")).agg(n=sash.count()).bound
    assert tried(bound, ExpectedLoad(rate=100, keys=50, seconds=5), buckets=8, limit=10_000).keys == 1


def test_what_has_no_size_is_refused() -> None:
    with pytest.raises(ArgumentError, match="rate must be greater than 0"):
        ExpectedLoad(rate=0, keys=1, seconds=1)
    ticks = sash.stream(pa.table({"t": [1], "k": ["a"]}), time="t", key="k").window(sash.tumbling(5))
    with pytest.raises(Unsupported, match="a timestamp for sash size"):
        tried(ticks.agg(n=sash.count()).bound, ExpectedLoad(rate=1, keys=1, seconds=1), buckets=1)
    with pytest.raises(ArgumentError, match="every must be more than"):
        cluster_size({}, ExpectedLoad(rate=1, keys=1, seconds=0.001))


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize("keys", [4_000, 24_000])
@pytest.mark.parametrize("name", ["sliding", "look-backs"])
def test_what_spark_holds_and_writes_is_what_was_predicted(
    spark: SparkSession, tmp_path: Path, name: str, keys: int
) -> None:
    """Bytes of arenas and of the state store; two buckets, as `spark` has partitions."""
    bound, load = QUERIES[name].bound, ExpectedLoad(rate=keys / 10, keys=keys, seconds=30)
    predicted = tried(bound, load, buckets=2, limit=100_000)
    count = round(load.rate * load.seconds)
    number = ceil(predicted.span / load.seconds)
    events = SampleEvents(bound, keys=keys)
    (tmp_path / "in").mkdir()
    write_batches(
        tmp_path / "in",
        [
            events.between(1e6 + at * load.seconds, 1e6 + (at + 1) * load.seconds, count).select(
                SCHEMA.names
            )
            for at in range(number)
        ],
    )
    rows = spark.readStream.schema(struct_of(SCHEMA)).option("maxFilesPerTrigger", 1)
    query = over(rows.parquet(str(tmp_path / "in")))[name]
    home = Path(os.environ["SASH_ARENA_DIR"])
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    running = query.start(
        lambda reports, batch: None, checkpoint=tmp_path / "checkpoint", trigger="available now"
    )
    most = 0
    while running.isActive:
        most = max(most, _bytes_below(home))
        time.sleep(0.05)
    running.awaitTermination()
    counts = [report.observedMetrics for report in running.recentProgress][number // 2 : number]
    written = [_count(one, "written") for one in counts]
    first, last = _whole_cycles(written)
    brought = sum(_count(one, "events") for one in counts[first:last])
    print(f"{name}, {keys:,} keys, predicted and counted on Spark:")
    print(f"  arena   {predicted.arena_of_a_key:,.0f} {most / keys:,.0f} bytes per key")
    print(f"  written {predicted.written:.1f} {sum(written[first:last]) / brought:.1f} bytes per event")
    assert predicted.arena_of_a_key == NEAR(most / keys, rel=CLOSE)
    assert predicted.written == NEAR(sum(written[first:last]) / brought, rel=CLOSE)


def _whole_cycles(written: list[int]) -> tuple[int, int]:
    """From the batch after a snapshot to that of the last one: buckets take theirs in neighbouring batches,
    and what is not a whole cycle has too many or too few of them."""
    usual = sorted(written)[len(written) // 2]
    large = [at for at, size in enumerate(written) if size > 2 * usual]
    ends = [at for at in large if at + 1 not in large]
    assert len(ends) > 1, "too few snapshots"
    return ends[0] + 1, ends[-1] + 1


def _count(observed: Any, name: str) -> int:
    return sum(row.asDict().get(name, 0) for row in observed.values())


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            continue
    return total
