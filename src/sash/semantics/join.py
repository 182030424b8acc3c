"""Window joins: what they mean, and the oracle that computes it in the most obvious way.

    (l, r) is a pair   iff   key(l) = key(r),  |τ_l − τ_r| ≤ within,  where(l, r) is true
    its time           =     max(τ_l, τ_r)
    order of pairs     =     by (time, ordinal of l, ordinal of r)

Both ends of `within` are closed: events exactly that far apart meet. Each event therefore sees a window
of the other stream that slides with it, and every pair is reported exactly once. An ordinal is an
event's place in the arrival order of its side. A stream that is joined with itself meets itself: every
event is a left one and a right one.

- Null is a key of its own, as everywhere. But a null that `where` reads makes its answer false: a null
  compares to nothing, as in SQL.
- The watermark of the join is the lesser of its sides' (none until both have one). Events before it are too
  late: they are in no pair and go to the late output.
- A pair is final, and reported, when the watermark has passed its time: then no event can come that would
  make a pair before it. So the pairs of a stream come in the order above. The end of a bounded input passes
  all times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sash.errors import PredicateError, SashError
from sash.semantics import durations
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event, Row
from sash.semantics.expression import Side
from sash.semantics.predicate import require_callable, truth
from sash.semantics.reference import Arrival
from sash.semantics.watermark import Lateness, Watermark

Where: TypeAlias = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Join:
    """The declaration: how far apart in time, which pairs, and how late each side may come."""

    within: Duration
    where: Where | None = None
    left_delay: Duration = field(default_factory=lambda: Duration(0, Unit.TICKS))
    right_delay: Duration = field(default_factory=lambda: Duration(0, Unit.TICKS))

    def __post_init__(self) -> None:
        durations.not_negative(self.within, "within")
        for side in Side:
            durations.not_negative(self.delay(side), f"delay of the {side.value} stream")
        if self.where is not None:
            require_callable(self.where, "where", "lambda l, r: abs(l.x - r.a) <= 10")
        self.time_unit  # noqa: B018  (mixed units are refused here, not at the first event)

    def delay(self, side: Side) -> Duration:
        return self.left_delay if side is Side.LEFT else self.right_delay

    @property
    def time_unit(self) -> Unit:
        """What its lengths of time are measured in; EVENTS when all of them are zero."""
        lengths = {"within": self.within, "left delay": self.left_delay, "right delay": self.right_delay}
        if not any(duration.length for duration in lengths.values()):
            return Unit.EVENTS
        return durations.same_unit(**lengths)


class _NullRead(Exception):
    """A predicate has read a null."""


class PredicateRow(Row):
    """A row that a predicate reads: a null that it reads ends the evaluation."""

    __slots__ = ()

    def __getitem__(self, column: str) -> Any:
        value = super().__getitem__(column)
        if value is None:
            raise _NullRead
        return value


def holds(where: Where | None, left: PredicateRow, right: PredicateRow) -> bool:
    """Whether the predicate is true for these rows; PredicateError, with both, if it fails."""
    if where is None:
        return True
    try:
        answer = where(left, right)
    except _NullRead:
        return False
    except SashError:
        raise
    except Exception as error:
        raise PredicateError(
            f"the predicate of the join raised {type(error).__name__}: {error}; "
            f"called with left {left} and right {right}"
        ) from error
    return truth(answer, owner="the join", about=f"left {left} and right {right}")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two events that meet."""

    left: Event
    right: Event

    @property
    def time(self) -> int:
        return max(self.left.time, self.right.time)

    @property
    def place(self) -> tuple[int, int, int]:
        """Where it stands among all pairs."""
        return self.time, self.left.ordinal, self.right.ordinal


@dataclass(frozen=True, slots=True)
class JoinBatch:
    """What arrives together on both sides, and the source's watermark afterwards, if it has one."""

    left: Sequence[Arrival] = ()
    right: Sequence[Arrival] = ()
    watermark: int | None = None

    def arrivals(self, side: Side) -> Sequence[Arrival]:
        return self.left if side is Side.LEFT else self.right


@dataclass(frozen=True, slots=True)
class Missed:
    """An event that is in no pair because of its time, and why."""

    side: Side
    arrival: Arrival
    reason: str


@dataclass
class JoinOutcome:
    """Everything that a join emits for its inputs."""

    pairs: list[Pair] = field(default_factory=list)
    late: list[Missed] = field(default_factory=list)


def evaluate(join: Join, batches: Iterable[JoinBatch], *, flush: bool = True) -> JoinOutcome:
    """The pairs, in order, and the late output of `join` over `batches`."""
    outcome, events = JoinOutcome(), {side: list[Event]() for side in Side}
    sides = {side: Watermark(delay=join.delay(side).length) for side in Side}
    joint = Watermark()
    for batch in batches:
        for side in Side:
            for arrival in batch.arrivals(side):
                _accept(side, arrival, joint, events[side], outcome)
        for side in Side:
            sides[side].observe(a.time for a in batch.arrivals(side) if a.time is not None)
        known = [mark.value for mark in sides.values() if mark.value is not None]
        if len(known) == len(sides):
            joint.advance_to(min(known))
        if batch.watermark is not None:
            joint.advance_to(batch.watermark)
        _report(join, events, joint.value, outcome)
    if flush:
        _report(join, events, None, outcome, flush=True)
    return outcome


def _accept(
    side: Side, arrival: Arrival, joint: Watermark, events: list[Event], outcome: JoinOutcome
) -> None:
    if arrival.time is None:
        outcome.late.append(Missed(side, arrival, "time is null"))
    elif joint.judge(arrival.time) is Lateness.TOO_LATE:
        outcome.late.append(Missed(side, arrival, Lateness.TOO_LATE.value))
    else:
        events.append(Event(arrival.time, len(events), arrival.key, arrival.values))


def _report(
    join: Join, events: dict[Side, list[Event]], watermark: int | None, outcome: JoinOutcome, *,
    flush: bool = False,
) -> None:  # fmt: skip
    reported = {pair.place for pair in outcome.pairs}
    due = [
        pair
        for pair in _pairs(join, events)
        if (flush or (watermark is not None and pair.time < watermark)) and pair.place not in reported
    ]
    outcome.pairs += sorted(due, key=lambda pair: pair.place)


def _pairs(join: Join, events: dict[Side, list[Event]]) -> Iterable[Pair]:
    for left in events[Side.LEFT]:
        for right in events[Side.RIGHT]:
            meet = left.key == right.key and abs(left.time - right.time) <= join.within.length
            if meet and holds(join.where, PredicateRow(left.values), PredicateRow(right.values)):
                yield Pair(left, right)
