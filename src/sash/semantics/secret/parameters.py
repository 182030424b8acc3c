"""The parameters of an engine in SECRET: a profile is data, and two engines are alike when it is equal.

    Profile = Scope × Report × Tick × Pick

Content has no parameter: it is what lies in the scope and has arrived. The names follow Botan et al.,
"SECRET: A Model for Analysis of the Execution Semantics of Stream Processing Systems" (PVLDB 2010), and
Dindar et al., "Modeling the Execution Semantics of Stream Processing Engines with SECRET" (VLDB Journal
2013), which adds count windows and Pick.

>>> from sash.semantics.secret.scope import EPOCH
>>> mine = Profile(scope=Scope(time=EPOCH), report={Report.WINDOW_CLOSE}, tick=Tick.TIME)
>>> print(mine)
t0 = β − ω, no count windows; report: window-close; tick: time; pick: latest
>>> mine == Profile(scope=Scope(time=EPOCH), report={"window-close"}, tick="time", pick="latest")
True
"""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from sash.errors import ArgumentError
from sash.semantics.secret.scope import Axis, Scope
from sash.semantics.watermark import LateBy


class Report(StrEnum):
    """Conditions for a report at an instant t; an engine requires a conjunction of them."""

    CONTENT_CHANGE = "content-change"
    """The content differs from what was reported last; before the first report that is empty."""
    WINDOW_CLOSE = "window-close"
    """t is the end of a whole window, and lies before the arrival that ticks."""
    NON_EMPTY = "non-empty"
    """The content holds an event."""
    PERIODIC = "periodic"
    """t is a multiple of the period."""


class Tick(StrEnum):
    """Which arrivals make the engine look at its windows."""

    TUPLE = "tuple"
    """Every arrival."""
    TIME = "time"
    """Arrivals with a new timestamp."""
    BATCH = "batch"
    """Arrivals with a new batch number."""


class Pick(StrEnum):
    """Which event number stands for those that one tick of count windows passes.

    A tick of count windows is one evaluation, however many event numbers have passed: Pick takes the number
    whose content the conditions on contents are about, and of those that end a window (and are multiples of
    the period) the one that is reported. Time windows have nothing to pick: every application time is an
    evaluation of its own, as with ALL every number is.
    """

    LATEST = "latest"
    EARLIEST = "earliest"
    ALL = "all"


class AtGap(StrEnum):
    """What happens to an event at exactly the gap after a session's last one."""

    JOINS = "joins"
    """It joins: the session waits until the watermark has passed that time."""
    JOINS_OPEN = "joins while open"
    """It joins a session that is open, and the watermark closes the session when it is at that time."""
    SPLITS = "splits"
    """It begins a session of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """The parameters of one engine. `period` belongs to Report.PERIODIC, `count_tick` is the tick of
    count windows where it is another one. Names of enum members are taken as strings, too.

    The last four are beyond the model, which knows one ordered stream without an end and no sessions; they
    matter when Sash runs as the engine. `watermark`: an event of any key closes the time windows of all
    keys, and the end of a bounded input closes the rest. `late_by`: what makes an event late there.
    `lateness`: windows can be kept for late events, and are reported again with them.
    `sessions`: what happens at exactly the gap; None when it has no sessions, or they are not known."""

    scope: Scope
    report: AbstractSet[Report]
    tick: Tick
    pick: Pick = Pick.LATEST
    period: int | None = None
    count_tick: Tick | None = None
    watermark: bool = False
    late_by: LateBy = LateBy.TIME
    lateness: bool = False
    sessions: AtGap | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.scope, Scope):
            raise ArgumentError("scope", self.scope, "a Scope, such as Scope(time=Origin(…))")
        _set(self, "report", _conjunction(self.report))
        _set(self, "tick", _member(Tick, "tick", self.tick))
        _set(self, "pick", _member(Pick, "pick", self.pick))
        if self.count_tick is not None:
            count_tick = _member(Tick, "count_tick", self.count_tick)
            # The same parameters must be equal, however they were written.
            _set(self, "count_tick", None if count_tick is self.tick else count_tick)
        if Report.PERIODIC in self.report:
            if type(self.period) is not int or self.period <= 0:
                raise ArgumentError("period", self.period, "a positive int when report has PERIODIC")
        elif self.period is not None:
            raise ArgumentError("period", self.period, "left out unless report has PERIODIC")
        for name in ("watermark", "lateness"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(name, getattr(self, name), "True or False")
        _set(self, "late_by", _member(LateBy, "late_by", self.late_by))
        if self.sessions is not None:
            _set(self, "sessions", _member(AtGap, "sessions", self.sessions))

    def __str__(self) -> str:
        tick = f"{self.tick} ({self.count_tick} for count windows)" if self.count_tick else str(self.tick)
        return f"{self.scope}; report: {self.conjunction}; tick: {tick}; pick: {self.pick}"

    @property
    def conjunction(self) -> str:
        conditions = {Report.PERIODIC: f"{Report.PERIODIC} every {self.period}"}
        return " ∧ ".join(
            conditions.get(condition, condition) for condition in Report if condition in self.report
        )

    def tick_of(self, kind: Axis) -> Tick:
        return self.count_tick if kind is Axis.COUNT and self.count_tick else self.tick


_Member = TypeVar("_Member", bound=StrEnum)


def _set(profile: Profile, name: str, value: Any) -> None:
    object.__setattr__(profile, name, value)


def _member(options: type[_Member], argument: str, given: Any) -> _Member:
    try:
        return options(given)
    except ValueError:
        names = ", ".join(repr(option.value) for option in options)
        raise ArgumentError(argument, given, f"one of {names}") from None


def _conjunction(given: Any) -> frozenset[Report]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ArgumentError("report", given, "a set of conditions, such as {Report.WINDOW_CLOSE}")
    conditions = frozenset(_member(Report, "report", condition) for condition in given)
    if not conditions:
        hint = "To report at every instant, use Report.PERIODIC with period=1."
        raise ArgumentError("report", given, "a set of at least one condition", hint=hint)
    return conditions
