"""One workload: everything that could compute it, what the planner chooses, and the race between them.

    the choice, uncounted    starts workers, lists files
    once each, warm-up       the best degree of each pattern by the model; then other degrees, as long as
                             half of the time of the workload lasts, those of the fastest patterns first.
                             In process twice: the first time a pattern may compile for seconds
    rounds, in turns         the choice, and all that took at most `FAR` times the fastest of the warm-up;
                             after the first round those that are within `NEAR` times the fastest of it

The best round of each counts, and what has left the race counts with what it took until then. There are two
rounds at least, and more only while the time of the workload lasts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sash.operators.patterns.declared import Pattern
from sash.planner.plans.cheapest_pattern import Plan
from sash.planner.plans.degrees import of_all_degrees

WORKLOADS = 20
GOOD = 1.15
"""A choice is good when it takes at most this many times what the fastest contender takes."""
NEEDED = 18
"""Of the choices must be good."""
FAR, NEAR = 2.5, 1.5
"""A first run may have to load machine code or start workers; a second one does not."""
LEAST = 2
"""Rounds after the warm-up."""

Run = Callable[[], Any]


@dataclass(frozen=True)
class Contest:
    """Contenders by name, each a run of the whole query."""

    name: str
    choice: str
    contenders: Mapping[str, Run]
    others: Mapping[str, tuple[str, Run]] = field(default_factory=dict)
    """Other degrees, with the contender whose pattern they have."""
    warm_ups: int = 1


@dataclass(frozen=True)
class Result:
    """Seconds of each contender, and what was raced."""

    seconds: Mapping[str, float]
    rounds: int
    degrees: int
    """Of those that were raced, how many have a degree that is not the best one by the model."""
    left_out: int
    """Other degrees for which there was no time."""

    @property
    def fastest(self) -> str:
        return min(self.seconds, key=lambda name: self.seconds[name])

    @property
    def about(self) -> str:
        missing = f" and {self.left_out} not, for lack of time" if self.left_out else ""
        return f"{len(self.seconds)} raced, {self.degrees} other degrees{missing}; {self.rounds} rounds"


def other_degrees(plan: Plan) -> dict[str, tuple[str, Pattern]]:
    """Of all candidates: two workers up to four per core, of which the model chose one number. In process
    too, where the planner itself never takes more workers than there are cores."""
    found: dict[str, tuple[str, Pattern]] = {}
    for one in plan.candidates:
        if one.pattern is not None:
            every = of_all_degrees(one.pattern, "spark batch", plan.facts.cores)
            found |= {str(each): (one.name, each) for each in every}
    return {name: other for name, other in found.items() if name not in {c.name for c in plan.candidates}}


def raced(
    contest: Contest, *, rounds: int, seconds: float, clock: Callable[[], float] = time.perf_counter
) -> Result:
    """All of it in about so many seconds."""
    began = clock()

    def timed(run: Run) -> float:
        begin = clock()
        run()
        return clock() - begin

    def warmed(run: Run) -> float:
        return [timed(run) for _ in range(contest.warm_ups)][-1]

    contest.contenders[contest.choice]()
    runs = dict(contest.contenders)
    best = {name: warmed(run) for name, run in runs.items()}
    cold = dict(best)
    others = sorted(contest.others.items(), key=lambda other: cold[other[1][0]])
    for name, (_, run) in others:
        if clock() - began > seconds / 2:
            break
        runs[name], best[name] = run, warmed(run)
    degrees = len(runs) - len(cold)
    alive = near(best, FAR) | {contest.choice}
    counted = dict.fromkeys(alive, float("inf"))
    turn = 0
    while turn < rounds and (turn < LEAST or clock() - began < seconds):
        last = {name: timed(runs[name]) for name in runs if name in alive}
        counted |= {name: min(counted[name], spent) for name, spent in last.items()}
        if not turn:
            alive = near(last, NEAR) | {contest.choice}
        turn += 1
    return Result(best | counted, turn, degrees, len(contest.others) - degrees)


def near(seconds: Mapping[str, float], times: float) -> set[str]:
    """Those that took at most so many times what the fastest took."""
    least = min(seconds.values())
    return {name for name, spent in seconds.items() if spent <= times * least}
