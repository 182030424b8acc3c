"""Policy windows: a user's slide policy decides how far back the window reaches (AMTA paper).

    after every insertion, evict the longest prefix P with wsp(fold(window), fold(P)) true
    E(w) = what is left after insertion number (w + 1)·S,   w = 0, 1, 2, …

The policy sees two folds over its tracked monoids: of the whole window after the insertion (`total`), and
of a prefix from the head (`old`). True means 'at least this prefix leaves'. It must be monotone: true for
a prefix implies true for its shorter prefixes; then a scan from the head and a descent in a tree agree.
The policy may evict everything, the new event too: the window is empty then. An event with a null in a
tracked column cannot be weighed; it has no place and goes to the late output with that reason.

Keep the longest suffix whose sum is at most 10: [2, 2, 3, 3] and a 4 arrives → [3, 3, 4].

    sash.policy(lambda total, old: total.s - old.s + old.last > 10,
                track=dict(s=sash.sum("x"), last=sash.last("x")))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, ClassVar

from sash.errors import ArgumentError, PredicateError, Unsupported
from sash.semantics.event import Event, Order
from sash.semantics.monoid import MonoidLike, fold
from sash.semantics.predicate import require_callable, truth
from sash.semantics.time_format import TimeFormat
from sash.semantics.window import (
    BOTH_ORDERS,
    ContextAwareWindow,
    Extent,
    next_cut,
    positive_count,
    spanned,
)


@dataclass(frozen=True, slots=True, repr=False)
class PolicyWindow(ContextAwareWindow):
    """As far back as the policy allows, every S events."""

    wsp: Callable[[Any, Any], Any]
    track: Mapping[str, MonoidLike] = field(hash=False)
    slide: int

    orders: ClassVar[frozenset[Order]] = BOTH_ORDERS

    def __post_init__(self) -> None:
        require_callable(self.wsp, "wsp", "lambda total, old: total.n - old.n >= 100")
        if not isinstance(self.track, Mapping) or not self.track:
            raise ArgumentError("track", self.track, "a non-empty dict of names to aggregates")
        for name, monoid in self.track.items():
            if not isinstance(name, str) or not hasattr(monoid, "combine"):
                raise ArgumentError("track", {name: monoid}, "names of aggregates such as sash.sum('x')")
            if monoid.where is not None:
                raise Unsupported(
                    "track", {name: monoid}, "aggregates without where: each event is weighed"
                )
        positive_count(self.slide, "every")

    def __str__(self) -> str:
        return f"policy(every {self.slide})"

    @property
    def meaning(self) -> str:
        return f"as far back as the slide policy allows, every {self.slide:,} event{'s' * (self.slide > 1)}"

    @property
    def formula(self) -> str:
        return (
            f"after every insertion evict the longest prefix P with wsp(total, fold(P)); "
            f"E(w) = what is left after insertion (w + 1)·{self.slide}; tracks {', '.join(self.track)}"
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the policy weighs."""
        return tuple(dict.fromkeys(column for monoid in self.track.values() for column in monoid.columns))

    def place(self, events: Sequence[Event]) -> tuple[list[Event], list[tuple[Event, str]]]:
        placed: list[Event] = []
        displaced: list[tuple[Event, str]] = []
        for event in events:
            missing = [column for column in self.columns if event.row[column] is None]
            if missing:
                displaced.append((event, f"{missing[0]} is null"))
            else:
                placed.append(event)
        return placed, displaced

    def extents(
        self, events: Sequence[Event], *, horizon: int | None = None, empty: bool = False
    ) -> Iterator[Extent]:
        lo = 0
        for hi, event in enumerate(events, start=1):
            lo += self.evicted(events[lo:hi])
            w, rest = divmod(hi, self.slide)
            if rest == 0 and (lo < hi or empty):
                yield spanned(w - 1, events, lo, hi, closes_at=event.time)

    def absence(self, position: int, events: Sequence[Event], reading: TimeFormat) -> str:
        return next_cut(position, self.slide, len(events)) or (
            "the slide policy let it go before the next window was cut"
        )

    def evicted(self, window: Sequence[Event]) -> int:
        """How many events leave: a scan from the head, by definition."""
        total, leaving = self.weigh(window), 0
        while leaving < len(window) and self.evicts(total, self.weigh(window[: leaving + 1])):
            leaving += 1
        return leaving

    def weigh(self, events: Sequence[Event]) -> SimpleNamespace:
        """The tracked folds of some events, as the policy sees them."""
        rows = [event.values for event in events]
        return SimpleNamespace(**{name: fold(monoid, rows) for name, monoid in self.track.items()})

    def evicts(self, total: SimpleNamespace, old: SimpleNamespace) -> bool:
        """Whether the prefix that folds to `old` leaves a window that folds to `total`."""
        try:
            answer = self.wsp(total, old)
        except Exception as error:
            raise PredicateError(
                f"the slide policy raised {type(error).__name__}: {error}; called with {total=}, {old=}"
            ) from error
        if isinstance(answer, bool):  # nearly always: to prepare an error takes as long as a policy
            return answer
        return truth(answer, owner=str(self), about=(total, old))


def policy(
    wsp: Callable[[Any, Any], Any], *, track: Mapping[str, MonoidLike], every: int = 1
) -> PolicyWindow:
    """After each event, evict the oldest events while `wsp(total, old)` is true; emit every `every`
    events."""
    return PolicyWindow(wsp, track, every)
