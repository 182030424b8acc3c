"""Window joins: what they mean, and the oracle that computes it in the most obvious way.

    (l, r) is a pair   iff   key(l) = key(r),  |τ_l − τ_r| ≤ within,  where(l, r) is true
    its time           =     max(τ_l, τ_r)
    order of pairs     =     by (time, ordinal of l, ordinal of r)

An outer join (`how` is left, right or full) also emits the events in no pair of the side that it keeps, or
of both, with nulls in the place of the other event:

    its time           =     τ + within, the first instant at which no partner can come any more
    its order          =     among the pairs, an ordinal that is missing after all others

Both ends of `within` are closed: events exactly that far apart meet. Each event therefore sees a window
of the other stream that slides with it, and every pair is reported exactly once. An ordinal is an
event's place in the arrival order of its side. A stream that is joined with itself meets itself: every
event is a left one and a right one.

- Null is a key of its own, as everywhere. But a null that `where` reads makes its answer false, whatever
  else it reads: a null compares to nothing.
- The watermark of the join is the lesser of its sides' (none until both have one). Events before it are too
  late: they are in no pair, nor alone, and go to the late output.
- A pair, or an event that stays alone, is final, and reported, when the watermark has passed its time: then
  no event can come that would make a pair before it. So the pairs of a stream come in the order above. The
  end of a bounded input passes all times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, TypeAlias

from sash.errors import ArgumentError, PredicateError, SashError
from sash.semantics import durations
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Event, Row
from sash.semantics.expression import Side
from sash.semantics.predicate import require_callable, truth
from sash.semantics.reference import Arrival
from sash.semantics.watermark import Lateness, Watermark

Where: TypeAlias = Callable[[Any, Any], Any]
How: TypeAlias = Literal["inner", "left", "right", "full"]
KEPT: dict[str, tuple[Side, ...]] = {
    "inner": (), "left": (Side.LEFT,), "right": (Side.RIGHT,), "full": tuple(Side),
}  # fmt: skip
"""The sides whose events are emitted also when they are in no pair."""


@dataclass(frozen=True, kw_only=True)
class TwoStreams:
    """What all joins declare: how late each side may come."""

    left_delay: Duration = field(default_factory=lambda: Duration(0, Unit.TICKS))
    right_delay: Duration = field(default_factory=lambda: Duration(0, Unit.TICKS))

    def __post_init__(self) -> None:
        for name, duration in self.lengths.items():
            durations.not_negative(duration, name)
        self.time_unit  # noqa: B018  (mixed units are refused here, not at the first event)

    def delay(self, side: Side) -> Duration:
        return self.left_delay if side is Side.LEFT else self.right_delay

    @property
    def lengths(self) -> dict[str, Duration]:
        """Everything that is measured in the unit of its time."""
        return {f"{side.value} delay": self.delay(side) for side in Side}

    @property
    def time_unit(self) -> Unit:
        """What its lengths of time are measured in; EVENTS when all of them are zero."""
        if not any(duration.length for duration in self.lengths.values()):
            return Unit.EVENTS
        return durations.same_unit(**self.lengths)


def hint_for_how(given: object) -> str:
    """For the words that PySpark has for it.

    >>> hint_for_how("left_outer"), hint_for_how("outer"), hint_for_how("anti")
    ("Did you mean 'left'?", "Did you mean 'full'?", '')
    """
    word = str(given).lower().replace("_", "").replace(" ", "").removesuffix("outer") or "full"
    return f"Did you mean {word!r}?" if word in KEPT else ""


@dataclass(frozen=True)
class IntervalJoin(TwoStreams):
    """The declaration: how far apart in time, which pairs, and what of the events that are in none."""

    within: Duration
    where: Where | None = None
    how: How = "inner"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.where is not None:
            require_callable(self.where, "where", "lambda l, r: abs(l.x - r.a) <= 10")
        if self.how not in KEPT:
            hint = hint_for_how(self.how)
            raise ArgumentError("how", self.how, "'inner', 'left', 'right' or 'full'", hint=hint)

    @property
    def lengths(self) -> dict[str, Duration]:
        return {"within": self.within, **super().lengths}

    @property
    def kept(self) -> tuple[Side, ...]:
        """The sides whose events are emitted also when they are in no pair."""
        return KEPT[self.how]


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


def pair_matches(where: Where | None, left: PredicateRow, right: PredicateRow) -> bool:
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
    """Two events that meet, or one that stays alone, at a time."""

    left: Event | None
    right: Event | None
    time: int

    @property
    def place(self) -> tuple[float, ...]:
        """Where it stands among all pairs."""
        ordinals = (inf if event is None else event.ordinal for event in (self.left, self.right))
        return (self.time, *ordinals)


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


def evaluate(join: IntervalJoin, batches: Iterable[JoinBatch], *, flush: bool = True) -> JoinOutcome:
    """The pairs, in order, and the late output of `join` over `batches`."""
    outcome = JoinOutcome()
    for events, watermark in judged(join, batches, outcome.late, flush=flush):
        reported = {pair.place for pair in outcome.pairs}
        due = [
            pair for pair in _pairs(join, events) if pair.time < watermark and pair.place not in reported
        ]
        outcome.pairs += sorted(due, key=lambda pair: pair.place)
    return outcome


EventsOfSides: TypeAlias = dict[Side, list[Event]]


def judged(
    join: TwoStreams, batches: Iterable[JoinBatch], late: list[Missed], *, flush: bool
) -> Iterator[tuple[EventsOfSides, float]]:
    """After each batch: all events of both sides that were on time, and the watermark of the join, which is
    −∞ until both sides have one, and ∞ at the end where there is a `flush`. Others go to `late`."""
    events: EventsOfSides = {side: [] for side in Side}
    sides = {side: Watermark(delay=join.delay(side).length) for side in Side}
    joint = Watermark()
    for batch in batches:
        for side in Side:
            for arrival in batch.arrivals(side):
                _accept(side, arrival, joint, events[side], late)
        for side in Side:
            sides[side].observe(a.time for a in batch.arrivals(side) if a.time is not None)
        known = [mark.value for mark in sides.values() if mark.value is not None]
        if len(known) == len(sides):
            joint.advance_to(min(known))
        if batch.watermark is not None:
            joint.advance_to(batch.watermark)
        yield events, -inf if joint.value is None else joint.value
    if flush:
        yield events, inf


def _accept(
    side: Side, arrival: Arrival, joint: Watermark, events: list[Event], late: list[Missed]
) -> None:
    if arrival.time is None:
        late.append(Missed(side, arrival, "time is null"))
    elif joint.judge(arrival.time) is Lateness.TOO_LATE:
        late.append(Missed(side, arrival, Lateness.TOO_LATE.value))
    else:
        events.append(Event(arrival.time, len(events), arrival.key, arrival.values))


def _pairs(join: IntervalJoin, events: EventsOfSides) -> Iterator[Pair]:
    alone = {side: set(range(len(events[side]))) if side in join.kept else set[int]() for side in Side}
    for left in events[Side.LEFT]:
        for right in events[Side.RIGHT]:
            meet = left.key == right.key and abs(left.time - right.time) <= join.within.length
            if meet and pair_matches(join.where, PredicateRow(left.values), PredicateRow(right.values)):
                alone[Side.LEFT].discard(left.ordinal)
                alone[Side.RIGHT].discard(right.ordinal)
                yield Pair(left, right, max(left.time, right.time))
    for ordinal in alone[Side.LEFT]:
        left = events[Side.LEFT][ordinal]
        yield Pair(left, None, left.time + join.within.length)
    for ordinal in alone[Side.RIGHT]:
        right = events[Side.RIGHT][ordinal]
        yield Pair(None, right, right.time + join.within.length)
