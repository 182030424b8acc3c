"""SIGKILL in the middle of batches of programs that run several operators at once: none of their sinks can
tell.

    start ──▶ one more file ──▶ a batch is in flight ──▶ a random part of a batch later ──▶ harm ──▶ …
      ▲                                                                                      │
      └──────── at once, or when it has caught up with one more file by itself ◀────────────┘

The batches of all queries begin at the same instant, so that a kill hits each of them wherever it is: one
plans, another writes state, a third publishes. Every second time harm comes while they start: in the first
batch of one, before others have theirs. The seed is in the name of the test; it decides events, whose batch
is waited for and for how long. Together they are all operators that keep state.

Harm is also what a program survives (`harms.py`): one of each kind in the program that lives to the end,
and in the long tests any of them at any time. After it the program must catch up, with a file that came
after the harm, and is not started again before; in the long tests after half of it.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from tests.aggregation.conftest import RedisServer
from tests.faults import run_operators
from tests.faults.batches_in_flight import (
    is_in_flight,
    newest_begun,
    newest_file_done,
    seconds_of_a_batch,
)
from tests.faults.harms import GAVE_UP, Harm, kill_workers, lose_the_server, plan
from tests.faults.operator_checks import EVERY
from tests.faults.operator_events import files_of
from tests.faults.operators import OPERATORS
from tests.faults.victim import EndedTooEarly, Victim
from tests.runtimes.micro_batches import write_batches

pytestmark = [pytest.mark.spark, pytest.mark.redis]

PROGRAM = Path(run_operators.__file__)
BEFORE, TRIES = 2, 5
"""Files that are there from the beginning; how often what gives up by itself is started again."""
HARMS, KILLS, AIMS = 8, 3, 4
"""How often harm is done; how often everything is killed; how many batches pass by before a kill gives up
to hit one of them."""
BATCH = 2.0
"""Seconds within which a batch is hit, as long as none has been seen."""
GROUPS, HALVES = (
    tuple(" ".join(list(OPERATORS)[first : first + size]) for first in range(0, len(OPERATORS), size))
    for size in (4, -(-len(OPERATORS) // 2))
)
"""Fewer programs start sooner, and what is in one is killed at once. The second half is in a file of its
own, test_more_operator_kills.py, for another process of `pytest --dist loadfile`."""


class Ground:
    """A folder with events, and operators that run over them until they are through."""

    trigger = EVERY
    environment: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, home: Path, operators: Sequence[str], *, harms: int, seed: int, files_each: int = 1
    ) -> None:
        self.home, self.operators, self.choice = home, operators, random.Random(seed)
        self.batches = list(files_of(BEFORE + files_each * harms + 2, seed=seed))
        for name in ("files", "redis"):
            (home / name).mkdir()
        self.written = 0
        self.server = RedisServer(home / "redis")
        self.begun_before: dict[str, int] = {}
        """The newest batch of each operator when the program was started."""

    def suffer(self, *, harms: int) -> list[str]:
        """Do harm so many times, in a batch and at the start by turns, then let all come to their end;
        after which harms the program went on by itself."""
        self.bring(BEFORE)
        went_on = []
        for number, (harm, must_go_on) in enumerate(plan(harms, self.choice)):
            with self.victim() as victim:
                self.await_batch_of(self.choice.choice(self.operators), victim, starting=number % 2 == 1)
                harm(victim, self.server, self.choice)
                if must_go_on and self._goes_on(victim, harm):
                    went_on.append(harm.__name__)
        self.finish()
        return went_on

    def _goes_on(self, victim: Victim, harm: Harm) -> bool:
        """Whether it catches up with all files and one more without being started again. It may end of
        two things only, see `harms`."""
        self.bring(1)
        try:
            victim.wait_until(self.have_caught_up, seconds=300)
        except EndedTooEarly:
            needs_server = any(OPERATORS[name].elastic == "redis" for name in self.operators)
            if (harm is lose_the_server and needs_server) or GAVE_UP in victim.printed:
                return False
            raise
        return True

    def kill_in_batches(self, *, kills: int) -> list[set[str]]:
        """As often, SIGKILL of everything while a batch of an operator is in flight that was not hit yet;
        the operators that each kill has hit."""
        self.bring(BEFORE)
        hits: list[set[str]] = []
        for number in range(kills):
            spared = [name for name in self.operators if not any(name in hit for hit in hits)]
            with self.victim() as victim:
                hits.append(self._kill_in_batch(victim, spared or self.operators, starting=number % 2 == 1))
        return hits

    def _kill_in_batch(self, victim: Victim, aims: Sequence[str], *, starting: bool) -> set[str]:
        for aim in self.choice.choices(aims, k=AIMS):
            self.await_batch_of(aim, victim, starting=starting)
            # What stands still can be looked at: what is in flight now is so when it dies.
            victim.signal(signal.SIGSTOP)
            hit = {name for name in self.operators if self.is_in_flight(name)}
            if not hit.isdisjoint(aims):
                break
            victim.signal(signal.SIGCONT)
        assert victim.kill() >= 1
        return hit

    def await_batch_of(self, name: str, victim: Victim, *, starting: bool) -> None:
        """Until some part of a batch of this operator has passed: when all have caught up and another file
        has come, or as soon as it has one after the start."""
        if not starting:
            victim.wait_until(self.have_caught_up, seconds=300)
        self.bring(1)
        victim.wait_until(lambda: self.is_in_flight(name), seconds=300)
        time.sleep(self.choice.uniform(0, seconds_of_a_batch(self.checkpoint(name), otherwise=BATCH)))

    def is_in_flight(self, name: str) -> bool:
        return is_in_flight(self.checkpoint(name), since=self.begun_before[name])

    def checkpoint(self, name: str) -> Path:
        return self.home / name / "checkpoint"

    def finish(self, harms: Sequence[Harm] = ()) -> list[str]:
        """Let all come to their end, after these harms; after which the program went on by itself."""
        left, went_on = list(harms), list[str]()
        for _ in range(TRIES):
            with self.victim() as survivor:
                while left:
                    harm = left.pop(0)
                    self.await_batch_of(self.choice.choice(self.operators), survivor, starting=False)
                    harm(survivor, self.server, self.choice)
                    if not self._goes_on(survivor, harm):
                        break
                    went_on.append(harm.__name__)
                else:
                    self._bring_the_last()
                    if survivor.process.wait(timeout=600) == 0:
                        return went_on
                    assert GAVE_UP in survivor.printed, survivor.printed
        pytest.fail(f"it gave up {TRIES} times")

    def _bring_the_last(self) -> None:
        """The last two files; those that nobody needed are left out."""
        del self.batches[self.written : -2]
        self.bring(len(self.batches) - self.written)
        (self.home / "enough").touch()

    def check(self) -> None:
        wrong = {}
        for name in self.operators:
            try:
                OPERATORS[name].check(self.home / name, self.batches)
            except AssertionError as error:
                wrong[name] = str(error)[:2_000]
        assert not wrong

    def victim(self) -> Victim:
        self.begun_before = {name: newest_begun(self.checkpoint(name)) for name in self.operators}
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
        done = (newest_file_done(self.checkpoint(name)) for name in self.operators)
        return all(number >= self.written - 1 for number in done)


def kill_in_batches(home: Path, operators: str, *, seed: int, harms: Sequence[Harm]) -> None:
    """Every kill hits a batch of an operator, and together they hit nearly all operators. After each of the
    harms the program goes on by itself, or ends of what `harms` allows."""
    began = time.monotonic()
    ground = Ground(home, operators.split(), harms=KILLS + len(harms), seed=seed, files_each=AIMS)
    try:
        hits = ground.kill_in_batches(kills=KILLS)
        went_on = ground.finish(harms)
        ground.check()
    finally:
        ground.server.kill()
    spared = set(ground.operators).difference(*hits)
    print(f"seed {seed}: {KILLS} kills hit batches of {[len(hit) for hit in hits]} operators,", end=" ")
    print(f"and none of {', '.join(sorted(spared))};" if spared else "and of each of them one;", end=" ")
    print(f"went on by itself after {', '.join(went_on) or 'nothing'}; {time.monotonic() - began:.0f} s")
    assert all(hits)
    assert len(spared) <= len(ground.operators) // 3


@pytest.mark.parametrize("operators", HALVES[:1])
@pytest.mark.parametrize("seed", [1])
def test_oracle_operators_that_are_killed_in_batches_emit_what_the_reference_does(
    tmp_path: Path, seed: int, operators: str
) -> None:
    kill_in_batches(tmp_path, operators, seed=seed, harms=[kill_workers])


@pytest.mark.soak
@pytest.mark.parametrize("operators", GROUPS)
@pytest.mark.parametrize("seed", range(2, 7))
def test_oracle_operators_survive_kills_pauses_and_the_loss_of_their_store(
    tmp_path: Path, seed: int, operators: str
) -> None:
    ground = Ground(tmp_path, operators.split(), harms=HARMS, seed=seed, files_each=2)
    try:
        went_on = ground.suffer(harms=HARMS)
        ground.check()
    finally:
        ground.server.kill()
    print(f"seed {seed}: went on by itself after {', '.join(went_on)}")
    assert went_on
