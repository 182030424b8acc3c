"""SIGKILL of workers, and of driver, JVM and workers, of an elastic stream: its sink cannot tell.

    offsets/b ──▶ tasks ──▶ buckets committed ──▶ batch=b ──▶ _sash/b ──▶ journal ──▶ commits/b
       planned                                    written     published                 done

Workers that die alone are replaced and their task is tried again, in the same batch. What dies as a whole
is started again, and its last batch is executed again, with another degree: the script begins anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.aggregation.conftest import RedisServer
from tests.faults import run_elastic, run_stream
from tests.faults.test_driver_kills import Moment, files_of, names_in
from tests.faults.victim import Victim
from tests.runtimes.micro_batches import write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PROGRAM = Path(run_elastic.__file__)
STEPS = ("checkpoint/offsets", "sink", "sink/_sash", "checkpoint/commits")


@dataclass(frozen=True)
class Kill:
    moment: Moment
    whole: bool
    """Or only the Python workers."""


def kills(count: int, *, batches: int, seed: int) -> Iterator[Kill]:
    """Spread evenly over the batches, each step in turn; every third as a whole."""
    choice = random.Random(seed)
    for number in range(count):
        batch = 1 + number * (batches - 2) // count
        # The tasks of a batch begin a moment after it is planned.
        moment = Moment(STEPS[number % len(STEPS)], batch, choice.choice([0.0, choice.uniform(0, 1)]))
        yield Kill(moment, whole=number % 3 == 2)


def assert_kills_leave_no_trace(
    spark: SparkSession, home: Path, *, count: int, batches: int, seed: int, store: str = "lmdb"
) -> None:
    files = home / "files"
    files.mkdir()
    write_batches(files, list(files_of(batches, seed=seed)))
    arguments = [files, home / "sink", home / "checkpoint", store]
    planned = list(kills(count, batches=batches, seed=seed))
    killed = 0
    ended = False
    while not ended:
        with Victim(PROGRAM, *arguments, log=home / "log") as victim:
            ended = True
            while planned and ended:
                kill = planned.pop(0)
                kill.moment.await_in(home, victim)
                assert victim.process.poll() is None, victim.said
                if kill.whole:
                    assert victim.kill() >= 2, "a stream is at least a driver and a JVM"
                    ended = False
                else:
                    killed += victim.kill_workers()
            if ended:
                victim.finish()
    assert killed > 0
    assert len({name for name in names_in(home / "checkpoint" / "commits") if name.isdigit()}) == batches
    undisturbed = home / "undisturbed"
    run_stream.run(spark, str(files), str(undisturbed / "sink"), str(undisturbed / "checkpoint"), "spark")
    expected = rows_in(spark, undisturbed / "sink")
    assert len(expected) > 10 * batches
    assert rows_in(spark, home / "sink") == expected


def rows_in(spark: SparkSession, sink: Path) -> list[str]:
    return sorted(map(repr, spark.read.parquet(str(sink)).drop("batch").collect()))


@pytest.mark.soak
def test_differential_an_elastic_stream_that_is_killed_equals_an_undisturbed_fixed_one(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert_kills_leave_no_trace(spark, tmp_path, count=3, batches=8, seed=11)


@pytest.mark.soak
@pytest.mark.parametrize("store", ["lmdb", "redis"])
def test_differential_an_elastic_stream_that_is_killed_twenty_times_equals_an_undisturbed_fixed_one(
    spark: SparkSession, tmp_path: Path, store: str
) -> None:
    if store == "lmdb":
        assert_kills_leave_no_trace(spark, tmp_path, count=20, batches=48, seed=12)
        return
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    try:
        assert_kills_leave_no_trace(spark, tmp_path, count=20, batches=48, seed=13, store=server.url)
    finally:
        server.kill()
