"""What estimates on Spark have in common, over static DataFrames and over streams.

A step costs so many nanoseconds in all, and its busiest task has a share of them: an even one, or that of
the hottest key, whose events only one task can have.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sash.operators.patterns.declared import WinSeq
from sash.planner.costs.constants import ProcessCosts, SparkCosts
from sash.planner.costs.in_process import process_steps
from sash.planner.costs.step import total
from sash.planner.facts import Facts


@dataclass(frozen=True)
class SparkEstimate:
    """A query, and what things cost."""

    facts: Facts
    costs: SparkCosts
    process: ProcessCosts

    @property
    def even(self) -> float:
        return 1 / self.facts.cores

    @property
    def hottest(self) -> float:
        return min(1.0, max(self.even, self.facts.events.hottest))

    @property
    def block(self) -> float:
        """A row on its way to another task inside of a block of columns, which is cheaper than alone."""
        return self.costs.shuffle / 4

    def computing(self, elements: float | None = None) -> float:
        """What all windows cost one task, once it has their events, or so many panes of them."""
        events = self.facts.events
        rows = events.rows if elements is None else int(elements)
        given = replace(self.facts, events=replace(events, rows=rows))
        return 1e9 * total(process_steps(WinSeq(), given, self.process))

    def copies(self, window_workers: int) -> float:
        """To how many of the workers that share the windows of a key an event goes."""
        return min(float(window_workers), max(1.0, self.facts.overlap))
