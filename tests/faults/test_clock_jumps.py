"""The time of day jumps in driver, JVM and workers while queries run: no answer changes.

A small library in every process of the program adds what a file contains to the time of day. Queries run
as soon as there is something to do: a trigger of Spark's waits for a time of day, so that a clock that is
set back stops it for as long.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.faults.test_operator_kills import GROUPS, Ground
from tests.skips import skip_and_note

pytestmark = [pytest.mark.spark, pytest.mark.redis, pytest.mark.soak]

HOUR, DAY = 3_600, 86_400
LIVES = ((HOUR, -HOUR, 40 * DAY, 0), (-DAY, 2 * DAY))
"""Seconds that the clock is off by, one after the other, in a program that is killed and in the next."""


class JumpingClock:
    """A clock, and the environment of processes that read it."""

    def __init__(self, home: Path) -> None:
        if not shutil.which("cc"):
            skip_and_note("operators whose clocks jump: no C compiler (cc)")
        library, self._file = home / "wall_clock.so", home / "clock"
        source = Path(__file__).with_name("wall_clock.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
        self.environment = {"LD_PRELOAD": str(library), "WALL_CLOCK": str(self._file)}

    def is_off_by(self, seconds: int) -> None:
        fresh = self._file.with_suffix(".fresh")
        fresh.write_text(str(seconds))
        fresh.rename(self._file)


class JumpingGround(Ground):
    """Operators that run while the clock jumps between two of their batches, or in one of them."""

    trigger = ""

    def jump(self, clock: JumpingClock) -> None:
        self.environment = clock.environment
        for life in LIVES:
            with self.victim() as victim:
                for seconds in life:
                    self.bring(1)
                    victim.wait_until(self.have_caught_up, seconds=300)
                    self.bring(1)
                    clock.is_off_by(seconds)
                victim.wait_until(self.have_caught_up, seconds=300)
        self.bring(len(self.batches) - self.written)
        (self.home / "enough").touch()
        with self.victim() as survivor:
            survivor.finish(seconds=600)

    def days(self) -> int:
        """Between the first and the last time of day at which a batch began, by the JVM's clock."""
        logs = (self.home / self.operators[0] / "checkpoint" / "offsets").glob("[0-9]*")
        times = [json.loads(log.read_text().splitlines()[1])["batchTimestampMs"] for log in logs]
        return round((max(times) - min(times)) / 1000 / DAY)


@pytest.mark.parametrize("operators", GROUPS)
def test_oracle_operators_whose_clocks_jump_emit_what_the_reference_does(
    tmp_path: Path, operators: str
) -> None:
    ground = JumpingGround(tmp_path, operators.split(), harms=2 * sum(map(len, LIVES)), seed=1)
    try:
        ground.jump(JumpingClock(tmp_path))
        ground.check()
    finally:
        ground.server.kill()
    assert ground.days() >= 40
