"""Random runs with keys and disorder, on a live engine and on Sash as that engine.

    python -m sash.engines.keyed_runs pyflink 200 1        the engine, how many runs, the seed

A run whose outcome is known to differ is set aside with the reason; one that differs otherwise is made
smaller, event by event.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from random import Random

from sash.engines.peers import PEERS
from sash.engines.probe import engine_for
from sash.engines.probe_run import Engine, EventNumbers, ProbeRun, Seen, Windowing, written
from sash.engines.random_runs import family
from sash.engines.sash_engine import Sash

KINDS: tuple[Windowing, ...] = ("time", "session")
FRESH = 24
"""Runs of one process of a peer. PyFlink starts more than ten threads for each and never ends them."""
AT_THE_END = (
    "the watermark is exactly where a window of a late event is over, and the event is shown all the same"
)
IN_A_GAP = "an event between two windows is late by its time alone, and for the engine after its lateness"
ANOTHER_CLOCK = (
    "the engine has other watermarks than a stream of Sash, and an event is late for one of the two"
)


def set_aside(engine: str, run: ProbeRun) -> str:
    """Why the engine is known to differ on this run from Sash with the engine's watermarks; empty when it
    is not."""
    for index, time in enumerate(run.times[1:], start=1):
        watermark = max(run.times[:index]) - run.delay
        if engine == "beam" and watermark - run.lateness in _ends(run, time):
            return AT_THE_END
        between = run.kind == "time" and not _ends(run, time)
        if engine == "pyflink" and between and time < watermark <= time + run.lateness:
            return IN_A_GAP
    return ""


def differs(engine: str, run: ProbeRun) -> str:
    """Why the engine is known to differ on this run from a stream of Sash; empty when it is not."""
    (theirs,), (ours,) = Sash(engine).answer([run]), Sash(engine, one_clock=True).answer([run])
    return set_aside(engine, run) or ("" if agrees(engine, theirs, ours) else ANOTHER_CLOCK)


def _ends(run: ProbeRun, time: int) -> list[int]:
    """The ends of the windows that an event would have alone."""
    if run.kind != "time":
        return [time + run.size]
    first = (time - run.size) // run.slide + 1
    return [w * run.slide + run.size for w in range(first, time // run.slide + 1)]


def agrees(engine: str, theirs: Seen, ours: Seen) -> bool:
    """Whether the same windows were reported; contents are sets, the order between keys has no meaning."""
    # A stream of Spark's has no end that closes windows; Beam's runner has no late output.
    flushes, reports_late = engine != "spark_structured", engine in ("bytewax", "pyflink")
    shown = [_contents(seen.reports + (seen.flushed if flushes else ())) for seen in (theirs, ours)]
    return shown[0] == shown[1] and (not reports_late or theirs.late == ours.late)


def _contents(reports: Sequence[EventNumbers]) -> list[EventNumbers]:
    return sorted(tuple(sorted(content)) for content in reports)


@dataclass
class Comparison:
    """How many runs were compared, how many agreed, and those that did not."""

    runs: int = 0
    differing: list[ProbeRun] = field(default_factory=list)
    aside: Counter[str] = field(default_factory=Counter)
    late: int = 0
    """Runs with late events, as Sash judges them."""

    def __str__(self) -> str:
        agreed = self.runs - len(self.differing)
        lines = [f"{agreed} of {self.runs} runs agree, {self.late} of them with late events"]
        return "\n".join([*lines, *(f"set aside {n}: {why}" for why, n in self.aside.items())])


def compare(engine: str, live: Iterator[Engine], source: Random, *, runs: int) -> Comparison:
    """Random runs on engines and on Sash as that engine."""
    found, drawn = Comparison(), list[ProbeRun]()
    while len(drawn) < runs:
        for run in family(source, KINDS):
            why = set_aside(engine, run)
            found.aside.update([why] if why else [])
            drawn += [] if why else [run]
    del drawn[runs:]
    answers = zip(drawn, answered(live, drawn), Sash(engine).answer(drawn), strict=True)
    for run, theirs, mine in answers:
        found.runs += 1
        found.late += bool(mine.late)
        found.differing += [] if agrees(engine, theirs, mine) else [run]
    return found


def answered(live: Iterator[Engine], runs: Sequence[ProbeRun]) -> Iterator[Seen]:
    """What engines show of the runs, each of some of them."""
    rest = list(runs)
    while rest:
        with closing(next(live)) as one:
            count = FRESH if one.name in PEERS else len(rest)
            yield from one.answer(rest[:count])
        del rest[:count]


def smallest(engine: str, live: Engine, run: ProbeRun) -> ProbeRun:
    """The run with as few events as still differ."""
    while True:
        fewer = [_without(run, index) for index in range(len(run.times)) if len(run.times) > 1]
        fewer = [one for one in fewer if not set_aside(engine, one)]
        answers = zip(fewer, live.answer(fewer), Sash(engine).answer(fewer), strict=True)
        differing = next((one for one, theirs, mine in answers if not agrees(engine, theirs, mine)), None)
        if differing is None:
            return run
        run = differing


def _without(run: ProbeRun, index: int) -> ProbeRun:
    keys = run.keys and run.keys[:index] + run.keys[index + 1 :]
    return replace(run, times=run.times[:index] + run.times[index + 1 :], keys=keys)


def engines(name: str) -> Iterator[Engine]:
    """One after the other, started when it is needed."""
    while True:
        yield engine_for(name)


def main(name: str, runs: int, seed: int) -> int:
    found = compare(name, engines(name), Random(seed), runs=runs)
    print(f"{name}, seed {seed}: {found}")
    for run in found.differing[:1]:
        with closing(engine_for(name)) as live:
            least = smallest(name, live, run)
            (theirs,), (ours,) = live.answer([least]), Sash(name).answer([least])
        print(f"{least}\n  {name}: {written(theirs.reports + theirs.flushed)}")
        print(f"  sash: {written(ours.reports + ours.flushed)}")
    return len(found.differing)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])) > 0)
