"""What estimates on Spark have in common, over static DataFrames and over streams.

A step costs so many nanoseconds in all, and its busiest core has a share of them: an even one, or that of
the hottest key, whose events only one task can have.

    n equal tasks on c cores    ⌈n / c⌉ / n
    n tasks of K keys           the same · (1 + √(n / K) / ⌈n / c⌉): hashes do not share keys out evenly,
                                and of several tasks per core whichever core is free takes the next
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from sash.operators.patterns.declared import WinSeq
from sash.planner.costs.constants import ProcessCosts, SparkCosts
from sash.planner.costs.in_process import process_steps
from sash.planner.costs.step import CostStep, total
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

    def by_tasks(self, tasks: int) -> float:
        """The share of the busiest core, where tasks have equal parts."""
        return self.waves(tasks) / tasks

    def by_keys(self, tasks: int) -> float:
        """The same, where each key goes to one task."""
        uneven = sqrt(tasks / max(1, self.facts.events.keys)) / self.waves(tasks)
        return min(1.0, max(self.by_tasks(tasks) * (1 + uneven), self.facts.events.hottest))

    def waves(self, tasks: int) -> int:
        """How many tasks a core has one after the other."""
        return -(-tasks // self.facts.cores)

    def more_tasks(self, tasks: int) -> CostStep:
        """What the tasks of a stage cost beyond the first one of each core."""
        return CostStep("start further tasks", (self.waves(tasks) - 1) * self.costs.task)

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
