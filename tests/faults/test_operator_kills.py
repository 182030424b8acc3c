"""SIGKILL at random moments of programs that run several operators at once: none of their sinks can tell.

    start ──▶ all have caught up ──▶ one more file ──▶ random pause ──▶ harm ──▶ …
      ▲                                                                  │
      └──────────────────────────── if it is dead ◀──────────────────────┘

The batches of all queries begin at the same instant, so that a kill hits each of them wherever it is: one
plans, another writes state, a third publishes. Every second time it falls anywhere into the start. The seed
is in the name of the test; it decides events and pauses. Together they are all operators that keep state.
In `make test` one half is killed in a batch, the other while it starts.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.aggregation.conftest import RedisServer
from tests.faults import run_operators
from tests.faults.operators import EVERY, OPERATORS, files_of
from tests.faults.victim import Victim
from tests.runtimes.micro_batches import write_batches

pytestmark = [pytest.mark.spark, pytest.mark.redis]

PROGRAM = Path(run_operators.__file__)
BEFORE, TRIES = 2, 5
"""Files that are there from the beginning; how often what gives up by itself is started again."""
BATCH, START = 2.0, 30.0
"""Seconds within which a batch, and the start of all queries, are hit."""
GROUPS, HALVES = (
    tuple(" ".join(list(OPERATORS)[first : first + size]) for first in range(0, len(OPERATORS), size))
    for size in (4, -(-len(OPERATORS) // 2))
)
"""Fewer programs start sooner, and what is in one is killed at once. The second half is in a file of its
own, test_more_operator_kills.py, for another process of `pytest --dist loadfile`."""
GAVE_UP = "Python worker failed to connect back"
"""Spark waits ten seconds for a process to start, which is not much on a busy machine."""
Harm = Callable[[Victim, RedisServer, random.Random], None]


class Ground:
    """A folder with events, and operators that run over them until they are through."""

    trigger = EVERY
    environment: Mapping[str, str] = MappingProxyType({})

    def __init__(self, home: Path, operators: Sequence[str], *, harms: int, seed: int) -> None:
        self.home, self.operators, self.choice = home, operators, random.Random(seed)
        self.batches = list(files_of(BEFORE + harms + 2, seed=seed))
        for name in ("files", "redis"):
            (home / name).mkdir()
        self.written = 0
        self.server = RedisServer(home / "redis")

    def suffer(self, harm: Harm, *, harms: int, at_start: bool = False) -> None:
        """Do harm so many times, in a batch and at the start by turns, then let all come to their end."""
        self.bring(BEFORE)
        for number in range(harms):
            with self.victim() as victim:
                if number % 2 == at_start:
                    victim.wait_until(self.have_caught_up, seconds=300)
                    self.bring(1)
                    time.sleep(self.choice.uniform(0, BATCH))
                else:
                    self.bring(1)
                    time.sleep(self.choice.uniform(0, START))
                harm(victim, self.server, self.choice)
        self.bring(len(self.batches) - self.written)
        (self.home / "enough").touch()
        for _ in range(TRIES):
            with self.victim() as survivor:
                ended_well = survivor.process.wait(timeout=600) == 0
            if ended_well:
                return
            assert GAVE_UP in survivor.printed, survivor.printed
        pytest.fail(f"it gave up {TRIES} times")

    def check(self) -> None:
        wrong = {}
        for name in self.operators:
            try:
                OPERATORS[name].check(self.home / name, self.batches)
            except AssertionError as error:
                wrong[name] = str(error)[:2_000]
        assert not wrong

    def victim(self) -> Victim:
        return Victim(
            PROGRAM, self.home, self.server.url, self.trigger, *self.operators,
            log=self.home / "log", environment=self.environment,
        )  # fmt: skip

    def bring(self, count: int) -> None:
        """Write so many more files, each as a whole."""
        fresh = self.home / "fresh"
        fresh.mkdir(exist_ok=True)
        write_batches(fresh, self.batches[self.written : self.written + count], first=self.written)
        for file in sorted(fresh.iterdir()):
            file.rename(self.home / "files" / file.name)
        self.written += count

    def have_caught_up(self) -> bool:
        logs = (
            self.home / name / "checkpoint" / "commits" / str(self.written - 1) for name in self.operators
        )
        return all(log.exists() for log in logs)


def kill_everything(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    assert victim.kill() >= 1


def kill_workers(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    """Their tasks are tried again; a second later everything dies."""
    victim.kill_workers()
    time.sleep(1)
    victim.kill()


def pause_workers(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    _pause(victim.signal_workers, choice)


def pause_everything(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    """The JVM too, with its heartbeats and timers: a machine that was suspended."""
    _pause(victim.signal, choice)


def _pause(signalled: Callable[[signal.Signals], int], choice: random.Random) -> None:
    signalled(signal.SIGSTOP)
    time.sleep(choice.uniform(1, 60))
    signalled(signal.SIGCONT)
    time.sleep(choice.uniform(0, BATCH))


def lose_the_server(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    """The queries that need it may fail, and with them the program."""
    server.kill()
    time.sleep(choice.uniform(0, BATCH))
    server.start()


def any_harm(victim: Victim, server: RedisServer, choice: random.Random) -> None:
    harm = choice.choice([kill_everything, kill_workers, pause_workers, pause_everything, lose_the_server])
    harm(victim, server, choice)


def suffer(
    home: Path, operators: str, harm: Harm, *, harms: int, seed: int, at_start: bool = False
) -> None:
    ground = Ground(home, operators.split(), harms=harms, seed=seed)
    try:
        ground.suffer(harm, harms=harms, at_start=at_start)
        ground.check()
    finally:
        ground.server.kill()


@pytest.mark.parametrize("operators", HALVES[:1])
@pytest.mark.parametrize("seed", [1])
def test_oracle_operators_that_are_killed_emit_what_the_reference_does(
    tmp_path: Path, seed: int, operators: str
) -> None:
    suffer(tmp_path, operators, kill_everything, harms=1, seed=seed)


@pytest.mark.soak
@pytest.mark.parametrize("operators", GROUPS)
@pytest.mark.parametrize("seed", range(2, 7))
def test_oracle_operators_survive_kills_pauses_and_the_loss_of_their_store(
    tmp_path: Path, seed: int, operators: str
) -> None:
    suffer(tmp_path, operators, any_harm, harms=8, seed=seed)
