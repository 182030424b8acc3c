"""Aggregates that Python computes: what a call costs is known once some of them have run.

    windows here for 0.1 s → seconds / estimated seconds → plan the others with such calls

A lift or a combine of objects takes half a microsecond (a set of two) or a millisecond (a skyline of
hundreds), so that whether processes pay only shows in a trial. It runs under the plan for one core, which
mostly is to fold panes; what was computed counts. Other aggregates of the query are computed by threads,
and compiled, apart from it: their compiler is not what is to be measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from sash.operators.bound_query import BoundQuery
from sash.operators.columns.layout import Layout
from sash.operators.folding.values import Values, in_order
from sash.operators.patterns.declared import Pattern, WinSeq, busy_workers
from sash.operators.patterns.evaluate import beside, by_language, evaluate, interpreted_of
from sash.operators.patterns.window_share import WindowShare
from sash.operators.windows.ranges import Ranges
from sash.planner.auto_declaration import AUTO
from sash.planner.costs.in_process import interpreted_seconds
from sash.planner.facts import Facts
from sash.planner.plans.cheapest_pattern import make_plan
from sash.planner.plans.function_trial import Tried, TriedFirst
from sash.semantics.window import Window


@dataclass(frozen=True)
class InterpretedFirst(TriedFirst):
    """An evaluator that begins here with what Python computes, and continues in processes if that pays; its
    facts are about that alone (`interpreted_facts`)."""

    clock: Callable[[], float] = time.process_time
    """Processor time: a machine that is busy with something else makes no call dearer."""
    pattern: Pattern = field(default_factory=WinSeq)
    """Of the aggregates that machine code computes."""
    made: list[Pattern] = field(default_factory=list)
    """The plan for one core, once it is made."""

    def __call__(self, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> Values:
        python, *others = by_language(bound)
        parts = [super().__call__(python, window, layout, ranges)]
        parts += [evaluate(self.pattern, other, window, layout, ranges) for other in others]
        return beside(bound, parts)

    def _here(self, share: WindowShare) -> Values:
        alone = self._alone(share.bound)
        return evaluate(alone, share.bound, share.window, share.layout, share.ranges, processes=False)

    def _rest(self, left: WindowShare, tried: Tried) -> Values:
        """In processes as soon as that pays. The first windows have few events, and elements may grow:
        where it does not pay yet, twice as many windows are tried next."""
        pattern, more = self._planned(left, tried), 2 * tried.windows
        if busy_workers(pattern) > 1 or more >= len(left):
            return evaluate(pattern, left.bound, left.window, left.layout, left.ranges)
        some, others = left.neighbours(0, more), left.neighbours(more, len(left))
        begin = self.clock()
        here = self._here(some)
        again = Tried(more, len(some.layout.times), self.clock() - begin)
        rest = self._rest(others, again)
        return in_order([here.owned_by(np.arange(more)), rest.owned_by(np.arange(more, len(left)))])

    def _planned(self, left: WindowShare, tried: Tried) -> Pattern:
        """The best pattern, now that it is known what a call costs."""
        facts = replace(self._of(left.window, len(left), len(left.layout.times)), processes=True)
        costs = self._costs_now()
        slower = tried.seconds / max(self._estimate(left, tried), 1e-9)
        measured = replace(costs.process, interpreted=costs.process.interpreted * slower)
        plan = make_plan(
            left.bound, facts, replace(costs, process=measured), parallelism=AUTO, only_raced=True
        )
        assert plan.pattern is not None
        return plan.pattern

    def _estimate(self, left: WindowShare, tried: Tried) -> float:
        """What the tried windows should have taken."""
        facts = self._of(left.window, tried.windows, tried.events)
        return interpreted_seconds(self._alone(left.bound), facts, self.costs.process)

    def _alone(self, bound: BoundQuery) -> Pattern:
        """The plan for one core: one for all windows of the query."""
        if not self.made:
            one = replace(self.facts, cores=1)
            plan = make_plan(bound, one, self.costs, parallelism=AUTO, only_raced=True)
            assert plan.pattern is not None
            self.made.append(plan.pattern)
        return self.made[0]

    def _of(self, window: Window, windows: int, events: int) -> Facts:
        """Of a part of one window's windows."""
        cut, all_events = self.cut(window), max(1, self.facts.events.rows)
        panes = None if cut.panes is None else cut.panes * events / all_events
        cut = replace(cut, windows=float(windows), panes=panes)
        return replace(self.facts, cuts=(cut,), events=replace(self.facts.events, rows=events))


def interpreted_facts(facts: Facts, bound: BoundQuery) -> Facts:
    """The facts about what Python computes of a query."""
    names = interpreted_of(bound)
    algebra = tuple(replace(one, compiled=False) for one in facts.algebra if one.name in names)
    return replace(facts, algebra=algebra, early=None)
