"""What running queries add to the constants, and what they never do."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.planner.costs import constants
from sash.planner.costs.constants import (
    DEFAULTS,
    FILE,
    FIXED,
    Costs,
    SeenBatches,
    SparkCosts,
    costs,
    keep,
    keep_seen,
)
from sash.planner.costs.seen_in_queries import FAR, LEAST, learn
from sash.runtimes.spark.monitoring import small_batches
from sash.runtimes.spark.monitoring.small_batches import COLD, FEW, SmallBatches, watch
from sash.runtimes.spark.sinks.console_and_noop import NoopSink
from tests.planner.test_rules import HOT, LIGHT, plan_of, query
from tests.runtimes.micro_batches import stream_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EPOCH = SparkCosts().epoch
CALIBRATE = """
import pathlib, sys
from sash.planner.costs import constants
constants.path = lambda: pathlib.Path(sys.argv[1])
print("now", flush=True)
constants.keep(constants.SparkCosts(epoch=7e7))
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of the constants, where learning is switched on."""
    monkeypatch.setattr(constants, "path", lambda: tmp_path / FILE)
    monkeypatch.setenv("SASH_LEARN", "1")
    costs.cache_clear()
    yield tmp_path / FILE
    costs.cache_clear()


def test_a_median_scales_what_a_micro_batch_costs_and_nothing_else(file: Path) -> None:
    assert learn("epoch", [2 * EPOCH] * LEAST)
    now, before = costs().spark, DEFAULTS.spark
    for name in vars(before):
        assert getattr(now, name) == getattr(before, name) * (2 if name in FIXED else 1)
    assert not costs().spark_measured
    assert costs().seen == SeenBatches(2.0, LEAST)


def test_the_next_query_is_compared_with_the_constant_and_not_with_what_was_learned(file: Path) -> None:
    for _ in range(3):
        learn("epoch", [2 * EPOCH] * LEAST)
    assert costs().seen.factor == pytest.approx(2.0)
    learn("stateful", [0.5 * SparkCosts().stateful] * 3 * LEAST)
    assert costs().seen.factor == pytest.approx(1.0)


def test_one_slow_query_does_not_undo_a_calibration_and_another_calibration_begins_anew(file: Path) -> None:
    keep(SparkCosts(epoch=1e8))
    learn("epoch", [1e12] * LEAST)
    assert 1 < costs().seen.factor < FAR ** (1 / 3)
    assert costs().spark.epoch == pytest.approx(1e8 * costs().seen.factor)
    keep(SparkCosts())
    assert costs().seen == SeenBatches()


def test_a_query_that_learns_does_not_undo_a_calibration_by_another_process(file: Path) -> None:
    """It reads, another process calibrates, it writes: that other one waits."""
    others: list[subprocess.Popen[str]] = []

    def slowly(now: Costs) -> SeenBatches:
        other = subprocess.Popen(
            [sys.executable, "-c", CALIBRATE, str(file)], stdout=subprocess.PIPE, text=True
        )
        others.append(other)
        assert other.stdout is not None
        assert other.stdout.readline() == "now\n"
        with pytest.raises(subprocess.TimeoutExpired):
            other.wait(1)
        return SeenBatches(1.5, 100)

    keep_seen(slowly)
    with others[0] as other:
        assert other.wait(60) == 0
    costs.cache_clear()
    assert costs().spark == SparkCosts(epoch=7e7)
    assert costs().seen == SeenBatches()


def test_few_batches_teach_nothing_and_nor_do_any_where_it_is_switched_off(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not learn("epoch", [EPOCH] * (LEAST - 1))
    monkeypatch.setenv("SASH_LEARN", "0")
    assert not learn("epoch", [EPOCH] * LEAST)
    assert watch(SimpleNamespace(), "epoch", [NoopSink()]) is None
    assert not file.exists()


@pytest.mark.parametrize(
    "damaged",
    [
        7,
        {"factor": -1.0, "batches": 3},
        {"factor": "2", "batches": 3},
        {"factor": 2.0, "batches": -9},
        {"factor": 2.0},
        {"other": 1},
    ],
)
def test_what_is_no_factor_is_like_none(file: Path, damaged: Any) -> None:
    file.write_text(json.dumps({"queries": damaged}))
    assert costs().spark == SparkCosts()


def test_a_plan_has_where_its_constants_are_from(file: Path) -> None:
    def words() -> str:
        return plan_of(query(sash.tumbling(9), LIGHT), HOT, where="spark batch", costs=costs()).constants

    assert words() == "constants of Spark and of processes by default"
    keep_seen(lambda now: SeenBatches(1.5, 1_234))
    assert words() == "constants of Spark and of processes by default; 1,234 batches of queries"
    keep(SparkCosts())
    assert words().startswith("constants of Spark calibrated on 20")
    assert words().endswith(", of processes by default")


def report(batch: int, *, rows: int = 10, took: int = 200, idle: bool = False) -> Any:
    times = {"triggerExecution": took} | ({} if idle else {"addBatch": took - 20})
    return SimpleNamespace(batchId=batch, numInputRows=rows, durationMs=times)


def test_small_batches_count_once_they_are_warm_and_once_each(file: Path) -> None:
    reports = [
        *(report(n, took=9_000) for n in range(COLD)),
        *(report(COLD + n) for n in range(LEAST - 1)),
        report(100, rows=FEW + 1, took=90_000), report(101, rows=0), report(102, idle=True),
    ]  # fmt: skip
    small = SmallBatches("epoch", lambda batch: False)
    small.look(reports)
    small.look(reports)
    assert not file.exists()
    small.look([*reports, report(103)])
    assert costs().seen == SeenBatches(pytest.approx(2e8 / EPOCH), LEAST)


def test_one_task_spares_the_stage_that_a_batch_is_taken_to_have(file: Path) -> None:
    SmallBatches("epoch", lambda batch: True).look(report(n) for n in range(COLD + LEAST))
    assert costs().seen.factor == pytest.approx((2e8 + SparkCosts().stage) / EPOCH)


@pytest.mark.spark
def test_a_query_in_epochs_is_learned_from_when_it_ends(
    spark: SparkSession, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watching: list[Any] = []

    def watched(*given: Any, **more: Any) -> Any:
        watching.append(watch(*given, **more))
        return watching[-1]

    monkeypatch.setattr("sash.runtimes.spark.streaming.start.watch", watched)
    tables = [pa.table({"t": [10 * n, 10 * n + 1], "k": [1, 2]}) for n in range(COLD + LEAST)]
    counts = sash.stream(stream_batches(spark, tables), time="t", key="k").window(sash.tumbling(5))
    running = counts.agg(n=sash.count()).start(
        tmp_path / "out", checkpoint=tmp_path / "c", trigger="available now"
    )
    running.awaitTermination()
    (thread,) = watching
    thread.join(60)
    assert costs().seen.batches == LEAST
    assert json.loads(file.read_text())["queries"]["batches"] == LEAST


@pytest.mark.spark
def test_a_place_that_cannot_be_written_and_a_function_as_sink_change_nothing(
    spark: SparkSession, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "path", lambda: Path("/proc/none") / FILE)
    monkeypatch.setattr(small_batches, "LEAST", 1)
    tables = [pa.table({"t": [10 * n], "k": [1]}) for n in range(COLD + 2)]
    for sink in (tmp_path / "out", lambda rows, batch: rows.collect()):
        counts = sash.stream(stream_batches(spark, tables), time="t", key="k").window(sash.tumbling(5))
        running = counts.agg(n=sash.count()).start(
            sink, checkpoint=tmp_path / f"c{callable(sink)}", trigger="available now"
        )
        running.awaitTermination()
        assert running.exception() is None
