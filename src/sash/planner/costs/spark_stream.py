"""What a pattern costs on a stream, over so many events, step by step.

    buckets of keys    pack → stateful step, in which the busiest task has the hottest key
    WinFarm(n)         pack a row for each worker that needs it → step, each with its own windows
    … agnostic         pack → step that holds events → windows with their events to any task
    PaneFarm, WinMapReduce   pack → step that folds panes → step that folds windows from panes

Blocks of columns travel cheaply, so that what matters is what the busiest bucket has to fold, how much each
window takes, and that every micro-batch and every step in it costs something. Buckets of keys are computed
in epochs; patterns, and functions over whole windows, over Spark's state store.
"""

from __future__ import annotations

from collections.abc import Iterator

from sash.operators.patterns.declared import (
    Farm,
    KeyFarm,
    PaneFarm,
    Pattern,
    WinFarm,
    WinMapReduce,
    WinSeq,
    window_workers,
)
from sash.planner.costs.constants import ProcessCosts, SparkCosts
from sash.planner.costs.spark_estimate import SparkEstimate
from sash.planner.costs.step import CostStep
from sash.planner.facts import Facts

BATCH = 250_000
"""Events of a micro-batch, where the trigger is not known."""


def stream_steps(
    pattern: Pattern | None, facts: Facts, costs: SparkCosts, process: ProcessCosts
) -> list[CostStep]:
    """The steps of a query under this pattern; None: by buckets of keys."""
    return list(_StreamEstimate(facts, costs, process).steps(pattern))


class _StreamEstimate(SparkEstimate):
    def steps(self, pattern: Pattern | None) -> Iterator[CostStep]:
        rows = float(self.facts.events.rows)
        inner = pattern.held if isinstance(pattern, Farm) else pattern
        two = isinstance(inner, PaneFarm | WinMapReduce)
        agnostic = isinstance(pattern, WinFarm) and pattern.model == "agnostic"
        # Panes are sent to their windows later, and an owner has all events of its keys.
        copies = 1.0 if two or agnostic else self.copies(window_workers(pattern))
        yield CostStep("run micro-batches", -(-rows // BATCH) * self._batch(pattern, two, agnostic))
        yield CostStep("scan and pack rows", rows * (self.costs.scan + self.costs.python), self.even)
        yield CostStep("shuffle blocks", rows * copies * self.block, self.even)
        if agnostic:
            assert pattern is not None
            share = self.by_keys(self.facts.cores)
            yield CostStep("hold events", rows * self.costs.fold, share)
            yield CostStep("hand windows out", rows * self.block, share)
            yield CostStep("compute windows", self.computing(rows), self.by_tasks(pattern.workers))
        elif two:
            yield CostStep("fold panes", rows * self.costs.fold, self.even)
            yield CostStep("shuffle panes", self._panes * self.block, self.even)
            yield CostStep("compute windows", self.computing(self._panes), self._share(pattern))
        else:
            share = self._share(pattern)
            yield CostStep("hold events", rows * copies * self.costs.fold, share)
            yield CostStep("compute windows", self.computing(self._panes if self._paned else rows), share)

    def _batch(self, pattern: Pattern | None, two: bool, agnostic: bool) -> float:
        """A micro-batch, however little it brings."""
        if pattern is None and not self.facts.whole:
            return self.costs.epoch
        return self.costs.stateful + two * self.costs.step + agnostic * self.costs.stage

    @property
    def _paned(self) -> bool:
        return self.facts.decomposable and all(
            monoid.commutative and monoid.compiled for monoid in self.facts.algebra
        )

    @property
    def _panes(self) -> float:
        panes = sum(cut.panes or 0.0 for cut in self.facts.cuts)
        return min(float(self.facts.events.rows), panes)

    def _share(self, pattern: Pattern | None) -> float:
        """Of the busiest bucket."""
        if isinstance(pattern, WinSeq):
            return 1.0
        windows = window_workers(pattern)
        keys = self.by_keys(pattern.degree if isinstance(pattern, KeyFarm) else self.facts.cores)
        # Events of a micro-batch lie close together: only windows that overlap get their events at once.
        return max(self.by_tasks(windows) if windows > 1 else self.even, keys / self.copies(windows))
