"""Events, as the formulas see them.

An event has a key k, a time τ (an integer: microseconds for timestamps), an ordinal i (its position in
the arrival order of its key, from 0) and payload columns. *Event-time order* sorts by (τ, i); *arrival
order* sorts by i alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from sash.errors import UnknownColumn


class Order(Enum):
    """The order in which a query sees the events of a key."""

    EVENT_TIME = "event-time"
    ARRIVAL = "arrival"


class Row(Mapping[str, Any]):
    """The payload of an event, for users' predicates: `row.price` or `row["price"]`."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, column: str) -> Any:
        try:
            return self._values[column]
        except KeyError:
            raise UnknownColumn("column", column, self._values, use=f"row.{column}") from None

    def __getattr__(self, column: str) -> Any:
        if column.startswith("__"):
            raise AttributeError(column)
        return self[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Row({', '.join(f'{name}={value!r}' for name, value in self._values.items())})"


@dataclass(frozen=True, slots=True)
class Event:
    """One event of one key."""

    time: int
    ordinal: int = 0
    key: Hashable = None
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def row(self) -> Row:
        return Row(self.values)


def sequence(times: Iterable[int], *, key: Hashable = None, **columns: Iterable[Any]) -> list[Event]:
    """The events of one key, given in arrival order, one sequence a column: for examples and tests.

    >>> sequence([3, 5], x=[1.0, 2.0])[1]
    Event(time=5, ordinal=1, key=None, values={'x': 2.0})
    """
    stamps = list(times)
    rows = zip(*columns.values(), strict=True) if columns else [()] * len(stamps)
    return [
        Event(time, ordinal, key, dict(zip(columns, values, strict=True)))
        for ordinal, (time, values) in enumerate(zip(stamps, rows, strict=True))
    ]


def arrange(events: Iterable[Event], order: Order) -> list[Event]:
    """The events of one key in the order of the query."""
    if order is Order.ARRIVAL:
        return sorted(events, key=lambda event: event.ordinal)
    return sorted(events, key=lambda event: (event.time, event.ordinal))
