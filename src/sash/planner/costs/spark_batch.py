"""What a pattern costs on Spark, over a static DataFrame, step by step.

    buckets of keys    scan → shuffle all rows → Python → fold; the busiest task has the hottest key
    … folded by Spark  scan and fold panes in generated code → shuffle panes → windows, in SQL or Python
    PaneFarm(p, w)     scan → fold panes where rows lie → shuffle panes → fold windows
    WinMapReduce       the same, after rows have been dealt out evenly
    … of look-backs    count rows by key → scan → fold panes of hot keys → shuffle rows and panes → fold
    WinFarm(n)         scan → shuffle a row once for each worker that needs it → fold
    … agnostic         scan → shuffle → sort by bucket → shuffle windows with their events → fold

Rows cost more on their way than in a fold, so what matters is how many rows travel how often, and whether
one task gets most of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import sqrt

from sash.operators.patterns.declared import (
    Farm,
    KeyFarm,
    PaneFarm,
    Pattern,
    WinFarm,
    WinMapReduce,
    window_workers,
)
from sash.planner.costs.constants import ProcessCosts, SparkCosts
from sash.planner.costs.spark_estimate import SparkEstimate
from sash.planner.costs.step import CostStep, total
from sash.planner.facts import Facts


def spark_steps(
    pattern: Pattern | None, facts: Facts, costs: SparkCosts, process: ProcessCosts
) -> list[CostStep]:
    """The steps of a query under this pattern; None: by buckets of keys."""
    return list(_BatchEstimate(facts, costs, process, bucket_tasks(facts, costs, process)).steps(pattern))


TASKS_PER_CORE = 4
"""Of a shuffle by key, where rows are many or not known: small pieces stay in the cache of a core."""
FEWER = 2, 1
"""What else is tried, where it is known how many rows there are."""
BETTER = 0.95
"""Of the estimate: what fewer tasks must stay below."""


def bucket_tasks(facts: Facts, costs: SparkCosts, process: ProcessCosts) -> int:
    """How many tasks get the rows of a shuffle by key."""
    if facts.events.known == "assumed":
        return TASKS_PER_CORE * facts.cores
    tried = [each * facts.cores for each in (TASKS_PER_CORE, *FEWER)]
    seconds = {tasks: total(_BatchEstimate(facts, costs, process, tasks).steps(None)) for tasks in tried}
    best = min(tried, key=lambda tasks: seconds[tasks])
    return best if seconds[best] < BETTER * seconds[tried[0]] else tried[0]


@dataclass(frozen=True)
class _BatchEstimate(SparkEstimate):
    by_key: int
    """The tasks that get the rows of a shuffle by key."""

    @property
    def _tasks(self) -> int:
        return self.by_key if self.facts.events.keys > 1 else 1

    def steps(self, pattern: Pattern | None) -> Iterator[CostStep]:
        inner = pattern.held if isinstance(pattern, Farm) else pattern
        if pattern is None and self.facts.folded_by_spark:
            yield from self._folded_by_spark()
        elif pattern is None:
            yield from self._buckets()
        elif isinstance(pattern, WinFarm) and pattern.model == "agnostic":
            yield from self._agnostic(pattern.workers)
        elif isinstance(inner, PaneFarm | WinMapReduce) and self.facts.rolling:
            yield from self._look_backs(pattern, inner)
        elif isinstance(inner, PaneFarm | WinMapReduce):
            yield from self._panes(pattern, inner)
        else:
            yield from self._rows_to_windows(pattern)

    def _buckets(self) -> Iterator[CostStep]:
        yield CostStep("two stages", 2 * self.costs.stage)
        yield self._per_row("scan and shuffle rows", self.costs.scan + self.costs.shuffle, self.even)
        share = self.by_keys(self._tasks)
        yield self._per_row("hand rows to Python", self.costs.python, share)
        yield CostStep("compute windows", self.computing(), share)
        yield self.more_tasks(self._tasks)

    def _folded_by_spark(self) -> Iterator[CostStep]:
        assert self.facts.spark is not None
        yield CostStep("two stages", 2 * self.costs.stage)
        each = self.costs.scan + self.costs.native
        yield self._per_row("scan, and fold panes in generated code", each, self.even)
        panes = min(float(self.facts.events.rows), sum(cut.panes or 0.0 for cut in self.facts.cuts))
        yield CostStep("shuffle panes", panes * self.costs.shuffle, self.even)
        if self.facts.spark.of == "panes":
            share = self._panes_by_keys(panes, self._tasks)
            yield CostStep("one stage more", self.costs.stage)
            yield CostStep("hand panes to Python", panes * (self.costs.shuffle + self.costs.python), share)
            yield CostStep("compute windows", self.computing(panes), share)
            yield self.more_tasks(self._tasks)

    def _panes(self, pattern: Pattern, inner: PaneFarm | WinMapReduce) -> Iterator[CostStep]:
        yield CostStep("two stages", 2 * self.costs.stage)
        if isinstance(inner, WinMapReduce):
            yield CostStep("one stage more", self.costs.stage)
            yield self._per_row("deal rows", self.costs.shuffle, self.even)
        each = self.costs.scan + self.costs.python + self.costs.fold
        yield self._per_row("scan and fold panes where rows lie", each, self.even)
        by_windows = window_workers(pattern)
        # A task folds its own rows: a pane whose events lie in several partitions comes from each of them.
        panes = sum(cut.panes or 0.0 for cut in self.facts.cuts)
        panes = min(float(self.facts.events.rows), panes * self.facts.cores)
        sent = panes * self.copies(by_windows)
        workers = by_windows * key_workers(pattern)
        share = self.by_tasks(workers) if by_windows > 1 else self._panes_by_keys(panes, workers)
        cost = self.costs.route + self.costs.shuffle + self.costs.python
        yield CostStep("shuffle panes", sent * cost, share)
        yield CostStep("compute windows", self.computing(sent), share)
        yield self.more_tasks(workers)

    def _look_backs(self, pattern: Pattern, inner: PaneFarm | WinMapReduce) -> Iterator[CostStep]:
        yield CostStep("three stages", 3 * self.costs.stage)
        yield self._per_row("count rows by key", self.costs.scan + self.costs.native, self.even)
        if isinstance(inner, WinMapReduce):
            yield CostStep("one stage more", self.costs.stage)
            yield self._per_row("deal rows", self.costs.shuffle, self.even)
        each = self.costs.scan + self.costs.python + self.costs.route
        yield self._per_row(
            "scan and route rows, fold panes of hot keys", each + self.costs.fold, self.even
        )
        share = self._with_hot_keys_shared(pattern)
        yield self._per_row("shuffle rows", self.costs.shuffle + self.costs.python, share)
        yield CostStep("compute look-backs", self.computing(), share)
        yield self.more_tasks(window_workers(pattern) * key_workers(pattern))

    def _with_hot_keys_shared(self, pattern: Pattern) -> float:
        """Of the busiest task, where the rows of a hot key go to all that share its windows."""
        by_windows, events = window_workers(pattern), self.facts.events
        workers = by_windows * key_workers(pattern)
        if 2 * workers * events.hottest <= 1:
            return self.by_keys(workers)
        uneven = sqrt(workers / max(1, events.keys)) / self.waves(workers)
        others = (1 - events.hottest) * self.by_tasks(workers) * (1 + uneven)
        return min(1.0, events.hottest * self.by_tasks(by_windows) + others)

    def _rows_to_windows(self, pattern: Pattern) -> Iterator[CostStep]:
        by_windows = window_workers(pattern)
        workers = by_windows * key_workers(pattern)
        share = self.by_tasks(workers) if by_windows > 1 else self.by_keys(workers)
        yield CostStep("two stages", 2 * self.costs.stage)
        copies = self.copies(by_windows)
        each = self.costs.scan + self.costs.python + copies * self.costs.route
        yield self._per_row("scan and route rows", each, self.even)
        yield self._per_row("shuffle rows", copies * (self.costs.shuffle + self.costs.python), share)
        yield CostStep("compute windows", self.computing(), share)
        yield self.more_tasks(workers)

    def _agnostic(self, workers: int) -> Iterator[CostStep]:
        yield CostStep("three stages", 3 * self.costs.stage)
        yield self._per_row("scan and shuffle rows", self.costs.scan + self.costs.shuffle, self.even)
        share = self.by_keys(self.facts.cores)
        yield self._per_row("sort by bucket", self.costs.group, share)
        # Batches of windows are blobs of columns, which travel more cheaply than rows.
        yield self._per_row("hand windows out", self.block, share)
        yield CostStep("compute windows", self.computing(), self.by_tasks(workers))
        yield self.more_tasks(workers)

    def _per_row(self, what: str, cost: float, share: float) -> CostStep:
        return CostStep(what, self.facts.events.rows * cost, share)

    def _panes_by_keys(self, panes: float, tasks: int) -> float:
        """Where events are folded, a hot key has no more panes than any other key that is never idle."""
        if panes >= self.facts.events.rows / 2:
            return self.by_keys(tasks)
        return max(self.by_tasks(tasks), 1 / self.facts.events.keys)


def key_workers(pattern: Pattern) -> int:
    """How many shares of the keys a pattern has."""
    return pattern.degree if isinstance(pattern, KeyFarm) else 1
