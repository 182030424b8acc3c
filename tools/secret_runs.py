"""Random inputs for the simulator of SECRET's authors, and what it reported of them beside `simulate`.

    python tools/secret_runs.py draw 12000 > inputs.json      # sizes, slides, times and batches
    python tools/secret_runs.py compare runs.json             # without a file: what is recorded

The simulator is not part of this repository (decision 4). `runs.json` is what it made of `inputs.json`, in
the form of `tests/semantics/recorded_simulator_runs.json`: reports[kind of window][engine] has for each
input the reports as positions of events, or null where the simulator failed. The exit code is 1 when a run
differs and none of the three artefacts of the simulator that are known can be why.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sash.semantics.secret import Axis, Report, Tick, profile, simulate

RECORDING = Path(__file__).parents[1] / "tests" / "semantics" / "recorded_simulator_runs.json"
FAILED = "no scope before t0 or i0"
WAITS = "the first time is compared with i0, a number"
ROUNDED = "ω = 1: the number before a window counts as its end"
UNKNOWN = "unknown"
EQUAL = "equal"
STEPS = ([1], [0, 1], [0, 1, 2, 5], [5, 6, 7, 8], list(range(10)))
"""Distances between times: of an input, one of these is drawn from."""
Given = tuple[int, int, list[int], list[int]]
"""Size, slide, times, and the batch of each event; batches count from 1."""


def drawn(count: int, *, seed: int = 1) -> list[Given]:
    """As in decision 4: sizes and slides from 1 to 7, 1 to 16 events, the first at a time from −4 to 25.

    >>> drawn(1)[0][:2]
    (2, 5)
    """
    draw, found = random.Random(seed), list[Given]()
    for _ in range(count):
        size, slide, n = draw.randint(1, 7), draw.randint(1, 7), draw.randint(1, 16)
        steps, together = draw.choice(STEPS), draw.choice([0.0, 0.3, 0.8])
        times, batches = [draw.randint(-4, 25)], [1]
        for _ in range(n - 1):
            times.append(times[-1] + draw.choice(steps))
            batches.append(batches[-1] + (draw.random() >= together))
        found.append((size, slide, times, batches))
    return found


def artefact(kind: str, name: str, given: Sequence[Any], theirs: Any) -> str:
    """Why the simulator may differ on an input (decision 4); empty where it must not."""
    engine, (size, slide, times, _) = profile(name), given
    if theirs is None:
        return FAILED
    i0 = engine.scope.count
    if kind == Axis.TIME or i0 is None:
        return ""
    if engine.tick_of(Axis.COUNT) is Tick.TIME and times[0] <= i0(1, size, slide):
        return WAITS
    return ROUNDED if size == 1 and Report.NON_EMPTY not in engine.report else ""


def compared(runs: Mapping[str, Any]) -> dict[tuple[str, str], Counter[str]]:
    """How many runs are equal, and how many are not and why, by kind of window and engine."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for kind, engines in runs["reports"].items():
        for name, reports in engines.items():
            counts = found[kind, name] = Counter()
            for given, theirs in zip(runs["inputs"], reports, strict=True):
                size, slide, times, batches = given
                ours = simulate(name, times, size, slide, kind=Axis(kind).value, batches=batches)
                counts[EQUAL if ours == theirs else artefact(kind, name, given, theirs) or UNKNOWN] += 1
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    draw = commands.add_parser("draw", help="print inputs for the simulator")
    draw.add_argument("count", type=int)
    draw.add_argument("--seed", type=int, default=1)
    compare = commands.add_parser("compare", help="count the runs that are equal")
    compare.add_argument("runs", type=Path, nargs="?", default=RECORDING)
    chosen = parser.parse_args(arguments)
    if chosen.command == "draw":
        print(json.dumps({"inputs": drawn(chosen.count, seed=chosen.seed)}))
        return 0
    found = compared(json.loads(chosen.runs.read_text(encoding="utf-8")))
    for (kind, name), counts in sorted(found.items()):
        print(f"{name:<14} {kind:<6}", *(f"{why}: {n:,}" for why, n in counts.most_common()), sep="  ")
    total = sum(found.values(), Counter())
    unequal = total.total() - total[EQUAL]
    print(f"{total.total():,} runs, {unequal:,} not equal, {total[UNKNOWN]:,} unexplained")
    return 1 if total[UNKNOWN] else 0


if __name__ == "__main__":
    sys.exit(main())
