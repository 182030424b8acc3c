"""Q4: one reconfiguration under load, by the controller with the paper's thresholds of 90, 70 and 45 %.

    provisioning       70 % of the rate that one instance sustains, then 120 %
    decommissioning    70 % of the rate that two instances sustain, then 30 %

A join's load is the square of its rate: 49, 144 and 9 % of what the instances can compare.

The window is filled before. What is sustained is measured first, in the same run: comparisons a second at
full speed. The load of an instance is the part of its time in which it worked; its coefficient of variation
over the instances shows how evenly the work is cut.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.paper_table import PaperTable
from benchmarks.stretch.joining import (
    SECOND,
    SOURCES,
    Replay,
    fill,
    replay,
    scale_join,
    scale_join_streams,
    sustained,
)
from benchmarks.stretch.scalejoin import at_full_speed
from sash.operators import setup, thresholds


@dataclass
class Change:
    """One reconfiguration: the replay around it, which begins with `before` seconds of the old rate."""

    replay: Replay
    before: float
    unevenness: float
    """Coefficient of variation of the instances' working time."""

    @property
    def milliseconds(self) -> float:
        return 1e3 * self.replay.switches[0][3] if self.replay.switches else float("nan")


def changed(start: int, first: float, then: float, *, window: int, seconds: float) -> Change:
    """`first` and `then` are fractions of what `start` instances sustain."""
    streams, before = scale_join_streams(), seconds / 3
    with setup(scale_join(window), start, 2, sources=SOURCES) as elastic:
        # Filled twice: at any rate to see what is sustained, then at the rate of the experiment.
        fill(elastic, streams, rate=300, begin=0, end=window * SECOND)
        done, _ = at_full_speed(
            elastic, streams, rate=300, begin=window * SECOND, seconds=max(window // 4, 1)
        )
        end = 2 * window * SECOND
        rate = sustained(done, window)
        rates = [rate * part for part in (first, then)]
        fill(elastic, streams, rate=rates[0], begin=end, end=end + window * SECOND)
        elastic.meter.busy[:] = [0.0] * 2
        found = replay(
            elastic, streams, seconds=seconds, rate=lambda now: rates[0] if now < before else rates[1],
            controller=thresholds(), offset=end + window * SECOND,
        )  # fmt: skip
        busy = np.array([each for each in elastic.meter.busy if each > 0])
    return Change(found, before, float(busy.std() / busy.mean()) if len(busy) > 1 else 0.0)


def measure(*, quick: bool) -> tuple[PaperTable, dict[str, Change]]:
    window, seconds = (2, 3.0) if quick else (20, 45.0)
    found = {
        "provisioning, 1 → 2": changed(1, 0.7, 1.2, window=window, seconds=seconds),
        "decommissioning, 2 → 1": changed(2, 0.7, 0.3, window=window, seconds=seconds),
    }
    table = PaperTable("stretch-4", f"Q4, one switch under load, WS {window} s")
    for name, change in found.items():
        run = change.replay
        at = run.switches[0][0] if run.switches else float("nan")
        table.add(
            f"{name}: time of the switch", paper="always below 40 ms; some 12 from 30 to 52 threads",
            here=f"{change.milliseconds:.1f} ms; {at - change.before:.1f} s behind the new rate",
            why="what was sent before is compared first; instances wait for a core",
        )  # fmt: skip
        settled = 2 * change.before
        table.add(
            f"{name}: latency before, after", paper="not affected, or lower",
            here=f"{1e3 * run.latency(0, change.before):.0f} ms, {1e3 * run.latency(settled):.0f} ms",
            why="mean over rows, in the last third of the replay",
        )  # fmt: skip
        table.add(
            f"{name}: switches in {seconds:.0f} s", paper="1", here=str(len(run.switches)),
            why="where other programs take cores, the load of an instance rises by itself",
        )  # fmt: skip
    table.add(
        "unevenness of two instances", paper="at most 2 %",
        here=f"{100 * found['decommissioning, 2 → 1'].unevenness:.0f} %",
        why="one of them worked alone for a part of the run",
    )  # fmt: skip
    return table, found
