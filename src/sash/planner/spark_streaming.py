"""What a pattern costs on a stream, over so many events, step by step.

    buckets of keys    pack → stateful step, in which the busiest task has the hottest key
    WinFarm(n)         pack a row for each worker that needs it → step, each with its own windows
    … agnostic         pack → step that holds events → windows with their events to any task
    PaneFarm, WinMapReduce   pack → step that folds panes → step that folds windows from panes

Blocks of columns travel cheaply, so that what matters is what the busiest bucket has to fold, how much each
window takes, and that every step costs something in every micro-batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sash.operators.patterns.declared import Farm, KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq
from sash.planner.constants import ProcessCosts, SparkCosts
from sash.planner.facts import Facts
from sash.planner.process import process_steps
from sash.planner.steps import Step, total

BATCH = 250_000
"""Events of a micro-batch, where nobody says how often one begins."""


def stream_steps(
    pattern: Pattern | None, facts: Facts, costs: SparkCosts, process: ProcessCosts
) -> list[Step]:
    """The steps of a query under this pattern; None: by buckets of keys."""
    return list(_Estimate(facts, costs, process).steps(pattern))


@dataclass(frozen=True)
class _Estimate:
    facts: Facts
    costs: SparkCosts
    process: ProcessCosts

    def steps(self, pattern: Pattern | None) -> Iterator[Step]:
        rows = float(self.facts.events.rows)
        inner = pattern.held if isinstance(pattern, Farm) else pattern
        two = isinstance(inner, PaneFarm | WinMapReduce)
        agnostic = isinstance(pattern, WinFarm) and pattern.model == "agnostic"
        stages = 2 + (two or agnostic)
        yield Step("schedule micro-batches", -(-rows // BATCH) * stages * self.costs.stage)
        yield Step("scan and pack rows", rows * (self.costs.scan + self.costs.python), self._even)
        yield Step("shuffle blocks", rows * self._copies(pattern, inner) * self._block, self._even)
        if agnostic:
            assert pattern is not None
            yield Step("hold events", rows * self.costs.fold, self._hottest)
            yield Step("hand windows out", rows * self._block, self._hottest)
            yield Step("compute windows", self._computing(rows), max(1 / pattern.workers, self._even))
        elif two:
            yield Step("fold panes", rows * self.costs.fold, self._even)
            yield Step("shuffle panes", self._panes * self._block, self._even)
            yield Step("compute windows", self._computing(self._panes), self._share(pattern, inner))
        else:
            held = rows * self._copies(pattern, inner)
            share = self._share(pattern, inner)
            yield Step("hold events", held * self.costs.fold, share)
            yield Step("compute windows", self._computing(self._panes if self._paned else rows), share)

    @property
    def _block(self) -> float:
        """A row inside of a block on its way to another task."""
        return self.costs.shuffle / 4

    @property
    def _paned(self) -> bool:
        return self.facts.decomposable and all(
            monoid.commutative and monoid.compiled for monoid in self.facts.algebra
        )

    @property
    def _panes(self) -> float:
        panes = sum(cut.panes or 0.0 for cut in self.facts.cuts)
        return min(float(self.facts.events.rows), panes)

    @property
    def _overlap(self) -> float:
        return max(cut.overlap for cut in self.facts.cuts)

    @property
    def _even(self) -> float:
        return 1 / self.facts.cores

    @property
    def _hottest(self) -> float:
        return min(1.0, max(self._even, self.facts.events.hottest))

    def _share(self, pattern: Pattern | None, inner: Pattern | None) -> float:
        """Of the busiest bucket."""
        match inner:
            case PaneFarm(wlq=windows) | WinMapReduce(reduce=windows):
                pass
            case _:
                windows = 1
        if isinstance(pattern, WinFarm):
            windows *= pattern.degree
        if isinstance(pattern, WinSeq):
            return 1.0
        keys = max(1 / pattern.degree, self._hottest) if isinstance(pattern, KeyFarm) else self._hottest
        # Events of a micro-batch lie close together: only windows that overlap get their events at once.
        return max(self._even, keys / min(windows, max(1.0, self._overlap)))

    def _copies(self, pattern: Pattern | None, inner: Pattern | None) -> float:
        """To how many buckets an event goes."""
        if not isinstance(pattern, WinFarm) or pattern.model == "agnostic" or not isinstance(inner, WinSeq):
            return 1.0
        return min(float(pattern.degree), max(1.0, self._overlap))

    def _computing(self, elements: float) -> float:
        """What all windows cost one task, over events or panes."""
        events = replace(self.facts.events, rows=int(elements))
        return 1e9 * total(process_steps(WinSeq(), replace(self.facts, events=events), self.process))
