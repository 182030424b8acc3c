"""SIGKILL of driver, JVM and workers at many moments of one stream: its sink cannot tell.

    offsets/b ──> Python workers ──> state/…/b ──> _spark_metadata/b ──> commits/b ──> offsets/b + 1
       planned                         state saved      in the sink           done

A kill falls right on one of these steps, or a random moment after it, or anywhere since the start.

A kill may change where Spark cuts the stream: a file that was listed but not planned joins the next batch.
And a batch that is in the sink but not done is not executed again, so that its times reach the watermark
only with the batch after it. What is late by less than that is late in one run and on time in another. The
events here are on time, or late, wherever the stream is cut: then kills must leave no trace.
"""

from __future__ import annotations

import datetime as dt
import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.faults import run_stream
from tests.faults.victim import Victim
from tests.runtimes.micro_batches import write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = Path(run_stream.__file__)
EVENTS = 40
"""In each file: ten seconds of three keys, one of them null."""

STEPS = (
    "checkpoint/offsets",
    "checkpoint/state/0/1",
    "sink/_spark_metadata",
    "checkpoint/commits",
    "checkpoint/state/0/0",
)


def files_of(count: int, *, seed: int) -> Iterator[pa.Table]:
    """Events up to four seconds out of order, with a delay of five; a few are a minute (six files) late."""
    choice = random.Random(seed)
    opening = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
    for file in range(count):
        numbers = range(file * EVENTS, (file + 1) * EVENTS)
        # In the first files nothing is late, however old: the watermark is not that far yet.
        behind = [
            60 if file >= 6 and choice.random() < 0.05 else choice.choice([0, 0, choice.uniform(0, 4)])
            for _ in numbers
        ]
        times = [
            opening + dt.timedelta(seconds=number / 4 - late)
            for number, late in zip(numbers, behind, strict=True)
        ]
        yield pa.table(
            {
                "at": pa.array(times, pa.timestamp("us", "UTC")),
                "key": pa.array([choice.choice(["a", "b", None]) for _ in numbers], pa.string()),
                "number": pa.array(numbers, pa.int64()),
                "x": pa.array([choice.uniform(-1, 1) for _ in numbers], pa.float64()),
            }
        )


@dataclass(frozen=True)
class Moment:
    """A step of a micro-batch from the `batch`-th on first leaves a trace, and `pause` seconds more."""

    step: str | None
    """None: the start of the program."""
    batch: int
    pause: float

    def await_in(self, home: Path, victim: Victim) -> None:
        if self.step is not None:
            folder = home / self.step
            before = names_in(folder)
            victim.wait_until(lambda: any(self._is_reached_by(name) for name in names_in(folder) - before))
        time.sleep(self.pause)

    def _is_reached_by(self, name: str) -> bool:
        """Also by a file that is still being written: it has the number of its batch, and an ending.

        Not in the first batch: Spark refuses a checkpoint whose first batch was not planned to the end
        (spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart), with nothing done and nothing lost.
        """
        number = re.match(r"\.?_?(?:batch=)?(\d+)(\.|$)", name)
        return number is not None and int(number[1]) >= self.batch and (int(number[1]) > 0 or name == "0")


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def moments(kills: int, *, batches: int, seed: int) -> Iterator[Moment]:
    """Spread evenly over the batches, each step in turn: right on it and after it by turns."""
    choice = random.Random(seed)
    for number in range(kills):
        batch = number * batches // (kills + 1)
        if number % 7 == 5:
            yield Moment(None, 0, choice.uniform(0, 6))
        else:
            yield Moment(STEPS[number % len(STEPS)], batch, (number % 2) * choice.uniform(0, 0.5))


def assert_kills_leave_no_trace(
    spark: SparkSession, home: Path, *, kills: int, batches: int, seed: int, reader: str = "spark"
) -> None:
    files = home / "files"
    files.mkdir()
    write_batches(files, list(files_of(batches, seed=seed)))
    arguments = [files, home / "sink", home / "checkpoint", reader]
    committed = []
    for moment in moments(kills, batches=batches, seed=seed):
        with Victim(PROGRAM, *arguments, log=home / "log") as victim:
            moment.await_in(home, victim)
            assert victim.process.poll() is None
            killed = victim.kill()
        assert killed >= 2 or moment.step is None, "a stream is at least a driver and a JVM"
        committed.append(sum(name.isdigit() for name in names_in(home / "checkpoint" / "commits")))
    assert committed == sorted(committed)
    assert committed[0] < batches // 2
    assert batches // 2 <= committed[-1] < batches
    with Victim(PROGRAM, *arguments, log=home / "log") as survivor:
        survivor.finish()
    undisturbed = [str(home / "undisturbed" / name) for name in ("sink", "checkpoint")]
    run_stream.run(spark, str(files), *undisturbed, "spark")
    expected = rows_in(spark, undisturbed[0])
    assert len(expected) > 10 * batches
    assert rows_in(spark, str(home / "sink")) == expected


def rows_in(spark: SparkSession, sink: str) -> list[str]:
    return sorted(map(repr, spark.read.parquet(sink).collect()))


@pytest.mark.soak
def test_differential_a_stream_that_is_killed_three_times_equals_an_undisturbed_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_kills_leave_no_trace(spark, tmp_path, kills=3, batches=8, seed=3)


@pytest.mark.soak
def test_differential_a_stream_of_files_that_python_reads_survives_kills_as_sparks_own_does(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_kills_leave_no_trace(spark, tmp_path, kills=5, batches=12, seed=7, reader="sash")


@pytest.mark.soak
def test_differential_a_stream_that_is_killed_twenty_times_equals_an_undisturbed_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_kills_leave_no_trace(spark, tmp_path, kills=20, batches=60, seed=20)
