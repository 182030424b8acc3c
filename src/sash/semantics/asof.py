"""As-of joins: what they mean, and the oracle that computes it in the most obvious way.

Every event l of the left stream is answered with one event r of the right stream, or with none: of those
with the same key and |τ_l − τ_r| ≤ tolerance

    backward    the latest with τ_r ≤ τ_l              the value that was known
    forward     the earliest with τ_r ≥ τ_l            what came next
    nearest     the one with the least |τ_l − τ_r|; of two that are equally near, the earlier

and of several with this time the last that arrived. Both ends of `tolerance` are closed; without one there
is no limit. Null is a key of its own, as everywhere.

- The watermark, and what is late, are those of `semantics/join.py`: the lesser of both sides'.
- An answer is final, and reported, when the watermark has passed the last instant at which a better event
  could come:

      backward            τ_l
      forward, nearest    τ_l + |τ_l − τ_r|, or τ_l + tolerance for an event without an answer

  The end of a bounded input passes all instants.
- Of what becomes final together, answers come by (τ_l, arrival of l); of a bounded input everything does.

>>> trades, quotes = [Event(10, 0), Event(20, 1)], [Event(8, 0), Event(8, 1), Event(13, 2)]
>>> [(r and (r.time, r.ordinal)) for r in (match(Asof(), trade, quotes) for trade in trades)]
[(8, 1), (13, 2)]
>>> (nearest := match(Asof("nearest"), trades[0], quotes)) and nearest.time
8
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Literal, TypeAlias

from sash.errors import ArgumentError
from sash.semantics.durations import Duration
from sash.semantics.event import Event
from sash.semantics.expression import Side
from sash.semantics.join import JoinBatch, Missed, TwoStreams, judged

Direction: TypeAlias = Literal["backward", "forward", "nearest"]
DIRECTIONS: tuple[Direction, ...] = ("backward", "forward", "nearest")


@dataclass(frozen=True)
class Asof(TwoStreams):
    """The declaration: on which side of its time an event looks for its answer, and how far."""

    direction: Direction = "backward"
    tolerance: Duration | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.direction not in DIRECTIONS:
            raise ArgumentError("direction", self.direction, "'backward', 'forward' or 'nearest'")

    @property
    def lengths(self) -> dict[str, Duration]:
        own = {} if self.tolerance is None else {"tolerance": self.tolerance}
        return {**own, **super().lengths}

    @property
    def reach(self) -> float:
        """How far apart in time an event and its answer may be."""
        return inf if self.tolerance is None else self.tolerance.length


@dataclass(frozen=True, slots=True)
class Answered:
    """A left event and the right event that answers it, if there is one."""

    left: Event
    right: Event | None

    def settled_at(self, asof: Asof) -> float:
        """The last instant at which a better event could come."""
        if asof.direction == "backward":
            return self.left.time
        distance = asof.reach if self.right is None else abs(self.left.time - self.right.time)
        return self.left.time + distance


def match(asof: Asof, left: Event, rights: Iterable[Event]) -> Event | None:
    """The answer to one event, among events of its key and others."""
    found = [
        right
        for right in rights
        if right.key == left.key and abs(left.time - right.time) <= asof.reach
        if asof.direction != "backward" or right.time <= left.time
        if asof.direction != "forward" or right.time >= left.time
    ]
    return min(found, key=lambda r: (abs(left.time - r.time), r.time, -r.ordinal), default=None)


@dataclass
class AsofOutcome:
    """Everything that an as-of join emits for its inputs."""

    answers: list[Answered] = field(default_factory=list)
    late: list[Missed] = field(default_factory=list)


def evaluate(asof: Asof, batches: Sequence[JoinBatch], *, flush: bool = True) -> AsofOutcome:
    """The answers, in order, and the late output of `asof` over `batches`."""
    outcome, answered = AsofOutcome(), set[int]()
    for events, watermark in judged(asof, batches, outcome.late, flush=flush):
        # An event that the watermark has not passed does not count yet: a better one may come.
        passed = [right for right in events[Side.RIGHT] if right.time < watermark]
        due = [
            answer
            for left in events[Side.LEFT]
            if left.ordinal not in answered
            if (answer := Answered(left, match(asof, left, passed))).settled_at(asof) < watermark
            or watermark == inf
        ]
        answered |= {answer.left.ordinal for answer in due}
        outcome.answers += sorted(due, key=lambda answer: (answer.left.time, answer.left.ordinal))
    return outcome
