"""The protocol of every sliding-window algorithm, and the checks that all of them share.

    window   =  e₁ e₂ … eₙ, oldest first
    fold()   =  e₁ ⊕ e₂ ⊕ … ⊕ eₙ                 (the monoid's identity when there is nothing to fold)
    query()  =  lower(fold())                    (the monoid's `nothing` when there is nothing to fold)

`insert` lifts one event and adds it, `evict` takes the oldest away, `bulk_evict` the n oldest or all that
are older than `until`. Eviction is half open like every window here: `bulk_evict(until=t)` removes the
elements with time < t, so what stays is the window that starts at t.

**Times.** Either every insertion gives a time (anything totally ordered) or none does; then an element's
time is its position in the order of insertion, from 0. Equal times keep the order of insertion.

**Nulls.** An event with a null among its values holds its place (it counts in `len`, it can be evicted)
and adds nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from sash.aggregation.algorithms.monoids_side_by_side import Tracked
from sash.aggregation.elements import ABSENT, Element, null_aware_combine
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError

Time = Any
"""Anything totally ordered: integers (microseconds), floats, datetimes."""


class Algorithm(ABC):
    """A window of elements and their fold. Subclasses define how; this class defines what, and checks."""

    def __init__(self, monoid: Monoid) -> None:
        self.monoid = monoid
        self._join = null_aware_combine(monoid.combine)
        self._arrived = 0
        self._timed: bool | None = None

    # What an algorithm provides.

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def _insert_one(self, element: Element, time: Time) -> None: ...

    @abstractmethod
    def _evict(self, count: int) -> None:
        """Take the `count` oldest away; 1 ≤ count ≤ len."""

    @abstractmethod
    def _older_than(self, until: Time) -> int:
        """How many elements have time < until."""

    @abstractmethod
    def _fold(self) -> Element:
        """The fold of the window, or `ABSENT`."""

    @abstractmethod
    def _held_times(self) -> Sequence[Time]:
        """The times of the elements, oldest first; not called for a window without times."""

    def _insert_batch(self, elements: Any, times: Sequence[Time]) -> None:
        for element, time in zip(elements, times, strict=True):
            self._insert_one(element, time)

    def _evict_older(self, until: Time) -> int:
        count = self._older_than(until)
        if count:
            self._evict(count)
        return count

    def _lift_batch(self, columns: Sequence[Any], count: int) -> Any:
        """The elements of `count` events, in the form that `_insert_batch` takes."""
        return [self._lift(row) for row in (zip(*columns, strict=True) if columns else [()] * count)]

    def _as_elements(self, elements: Any) -> Any:
        """A batch of elements in that form."""
        return as_list(elements)

    def _as_column(self, column: Any) -> Any:
        return as_list(column)

    def _as_times(self, times: Any) -> Any:
        return as_list(times)

    # What a caller uses.

    @final
    def insert(self, *values: Any, time: Time | None = None) -> None:
        """Lift one event, given as one value for each of the monoid's columns, and add it."""
        self.insert_element(self._lift(values), time=time)

    @final
    def insert_element(self, element: Element, *, time: Time | None = None) -> None:
        """Add an element that is lifted already: a partial fold, such as a pane."""
        self._insert_one(element, self._stamp(time))
        self._arrived += 1

    @final
    def insert_many(self, *columns: Any, times: Any | None = None) -> None:
        """Lift and add a batch of events: one array or sequence for each of the monoid's columns.

        All or nothing: a batch that is refused leaves the window as it was.
        """
        stamps = None if times is None else self._as_times(times)
        ready = [self._as_column(column) for column in columns]
        if len({len(column) for column in ready}) > 1:
            raise ArgumentError("columns", [len(column) for column in ready], "arrays of one length")
        if not ready and stamps is None:
            raise ArgumentError("columns", (), f"one array for each of {self.monoid.columns}, or times")
        count = len(ready[0] if ready else stamps)  # type: ignore[arg-type]
        self._insert_all(self._lift_batch(ready, count), stamps)

    @final
    def insert_elements(self, elements: Any, *, times: Any | None = None) -> None:
        """Add a batch of lifted elements: a sequence, or an array when elements are scalars."""
        self._insert_all(self._as_elements(elements), None if times is None else self._as_times(times))

    @final
    def evict(self) -> None:
        """Take the oldest element away."""
        if not len(self):
            raise ArgumentError(
                "n", 1, "at most 0: the window is empty", hint="Check len() before evict()."
            )
        self._evict(1)

    # `n` may be given by position although it has a default: bulk_evict(3) is how everybody writes it.
    @final
    def bulk_evict(self, n: int | None = None, *, until: Time | None = None) -> int:
        """Take away the n oldest, or all with time < until; give back how many that were."""
        if (n is None) == (until is None):
            raise ArgumentError("n", n, "given, or else until (one of the two)")
        if n is None:
            return self._evict_older(until) if len(self) else 0
        if n < 0:
            raise ArgumentError("n", n, "at least 0")
        if n > len(self):
            raise ArgumentError("n", n, f"at most {len(self)}, the number of elements in the window")
        if n:
            self._evict(n)
        return n

    @final
    def fold(self) -> Element:
        """The raw element that the window folds to."""
        folded = self._fold()
        return self.monoid.identity() if folded is ABSENT else folded

    @final
    def query(self) -> Any:
        """The value of the window."""
        folded = self._fold()
        return self.monoid.nothing if folded is ABSENT else self.monoid.lower(folded)

    @final
    def take_over(self, nulls: Algorithm) -> None:
        """Begin where a window that holds nothing but nulls ends."""
        self._arrived, self._timed = nulls._arrived, nulls._timed
        if len(nulls):
            positions = range(nulls._arrived - len(nulls), nulls._arrived)
            times = self._as_times(nulls._held_times()) if nulls._timed else positions
            self._insert_batch(self._as_elements([ABSENT] * len(nulls)), times)
        self._continue(nulls)

    def _continue(self, nulls: Algorithm) -> None:  # noqa: B027
        """Take over what is remembered beyond the elements: nothing, unless a subclass has more."""

    # Checks.

    def _insert_all(self, elements: Any, stamps: Any | None) -> None:
        count = len(elements)
        if stamps is not None:
            if len(stamps) != count:
                raise ArgumentError("times", f"{len(stamps)} of them", f"as many as elements, {count}")
            self._require_no_nan(stamps)
        if not count:
            return
        self._require_mode(stamps is not None, None if stamps is None else f"{count} times")
        positions = range(self._arrived, self._arrived + count)
        self._insert_batch(elements, positions if stamps is None else stamps)
        self._timed = stamps is not None
        self._arrived += count

    def _lift(self, values: tuple[Any, ...]) -> Element:
        if len(values) != len(self.monoid.columns):
            expected = (
                f"one value for each of the columns {list(self.monoid.columns)} of {self.monoid.name}"
            )
            raise ArgumentError("values", values, expected)
        self.monoid.require_no_condition(type(self).__name__)
        if any(value is None for value in values) and not isinstance(self.monoid, Tracked):
            return ABSENT
        return self.monoid.lift(*values)

    def _stamp(self, time: Time | None) -> Time:
        self._require_mode(time is not None, time)
        if time is None:
            self._timed = False
            return self._arrived
        if time != time:
            raise ArgumentError("time", time, "a time that can be ordered")
        self._timed = True
        return time

    def _require_no_nan(self, times: Any) -> None:
        unordered = times != times if isinstance(times, np.ndarray) else [time != time for time in times]
        if np.any(unordered):
            raise ArgumentError("times", "a NaN among them", "times that can be ordered")

    def _require_mode(self, timed: bool, given: Any) -> None:
        if self._timed is not None and self._timed is not timed:
            before = "with times" if self._timed else "without times"
            hint = f"The elements before this one were inserted {before}."
            raise ArgumentError("time", given, "given for every element or for none", hint=hint)


def is_numeric(values: Any) -> bool:
    """Whether this is a one-dimensional array of numbers or bools."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "iufb" and values.ndim == 1


def as_list(column: Any) -> list[Any]:
    """Python's own values: `tolist` and its cousins also turn numpy's wrapping integers into exact ones."""
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(column, method):
            converted: list[Any] = getattr(column, method)()
            return converted
    return list(column)
