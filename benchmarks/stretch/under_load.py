"""Q4: one reconfiguration under load, by the controller with the paper's thresholds of 90, 70 and 45 %.

    provisioning       70 % of the rate that one instance sustains, then 120 % or what two can carry
    decommissioning    70 % of the rate that two instances sustain, then 30 %

A join's load is the square of its rate: 49, 144 and 9 % of what the instances can compare.

What is sustained is searched first (`sustaining`), over windows of 20 seconds; over the paper's five
minutes the same comparisons follow from a lower rate. The window is filled before the replay. Each run is
one reconfiguration, as in the paper: the controller decides from the change of the rate on, until its first
switch. The load of an instance is the part of its time in which it worked; its coefficient of variation
over the instances before the change shows how evenly the work is cut.

In the paper the instances that come carry the 120 %. Here two threads have two cores, which sender and
reader need too, and may not: that would measure a queue and no switch, so the new rate is at most 95 % of
what two instances sustain.

Tuples are sent every 20 ms, not every 5 as elsewhere: an instance that keeps up takes a step for each tick,
and a step costs some 3 ms however few its tuples. With ticks of 5 ms two instances worked for 58 % of
their time at 30 % of the rate, where their comparisons need 9 %: neither could go.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

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
from benchmarks.stretch.sustaining import SEARCHED, TRIALS, sustained_rate
from sash.operators import setup, thresholds

TICK = 0.02
WINDOW = 300
FIRST, MORE, LESS = 0.7, 1.2, 0.3
CARRIED = 0.95
"""What two instances surely carry, of the rate that was found for them."""
PROVISIONING, DECOMMISSIONING = "provisioning, 1 → 2", "decommissioning, 2 → 1"


@dataclass
class Change:
    """One reconfiguration: the replay around it, which begins with `before` seconds of the old rate."""

    replay: Replay
    start: int
    """Instances."""
    before: float
    unevenness: float
    """Coefficient of variation of the instances' working time before the change."""

    @property
    def switch(self) -> str:
        if not self.replay.switches:
            return "no switch"
        at, _, _, seconds = self.replay.switches[0]
        return f"{1e3 * seconds:.1f} ms; {at - self.before:.1f} s behind the new rate"

    @property
    def settled(self) -> float:
        """When the last seconds begin, as many as the old rate had."""
        return self.replay.seconds[-1] - self.before

    @property
    def why(self) -> str:
        if self.replay.switches:
            return "what was sent before is compared first; instances wait for a core"
        seen = self.replay.utilisation(self.settled)
        needed = (
            "more than 90 % for another one" if self.start == 1 else "35 % or less for one of them to go"
        )
        worked = f"in the last {self.before:.0f} s they worked for {100 * seen:.0f} % of their time"
        return f"{worked}; it takes {needed}"


@dataclass(frozen=True)
class Rates:
    """Tuples a second of each side that one and two instances sustain, and what follows from them."""

    one: float
    two: float

    @property
    def more(self) -> float:
        return min(MORE * self.one, max(self.one, CARRIED * self.two))

    @property
    def why_more(self) -> str:
        """
        >>> Rates(1_000, 2_000).why_more
        'two instances sustain 2.00 times the rate of one'
        """
        text = f"two instances sustain {self.two / self.one:.2f} times the rate of one"
        reduced = (
            f", on two cores that sender and reader need too; they would not surely carry {MORE:.2f} times"
        )
        return text if self.more == MORE * self.one else text + reduced

    def full(self, window: float) -> str:
        """When comparisons alone bring one instance to 90 %.

        >>> Rates(1_000, 2_000).full(300)
        'by comparisons alone 84 % at first, and 90 % after 30 s, as the window fills with the new rate'
        """
        old, new = FIRST, self.more / self.one
        begins = f"by comparisons alone {100 * old * new:.0f} % at first"
        after = max(0.0, window * (0.9 / new - old) / (new - old))
        return f"{begins}, and 90 % after {after:.0f} s, as the window fills with the new rate"


