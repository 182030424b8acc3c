"""What an engine's parameters could be, and which of it survives a run.

    alive(run)  =  { h alive before : simulate(h, run) = what the engine showed }

Elimination is the whole inference: nothing is measured, everything that contradicts a run is struck out.
While the scope is not known yet, a hypothesis survives a run when *some* t0 explains it; later each of the
known formulas for t0 is a hypothesis of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations

from sash.engines.probe_run import EventNumbers, ProbeRun
from sash.semantics.secret import ORIGINS, Axis, Origin, Pick, Profile, Report, Scope, Tick
from sash.semantics.secret.scope import EPOCH, ZERO

PERIODS = range(2, 8)
"""The periods that are considered; a period of 1 is no condition."""

FLAGS = tuple(str(condition) for condition in Report)
"""The four conditions of Report, each required or not."""

ORDER = {
    Axis.TIME: ORIGINS,
    # Numbers of events always begin at 1: a formula without ts1 is simpler.
    Axis.COUNT: (ZERO, EPOCH, *(origin for origin in ORIGINS if origin not in (ZERO, EPOCH))),
}
"""The known formulas for the origin; of those that fit equally well the first is chosen."""

_TICKS = {Axis.TIME: (Tick.TIME, Tick.TUPLE, Tick.BATCH), Axis.COUNT: (Tick.TUPLE, Tick.TIME, Tick.BATCH)}
_PICKS = {Axis.TIME: (Pick.LATEST,), Axis.COUNT: tuple(Pick)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """Parameters of one kind of windows; without an origin, t0 is still free.

    >>> h = Hypothesis(kind=Axis.TIME, tick=Tick.TIME, report=frozenset({Report.NON_EMPTY}))
    >>> h.value("tick"), h.value("report"), h.value("t0")
    ('time', 'non-empty', None)
    """

    kind: Axis
    tick: Tick
    report: frozenset[Report]
    period: int | None = None
    pick: Pick = Pick.LATEST
    origin: Origin | None = None

    def profile(self, origin: Origin) -> Profile:
        """The hypothesis as a profile that has windows of this kind only."""
        scope = Scope(time=origin) if self.kind is Axis.TIME else Scope(count=origin)
        return Profile(scope=scope, report=self.report, period=self.period, tick=self.tick, pick=self.pick)

    def value(self, parameter: str) -> str | None:
        """One parameter in words, by the names that findings use."""
        if parameter in ("t0", "i0"):
            return self.origin.formula if self.origin else None
        if parameter == "report":
            return self.profile(self.origin or ORIGINS[0]).conjunction
        if parameter in FLAGS:
            return f"{'with' if parameter in self.report else 'without'} {parameter}"
        return str(self.pick if parameter == "pick" else self.tick)

    def explains(self, run: ProbeRun, seen: tuple[EventNumbers, ...]) -> bool:
        """Whether the simulation of the hypothesis shows what was seen, for some t0 if that is free."""
        if self.origin is not None:
            return run.simulated(self.profile(self.origin)) == seen
        return any(True for _ in self.starts(run, seen))

    def starts(self, run: ProbeRun, seen: tuple[EventNumbers, ...]) -> Iterator[int]:
        """The values of t0 that explain what was seen, among those that any known formula comes near."""
        first = run.times[0] if self.kind is Axis.TIME else 1
        known = [origin(first, run.size, run.slide) for origin in ORIGINS]
        for start in range(min(known) - run.slide, max(known) + run.slide + 1):
            if run.simulated(self.profile(Origin(str(start), partial(_constant, start)))) == seen:
                yield start


def _constant(start: int, first: int, size: int, slide: int) -> int:
    return start


def all_hypotheses(kind: Axis, *, reports: Iterable[Hypothesis] = ()) -> list[Hypothesis]:
    """Every tick × report × pick, the simplest first; only the reports of `reports` if there are any.

    >>> len(all_hypotheses(Axis.TIME))
    168
    """
    among = {(one.report, one.period) for one in reports}
    return [
        Hypothesis(kind=kind, tick=tick, report=report, period=period, pick=pick)
        for report, period in _reports()
        if not among or (report, period) in among
        for tick in _TICKS[kind]
        for pick in _PICKS[kind]
    ]


def _reports() -> Iterator[tuple[frozenset[Report], int | None]]:
    conditions = [condition for condition in Report if condition is not Report.PERIODIC]
    subsets = [frozenset(some) for n in range(4) for some in combinations(conditions, n)]
    unconditional = [(frozenset({Report.PERIODIC}), 1)]
    periodic = [(some | {Report.PERIODIC}, period) for period in PERIODS for some in subsets]
    return chain(((some, None) for some in subsets if some), unconditional, periodic)
