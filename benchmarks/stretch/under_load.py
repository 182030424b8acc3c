"""Q4: one reconfiguration under load, by the controller with the paper's thresholds of 90, 70 and 45 %.

    provisioning       70 % of the rate that one instance sustains, then 120 %
    decommissioning    70 % of the rate that two instances sustain, then 30 %

A join's load is the square of its rate: 49, 144 and 9 % of what the instances can compare.

What is sustained is searched first (`sustaining`), and the window is filled before the replay. Each run is
one reconfiguration, as in the paper: the controller decides from the change of the rate on, until its first
switch. The load of an instance is the part of its time in which it worked; its coefficient of variation
over the instances before the change shows how evenly the work is cut.

Tuples are sent every 20 ms, not every 5 as elsewhere: an instance that keeps up takes a step for each tick,
and a step costs some 3 ms however few its tuples. With ticks of 5 ms two instances worked for 58 % of
their time at 30 % of the rate, where their comparisons need 9 %: neither could go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.harness import Table
from benchmarks.paper_table import PaperTable
from benchmarks.stretch.joining import (
    SECOND,
    SOURCES,
    Replay,
    fill,
    replay,
    scale_join,
    scale_join_streams,
)
from benchmarks.stretch.sustaining import FILLED, TRIALS, Sustained, sustained_rate
from sash.operators import setup, thresholds

TICK = 0.02


@dataclass
class Change:
    """One reconfiguration: the replay around it, which begins with `before` seconds of the old rate."""

    replay: Replay
    start: int
    """Instances."""
    before: float
    sustained: Sustained
    unevenness: float
    """Coefficient of variation of the instances' working time before the change."""

    @property
    def switch(self) -> str:
        if not self.replay.switches:
            return "no switch"
        at, _, _, seconds = self.replay.switches[0]
        return f"{1e3 * seconds:.1f} ms; {at - self.before:.1f} s behind the new rate"

    @property
    def why(self) -> str:
        if self.replay.switches:
            return "what was sent before is compared first; instances wait for a core"
        seen = self.replay.utilisation(2 * self.before)
        needed = (
            "more than 90 % for another one" if self.start == 1 else "35 % or less for one of them to go"
        )
        return f"in the last third they worked for {100 * seen:.0f} % of their time; it takes {needed}"


def changed(
    start: int, first: float, then: float, *, window: int, seconds: float, trials: int = TRIALS
) -> Change:
    """`first` and `then` are fractions of what `start` instances sustain."""
    sustained = sustained_rate(start, window=window, seconds=seconds / 4, trials=trials, tick=TICK)
    streams, before, worked = scale_join_streams(), seconds / 3, list[float]()
    with setup(scale_join(window), start, 2, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=first * sustained.rate, begin=0, end=window * SECOND)
        elastic.meter.busy[:] = [0.0] * 2

        def rate(now: float) -> float:
            if now < before:
                return first * sustained.rate
            if not worked:
                worked.extend(elastic.meter.busy[:start])
            return then * sustained.rate

        found = replay(
            elastic, streams, seconds=seconds, rate=rate, controller=thresholds(), armed=before, once=True,
            offset=window * SECOND, tick=TICK,
        )  # fmt: skip
    busy = np.array(worked)
    return Change(
        found, start, before, sustained, float(busy.std() / busy.mean()) if busy.any() else float("nan")
    )


def judged(found: dict[str, Change]) -> Table:
    """A run without its switch has measured nothing."""
    table = Table("Q4: changes of the rate that no instance came or went for", yardstick="a change")
    table.start()
    for name, change in found.items():
        table.add(name, change.replay.latency(), float(not change.replay.switches), limit=0.0)
    return table


def measure(*, quick: bool) -> tuple[PaperTable, dict[str, Change]]:
    window, seconds, trials = (1, 4.5, 4) if quick else (20, 45.0, TRIALS)
    found = {
        "provisioning, 1 → 2": changed(1, 0.7, 1.2, window=window, seconds=seconds, trials=trials),
        "decommissioning, 2 → 1": changed(2, 0.7, 0.3, window=window, seconds=seconds, trials=trials),
    }
    table = PaperTable("stretch-4", f"Q4, one switch under load, WS {window} s")
    for name, change in found.items():
        run = change.replay
        table.add(
            f"{name}: sustained before, tuples a second of each side", paper="not in the text",
            here=change.sustained.text,
            why=f"searched before, with windows of {window} s instead of 300: {FILLED}",
        )  # fmt: skip
        table.add(
            f"{name}: time of the switch", paper="always below 40 ms; some 12 from 30 to 52 threads",
            here=change.switch, why=change.why,
        )  # fmt: skip
        settled = 2 * change.before
        table.add(
            f"{name}: latency before, after", paper="not affected, or lower",
            here=f"{1e3 * run.latency(0, change.before):.0f} ms, {1e3 * run.latency(settled):.0f} ms",
            why="mean over rows, in the last third of the replay",
        )  # fmt: skip
    table.add(
        "unevenness of two instances before the switch", paper="at most 2 %",
        here=f"{100 * found['decommissioning, 2 → 1'].unevenness:.0f} %",
        why="of the time in which they worked; sender and reader need cores too",
    )  # fmt: skip
    return table, found
