"""Random runs with keys and disorder, on a live engine and on Sash as that engine.

    python -m sash.engines.keyed_runs pyflink 200 1        the engine, how many runs, the seed

Events are drawn one after the other: mostly ahead of the newest so far, sometimes behind it. The delay of a
run covers all of its disorder, some, or none, so that some events are late. A run whose outcome is known to
differ is set aside with the reason; one that differs otherwise is made smaller, event by event.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from random import Random

from sash.engines.probe import engine_for
from sash.engines.probe_run import Content, Engine, ProbeRun, Seen, Windowing, written
from sash.engines.sash_engine import Sash

KEYS = "abc"
FIRST = 30
"""Watermarks stay above 0, which is the least that a table of PyFlink and Spark's streams have."""
FRESH = 24
"""Runs of one process. PyFlink starts more than ten threads for each and never ends them."""
OVER_KEYS, AT_THE_END, ONE_BATCH_LATER = (
    "late for the stream, and not for its key, which has a watermark of its own",
    "the watermark is exactly at the end of a window of a late event, which is shown alone",
    "a window that the batch before has closed still takes the event",
)


def keyed_run(source: Random, kinds: Sequence[Windowing]) -> ProbeRun:
    """A run of a few events and keys."""
    kind, size = source.choice(kinds), source.randint(1, 8)
    slide = size if source.random() < 0.4 else source.randint(1, size)
    newest, times = FIRST, [FIRST]
    for _ in range(source.randint(2, 11)):
        if source.random() < 0.65:
            newest += source.choice((0, 1, 1, 2, 3, source.randint(4, 20)))
            times.append(newest)
        else:
            times.append(newest - source.randint(1, 10))
    delay = source.choice((0, 0, 3, disorder(times)))
    keys = tuple(source.choice(KEYS) for _ in times)
    slide = slide if kind == "time" else 1
    return ProbeRun(times=tuple(times), size=size, slide=slide, kind=kind, delay=delay, keys=keys)


def disorder(times: Sequence[int]) -> int:
    """How far an event lies behind the newest one before it, at most.

    >>> disorder([30, 35, 31, 32, 40])
    4
    """
    return max(max(times[: index + 1]) - time for index, time in enumerate(times))


def set_aside(engine: str, run: ProbeRun) -> str:
    """Why the engine is known to differ on this run; empty when it is not."""
    for index, time in enumerate(run.times[1:], start=1):
        watermark = max(run.times[:index]) - run.delay
        before = max(run.times[: index - 1], default=-sys.maxsize) - run.delay
        own = [run.times[i] for i in range(index) if run.key(i) == run.key(index)]
        ends = _ends(run, time)
        if engine == "bytewax" and time < watermark and time >= max(own, default=time) - run.delay:
            return OVER_KEYS
        if engine == "beam" and watermark in ends:
            return AT_THE_END
        merging = run.kind == "session" and time <= watermark
        if engine == "spark_structured" and (merging or any(before < end <= watermark for end in ends)):
            return ONE_BATCH_LATER
    return ""


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


def _contents(reports: Sequence[Content]) -> list[Content]:
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
    """Random runs on engines, each of which gets a few, and on Sash as that engine."""
    found, ours = Comparison(), Sash(engine)
    while found.runs < runs:
        with closing(next(live)) as one:
            kinds: list[Windowing] = [kind for kind in ("time", "session") if kind in one.kinds]
            drawn: list[ProbeRun] = []
            while len(drawn) < min(FRESH, runs - found.runs):
                run = keyed_run(source, kinds)
                why = set_aside(engine, run)
                found.aside.update([why] if why else [])
                drawn += [] if why else [run]
            for run, theirs, mine in zip(drawn, one.answer(drawn), ours.answer(drawn), strict=True):
                found.runs += 1
                found.late += bool(mine.late)
                found.differing += [] if agrees(engine, theirs, mine) else [run]
    return found


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