def changed(start: int, first: float, then: float, *, window: int, before: float, after: float) -> Change:
    """`first` and `then` are tuples a second of each side."""
    streams, worked = scale_join_streams(), list[float]()
    with setup(scale_join(window), start, 2, sources=SOURCES) as elastic:
        fill(elastic, streams, rate=first, begin=0, end=window * SECOND)
        elastic.meter.busy[:] = [0.0] * 2

        def rate(now: float) -> float:
            if now < before:
                return first
            if not worked:
                worked.extend(elastic.meter.busy[:start])
            return then

        found = replay(
            elastic, streams, seconds=before + after, rate=rate, controller=thresholds(), armed=before,
            once=True, offset=window * SECOND, tick=TICK,
        )  # fmt: skip
    busy = np.array(worked)
    return Change(found, start, before, float(busy.std() / busy.mean()) if busy.any() else float("nan"))


def judged(found: dict[str, Change]) -> Table:
    """A run without its switch has measured nothing."""
    table = Table("Q4: changes of the rate that no instance came or went for", yardstick="a change")
    table.start()
    for name, change in found.items():
        table.add(name, change.replay.latency(), float(not change.replay.switches), limit=0.0)
    return table


def measure(*, quick: bool) -> tuple[PaperTable, dict[str, Change]]:
    window, searched, length, before, trials = (
        (2, 1, 1.5, 1.5, 4) if quick else (WINDOW, SEARCHED, 10.0, 30.0, TRIALS)
    )
    reached = {
        n: sustained_rate(n, window=searched, seconds=length, trials=trials, tick=TICK) for n in (1, 2)
    }
    rates = Rates(*(each.over(window, searched=searched) for each in reached.values()))
    # The load is that of the new rate when the window holds no tuples of the old one any more.
    around = partial(changed, window=window, before=before, after=window + before)
    found = {
        PROVISIONING: around(1, FIRST * rates.one, rates.more),
        DECOMMISSIONING: around(2, FIRST * rates.two, LESS * rates.two),
    }
    table = PaperTable("stretch-4", f"Q4, one switch under load, WS {window} s")
    table.add(
        f"sustained, tuples a second of each side, WS {searched} s", paper="not in the text",
        here=", ".join(f"{each.text} with {n}" for n, each in reached.items()),
        why=f"another search than Q3's: tuples come every {1e3 * TICK:.0f} ms, and every 5 there; "
        "a rate is found within a tenth",
    )  # fmt: skip
    sent = {
        PROVISIONING: (FIRST * rates.one, rates.more, rates.one, "120", rates.why_more),
        DECOMMISSIONING: (
            FIRST * rates.two,
            LESS * rates.two,
            rates.two,
            "30",
            "two cores where it had 36",
        ),
    }
    for name, (old, new, of, then, why) in sent.items():
        table.add(
            f"{name}: rates", paper=f"70 %, then {then} % of what is sustained",
            here=f"{100 * old / of:.0f} %, then {100 * new / of:.0f} %: "
            f"{old:,.0f}, then {new:,.0f} a second of each side",
            why=f"as many comparisons over {window} s as were sustained over {searched}; {why}",
        )  # fmt: skip
    for name, change in found.items():
        run = change.replay
        filling = f"; {rates.full(window)}" if change.start == 1 else ""
        table.add(
            f"{name}: time of the switch", paper="always below 40 ms; some 12 from 30 to 52 threads",
            here=change.switch, why=change.why + filling,
        )  # fmt: skip
        table.add(
            f"{name}: latency before, after", paper="not affected, or lower",
            here=f"{1e3 * run.latency(0, before):.0f} ms, {1e3 * run.latency(change.settled):.0f} ms",
            why=f"mean over rows, in the first and the last {before:.0f} s of the replay",
        )  # fmt: skip
    table.add(
        "unevenness of two instances before the switch", paper="at most 2 %",
        here=f"{100 * found[DECOMMISSIONING].unevenness:.0f} %",
        why="of the time in which they worked; sender and reader need cores too",
    )  # fmt: skip
    return table, found
