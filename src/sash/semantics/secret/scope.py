"""Scope: which interval an engine looks at, once it is known where its first window starts.

    scope(t) = (t0 + n·β, t]      n = max(0, ⌈(t − t0 − ω)/β⌉),   t ≥ t0

ω is the size, β the slide, and t0 the *origin*: windows are (t0 + n·β, t0 + n·β + ω] for n = 0, 1, 2, …,
and the scope is the earliest of them that is still open at t, as far as it has come. Count windows read
the same with event numbers (from 1) instead of times, and i0 instead of t0.

Engines differ only in the origin, which they compute from ω, β and the time ts1 of the first event:

>>> windows = ScopeWindows(start=ALIGNED_END(10, 3, 3), size=3, slide=3)
>>> windows.start, [windows.scope(t) for t in (10, 12, 13)]
(9, [(9, 10), (9, 12), (12, 13)])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from sash.errors import ArgumentError, Unsupported


class Axis(StrEnum):
    """What sizes and slides count: units of application time, or events."""

    TIME = "time"
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Origin:
    """t0 (or i0) as a function of (ts1, ω, β), with the formula that people read.

    For count windows ts1 is the number of the first event, which is 1. An origin without a function is one
    that is not known.

    >>> Origin("ts1 − β", lambda ts1, size, slide: ts1 - slide)(10, 5, 2)
    8
    """

    formula: str
    function: Callable[[int, int, int], int] | None = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.formula, str) or not self.formula:
            raise ArgumentError(
                "formula", self.formula, "the formula of the origin as text, such as 'ts1 − ω'"
            )
        if self.function is not None and not callable(self.function):
            raise ArgumentError("function", self.function, "a function of (ts1, size, slide)")

    def __str__(self) -> str:
        return self.formula

    def __call__(self, first: int, size: int, slide: int) -> int:
        if self.function is None:
            raise Unsupported("scope", self.formula, "an origin with a function; this one is not known")
        start = self.function(first, size, slide)
        if not isinstance(start, int):
            raise ArgumentError(f"the origin {self.formula!r}", start, "a function that returns an int")
        return start


def _ceiling(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


# Named functions and not lambdas: a profile is pickled on its way to an executor. They are plain
# arithmetic, so that a column of first times gives a column of origins.
def _aligned_start(first: int, size: int, slide: int) -> int:
    return _ceiling(first - size, slide) * slide - 1


def _aligned_start_after_zero(first: int, size: int, slide: int) -> int:
    return _aligned_start((first + 1 + abs(first - 1)) // 2, size, slide)  # max(1, first)


def _aligned_end(first: int, size: int, slide: int) -> int:
    return _ceiling(first, slide) * slide - size


def _first_event(first: int, size: int, slide: int) -> int:
    return first - size


def _epoch(first: int, size: int, slide: int) -> int:
    return slide - size


def _before_epoch(first: int, size: int, slide: int) -> int:
    return slide - size - 1


def _first_hop(first: int, size: int, slide: int) -> int:
    ahead = first - size + slide
    return (ahead + abs(ahead)) // 2 // slide * slide - 1  # max(0, ahead), which columns know too


def _zero(first: int, size: int, slide: int) -> int:
    return 0


def _one_size_before_zero(first: int, size: int, slide: int) -> int:
    return -size


ALIGNED_START = Origin("⌈(ts1 − ω)/β⌉·β − 1", _aligned_start)
ALIGNED_START_AFTER_ZERO = Origin("⌈(max(1, ts1) − ω)/β⌉·β − 1", _aligned_start_after_zero)
ALIGNED_END = Origin("⌈ts1/β⌉·β − ω", _aligned_end)
FIRST_EVENT = Origin("ts1 − ω", _first_event)
EPOCH = Origin("β − ω", _epoch)
BEFORE_EPOCH = Origin("β − ω − 1", _before_epoch)
FIRST_HOP = Origin("⌊max(0, ts1 − ω + β)/β⌋·β − 1", _first_hop)
ZERO = Origin("0", _zero)
ONE_SIZE_BEFORE_ZERO = Origin("−ω", _one_size_before_zero)
UNKNOWN = Origin("unknown", None)

ORIGINS = (
    ALIGNED_START,
    ALIGNED_START_AFTER_ZERO,
    ALIGNED_END,
    FIRST_EVENT,
    EPOCH,
    BEFORE_EPOCH,
    FIRST_HOP,
    ZERO,
    ONE_SIZE_BEFORE_ZERO,
)
"""Every origin that is known of some engine: the candidates when one is to be inferred."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The origins of an engine's time windows (t0) and count windows (i0); None: it has no such windows.

    >>> print(Scope(time=BEFORE_EPOCH, count=EPOCH))
    t0 = β − ω − 1, i0 = β − ω
    """

    time: Origin | None = None
    count: Origin | None = None

    def __post_init__(self) -> None:
        for argument, origin in (("time", self.time), ("count", self.count)):
            if origin is not None and not isinstance(origin, Origin):
                raise ArgumentError(argument, origin, "an Origin, or None when there are no such windows")
        if self.time is None and self.count is None:
            raise ArgumentError("time and count", None, "an Origin, at least one of them")

    def __str__(self) -> str:
        t0 = f"t0 = {self.time}" if self.time else "no time windows"
        i0 = f"i0 = {self.count}" if self.count else "no count windows"
        return f"{t0}, {i0}"

    def origin(self, kind: Axis) -> Origin | None:
        return self.time if kind is Axis.TIME else self.count


@dataclass(frozen=True, slots=True)
class ScopeWindows:
    """The windows (start + n·β, start + n·β + ω], n ≥ 0, of one query on one input."""

    start: int
    size: int
    slide: int

    def scope(self, t: int) -> tuple[int, int]:
        """(start + n·β, t] with n = max(0, ⌈(t − start − ω)/β⌉); the first number is outside.

        With gaps (β > ω) the next window may not have begun: then nothing lies in the scope.

        >>> ScopeWindows(0, 2, 5).scope(2), ScopeWindows(0, 2, 5).scope(3)
        ((0, 2), (5, 3))
        """
        n = max(0, _ceiling(t - self.start - self.size, self.slide))
        return self.start + n * self.slide, t

    def ends_at(self, t: int) -> bool:
        """Whether the scope at t is a whole window: its length is ω."""
        lower, upper = self.scope(t)
        return upper - lower == self.size

    def next_end(self, t: int) -> int:
        """The least end of a window that is at least t: start + ω + max(0, ⌈(t − start − ω)/β⌉)·β.

        >>> ScopeWindows(0, 3, 2).next_end(4)
        5
        """
        lower, _ = self.scope(t)
        return lower + self.size

    def leaves_at(self, position: int) -> int:
        """The least t whose scope begins at or after `position`, so that it no longer holds it.

        n(t) ≥ m  ⟺  t > start + ω + (m − 1)·β, with m = ⌈(position − start)/β⌉; position > start.

        >>> windows = ScopeWindows(25, 5, 1)
        >>> windows.leaves_at(30), windows.scope(34), windows.scope(35)
        (35, (29, 34), (30, 35))
        """
        m = _ceiling(position - self.start, self.slide)
        return self.start + self.size + (m - 1) * self.slide + 1
