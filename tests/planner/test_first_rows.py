"""How many rows share a pane is seen from the first rows of a scan, and from nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.runtimes.spark.sql_folding.first_rows import ROWS, density

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECOND = 1_000_000


def stream(rows: int, keys: int, seconds: float, *, seed: int = 1) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return random.integers(0, keys, rows), np.sort(random.integers(0, int(seconds * SECOND), rows))


@settings(max_examples=40, deadline=None)
@given(
    keys=st.sampled_from([1, 10, 1_000]), rate=st.sampled_from([100, 5_000, 100_000]),
    seconds=st.sampled_from([0.1, 1, 60, 3_600]), seed=st.integers(0, 99),
)  # fmt: skip
def test_oracle_a_stretch_of_a_stream_has_the_density_of_all_of_it(
    keys: int, rate: int, seconds: float, seed: int
) -> None:
    found = density(*stream(ROWS, keys, ROWS / rate, seed=seed), length=int(seconds * SECOND), origin=0)
    mean = rate * seconds / keys
    real = mean / -np.expm1(-mean)  # of panes that hold a row
    assert found is not None
    error = max(2.0, 1.5 * (seconds * rate / ROWS) ** 0.5)
    assert real / error <= found <= real * error


def test_rows_in_no_order_of_time_teach_nothing() -> None:
    keys, times = stream(ROWS, 10, 3_600)
    shuffled = np.random.default_rng(2).permutation(times)
    assert density(keys, shuffled, length=SECOND, origin=0) is None


def test_a_few_events_that_are_late_change_little() -> None:
    keys, times = stream(ROWS, 10, 4)
    times[::100] -= 3_600 * SECOND
    found = density(keys, times, length=SECOND, origin=0)
    assert found is not None
    assert 50 < found < 110


def query_over(df: Any) -> Any:
    windowed = sash.stream(df, time="ts", key="k").window(sash.sliding("1 minute", every="1 second"))
    return windowed.agg(n=sash.count())


@pytest.mark.spark
def test_a_scan_with_one_row_per_pane_is_left_to_python(spark: SparkSession, tmp_path: Path) -> None:
    for name, number in (("sparse", 1_000), ("dense", 3)):
        keys, times = stream(20_000, number, 20)
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": keys})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    sparse, dense = (spark.read.parquet(str(tmp_path / f"{name}.parquet")) for name in ("sparse", "dense"))
    assert "would not be fewer rows" in query_over(sparse).explain("plan")
    assert "only panes travel to Python" in query_over(dense).explain("plan")
    # No scan: nothing is looked at, and many rows are assumed to share a pane.
    jobs = spark.sparkContext.statusTracker().getJobIdsForGroup(None)
    joined = sparse.join(dense.select("k").distinct(), "k")
    assert "only panes travel to Python" in query_over(joined).explain("plan")
    assert spark.sparkContext.statusTracker().getJobIdsForGroup(None) == jobs
