"""Functions over whole windows: what they cost is known once they have run for a moment.

    compute windows here for 0.1 s → what do the others take? → plan them with that number

A user's function may take a microsecond or a minute, and only running it shows which. The windows that are
computed meanwhile count: nothing is computed twice, and no window depends on any other, so the answer is
that of any other plan. To use worker processes from the first window on, name a pattern.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

from sash.errors import Unsupported
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.layout import Layout
from sash.operators.folding.values import Values, evaluated, in_order
from sash.operators.patterns.evaluate import evaluate
from sash.operators.patterns.process_workers import idle
from sash.operators.patterns.window_share import WindowShare
from sash.operators.windows.ranges import Ranges
from sash.planner.auto_declaration import AUTO
from sash.planner.costs.constants import Costs
from sash.planner.facts import Facts, WindowFacts
from sash.planner.plans.cheapest_pattern import make_plan
from sash.semantics.window import Window

TRIAL = 0.1
"""Seconds: long enough to measure, short beside the start of a process."""


@dataclass(frozen=True)
class Tried:
    """How many windows were computed, over how many events, and how long that took."""

    windows: int
    events: int
    seconds: float


@dataclass(frozen=True)
class TriedFirst:
    """An evaluator that begins here, and continues wherever the rest is done sooner."""

    find: Callable[[], Facts]
    """Not called where all windows are computed before it matters."""
    costs: Costs
    trial: float = TRIAL
    clock: Callable[[], float] = time.perf_counter

    @cached_property
    def facts(self) -> Facts:
        return self.find()

    def __call__(self, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges) -> Values:
        whole = WindowShare.whole(bound, window, layout, ranges)
        parts, done, events, begin = [], 0, 0, self.clock()
        while done < len(ranges):
            spent = self.clock() - begin
            if done and spent > self.trial:
                left = whole.neighbours(done, len(ranges))
                parts.append(self._rest(left, Tried(done, events, spent)).owned_by(left.windows))
                break
            some = whole.neighbours(done, min(len(ranges), done + self._more(done, spent)))
            parts.append(self._here(some).owned_by(some.windows))
            done, events = done + len(some), events + len(some.layout.times)
        return in_order(parts) if parts else evaluated(bound, window, layout, ranges)

    def _here(self, share: WindowShare) -> Values:
        """The values of windows that are tried."""
        return evaluated(share.bound, share.window, share.layout, share.ranges)

    def _more(self, done: int, spent: float) -> int:
        """How many next: as many as the trial is likely to last, but never far more than are known of."""
        if not done:
            return 1
        likely = (self.trial - spent) * done / max(spent, 1e-9)
        return max(1, min(8 * done, int(likely)))

    def _rest(self, left: WindowShare, tried: Tried) -> Values:
        """The values of all others, by the plan that is best now that it is known what they cost."""
        cut = self.cut(left.window)
        each = tried.seconds / tried.windows
        facts = replace(self.facts, cuts=(replace(cut, windows=float(len(left))),), function=each)
        pattern = make_plan(left.bound, facts, self._costs_now(), parallelism=AUTO, only_raced=True).pattern
        assert pattern is not None
        try:
            return evaluate(pattern, left.bound, left.window, left.layout, left.ranges)
        except Unsupported:
            # It cannot be sent to another process, and no pattern requires that.
            return self._here(left)

    def cut(self, window: Window) -> WindowFacts:
        return next(cut for cut in self.facts.cuts if cut.label == window.label)

    def _costs_now(self) -> Costs:
        """Processes that an earlier query has left need not be started."""
        if idle() < self.facts.cores:
            return self.costs
        return replace(self.costs, process=replace(self.costs.process, start=0.0))
