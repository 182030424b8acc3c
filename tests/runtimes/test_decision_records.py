"""What is decided between two batches, and where it is shown."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import sash
from sash.runtimes.observed_counts import decisions_in
from sash.runtimes.spark.epochs.decision_records import Decision
from sash.runtimes.spark.epochs.one_task import LATELY, WARM_UP, OneTask
from sash.runtimes.spark.sql_folding.epoch_fold import LEAST, EpochFold
from sash.runtimes.spark.streaming.hot_keys.choose_busy_buckets import Sharing
from tests.runtimes.micro_batches import stream_batches
from tests.runtimes.test_handing_out import busy, skewed
from tests.runtimes.test_one_task import SMALL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    ("large", "why"),
    [
        ({"events": 20_000}, "the batch before had 20,000 events, more than 10,000"),
        ({"keys": 10**6}, "1,000,000 keys are held, more than 50,000"),
        ({"packers": 64}, "64 tasks read the source, more than 16"),
        ({"busy": 0.2}, "the last batches had at least 0.200 s of work, more than 0.1"),
    ],
)
def test_one_task_has_a_reason_either_way(large: dict[str, Any], why: str) -> None:
    choice = OneTask()
    choice.suits_next(None)
    assert choice.why == "nothing is known of a first batch"
    for _ in range(WARM_UP - 1):
        choice.suits_next(SMALL)
        assert choice.why == "workers start in the first batches"
    assert choice.suits_next(SMALL)
    assert choice.why == "the batch before had 100 events and 0.020 s of work"
    for _ in range(LATELY):
        choice.suits_next(replace(SMALL, **large))
    assert choice.why == why


def test_one_task_that_was_slower_is_named_as_the_reason() -> None:
    choice = OneTask()
    for _ in range(WARM_UP):
        choice.suits_next(SMALL)
    for _ in range(LATELY):
        choice.suits_next(replace(SMALL, in_one_task=True, seconds=2.0))
    assert choice.why == "one task was slower; it is not tried for 99 more batches"


@pytest.mark.parametrize(
    ("events", "saved", "why"),
    [
        (100, 90, f"the batch before had 100 events; a further stage pays from {LEAST:,} on"),
        (100_000, 98_000, "panes saved 98% of the 100,000 events of the batch before"),
        (100_000, 30_000, "panes saved 30% of the 100,000 events of the batch before, less than 50%"),
    ],
)
def test_the_reason_for_a_fold_is_what_decides(events: int, saved: int, why: str) -> None:
    fold = EpochFold.__new__(EpochFold)
    assert fold.why(events=events, saved=saved) == why
    assert fold.pays(events=events, saved=saved) == ("less" not in why and "stage" not in why)


def test_windows_that_are_handed_out_are_a_decision() -> None:
    sharing = Sharing(workers=4, slots=2)
    assert sharing.decision.choice == "buckets compute their own windows"
    sharing.see({1: busy(9.0), 2: busy(0.3)})
    assert sharing.decision.choice == "1 of the buckets hands windows to 4 workers"


def test_decisions_lie_beside_the_counts_of_sash_alone() -> None:
    decided = [str(Decision("tasks", "one task", "few events"))]
    report = {"observedMetrics": {"theirs x": {}, "sash 1f3a09bc": {"events": 3, "decisions": decided}}}
    assert decisions_in(report) == ["one task: few events"]
    assert decisions_in({"observedMetrics": None}) == []


@pytest.mark.spark
def test_progress_and_handle_have_what_was_decided_in_epochs(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables = [pa.table({"t": [10 * n, 10 * n + 1], "k": [1, 2], "x": [1.0, 2.0]}) for n in range(6)]
    query = (
        sash.stream(stream_batches(spark, tables), time="t", key="k")
        .window(sash.tumbling(5))
        .agg(n=sash.count())
    )
    running = query.start(tmp_path / "out", checkpoint=tmp_path / "c", trigger="available now")
    running.awaitTermination()
    shown = [decisions_in(json.loads(report.json)) for report in running.recentProgress]
    assert shown[0] == [
        "Spark folds panes: nothing is known of a first batch",
        "two stages: nothing is known of a first batch",
    ]
    assert (
        shown[1][0]
        == "Python folds panes: the batch before had 2 events; a further stage pays from 50,000 on"
    )
    assert running.decisions == shown[-1]
    running.explain("plan")
    assert capsys.readouterr().out.splitlines() == [
        f"how batch {len(tables) - 1} was computed", *(f"  {one}" for one in shown[-1])
    ]  # fmt: skip
    counts = next(iter(running.lastProgress.observedMetrics.values()))
    assert counts["events"] == 2


@pytest.mark.spark
def test_progress_has_which_buckets_hand_windows_out(spark: SparkSession, tmp_path: Path) -> None:
    def slow(events: pa.Table) -> dict[str, Any]:
        time.sleep(0.02)
        return {"sum": sum(events["e"].to_pylist())}

    stream = sash.stream(stream_batches(spark, [skewed(n, hot=3) for n in range(3)]), time="t", key="k")
    query = stream.window(sash.rows(5, every=1)).apply(slow, schema="sum bigint")
    running = query.start(
        lambda rows, batch: rows.collect(), checkpoint=tmp_path / "c", trigger="available now"
    )
    running.awaitTermination()
    shown = [decisions_in(json.loads(report.json)) for report in running.recentProgress]
    assert "buckets compute their own windows: none was far busier" in shown[0]
    assert any("hands windows to" in one for batch in shown[1:] for one in batch)
