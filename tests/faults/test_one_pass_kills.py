"""SIGKILL of driver, JVM and workers of a query with two sinks: every row is in a window or late, once.

offsets/b ──▶ step ──▶ sink/batch=b ──▶ sink/_sash/b ──▶ late/batch=b ──▶ late/_sash/b ──▶ commits/b
   planned                written          published         written         published        done
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import sash
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch, evaluate
from tests.faults import run_one_pass
from tests.faults.test_driver_kills import Moment, files_of
from tests.faults.victim import Victim
from tests.runtimes.micro_batches import write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.soak]

PROGRAM = Path(run_one_pass.__file__)
STEPS = (
    "sink", "late/_sash", "checkpoint/offsets", "sink/_sash", "late", "checkpoint/commits",
)  # fmt: skip
SECOND = 1_000_000


@pytest.mark.parametrize(("kills", "batches"), [(6, 14), (20, 48)])
def test_oracle_a_stream_that_is_killed_has_every_row_in_its_windows_or_late_exactly_once(
    spark: SparkSession, tmp_path: Path, kills: int, batches: int
) -> None:
    files, choice = tmp_path / "files", random.Random(kills)
    files.mkdir()
    tables = list(files_of(batches, seed=kills))
    write_batches(files, tables)
    for number in range(kills):
        # Late rows begin with the sixth file.
        moment = Moment(
            STEPS[number % len(STEPS)], 6 + number * (batches - 8) // kills, choice.choice([0, 0.1])
        )
        with Victim(PROGRAM, files, tmp_path, log=tmp_path / "log") as victim:
            moment.await_in(tmp_path, victim)
            assert victim.kill() >= 2, "a stream is at least a driver and a JVM"
    with Victim(PROGRAM, files, tmp_path, log=tmp_path / "log") as victim:
        victim.finish()
    reports = sash.published(tmp_path / "sink", spark=spark).toArrow().to_pylist()
    late = sash.published(tmp_path / "late", spark=spark).toArrow().to_pylist()

    query = Query(
        (windows.tumbling("20 seconds"),), {}, delay=Duration(5 * SECOND, Unit.MICROSECONDS), flush=False
    )
    arrivals = [
        [Arrival(_micros(row["at"]), row["key"], {"number": row["number"]}) for row in table.to_pylist()]
        for table in tables
    ]
    outcome = evaluate(query, [Batch(tuple(batch)) for batch in arrivals])
    assert Counter(row["number"] for row in late) == Counter(
        entry.arrival.values["number"] for entry in outcome.late
    )
    assert Counter((row["key"], row["window"]["id"]) for row in reports) == Counter(
        (report.key, report.id) for report in outcome.reports
    )
    held = Counter(number for row in reports for number in row["held"])
    assert max(held.values()) == 1
    assert not held.keys() & {row["number"] for row in late}
    last = max(row["window"]["end"] for row in reports)
    every = {row["number"] for table in tables for row in table.to_pylist() if row["at"] < last}
    assert every <= held.keys() | {row["number"] for row in late}


def _micros(at: object) -> int:
    return round(at.timestamp() * SECOND)  # type: ignore[attr-defined]
