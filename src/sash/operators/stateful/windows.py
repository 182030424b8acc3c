"""What the functions of an operator see: a tuple that arrives, and the windows of one key.

A *window set* holds one window for each input, all with the same key and the same bounds [start, end).
`windows[i]` is the state of the window of input i: by default a list of the tuples that fell into it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from sash.aggregation import encoding
from sash.semantics.event import Row


@dataclass(frozen=True, slots=True)
class InputEvent:
    """An event of one of the inputs. Its ordinal counts the tuples of all inputs in their common order; on
    Spark, those of them that have come to the bucket."""

    time: int
    input: int
    ordinal: int
    row: Row


def _row(values: Any) -> Row:
    if not isinstance(values, dict):
        raise TypeError(f"a row has columns, not {values!r}")
    return Row(values)


def _arrival(time: Any, number: Any, ordinal: Any, row: Any) -> InputEvent:
    if [type(part) for part in (time, number, ordinal, row)] != [int, int, int, Row]:
        raise TypeError(
            f"a tuple has a time, an input, an ordinal and a row, not {(time, number, ordinal)}"
        )
    return InputEvent(time, number, ordinal, row)


# States are saved as plain values, and tuples are what most of them hold.
encoding.register(b"R", Row, lambda row: (dict(row),), _row)
encoding.register(b"A", InputEvent, lambda it: (it.time, it.input, it.ordinal, it.row), _arrival)


@dataclass(slots=True)
class WindowSet:
    """The windows ⟨w₁ … w_I⟩ of one key over [start, end): their states, by number of the input."""

    key: Hashable
    start: int
    end: int
    states: list[Any]

    def __getitem__(self, number: int) -> Any:
        return self.states[number]

    def __setitem__(self, number: int, state: Any) -> None:
        self.states[number] = state

    def __len__(self) -> int:
        return len(self.states)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.states)

    @property
    def empty(self) -> bool:
        """Whether no state holds anything: then the key can be forgotten."""
        return not any(len(state) if hasattr(state, "__len__") else state for state in self.states)


def store(windows: WindowSet, arrival: InputEvent) -> None:
    """The default of f_U: keep the tuple, emit nothing."""
    windows[arrival.input].append(arrival)


def nothing(windows: WindowSet) -> None:
    """The default of f_O: emit nothing."""


def purge(windows: WindowSet) -> None:
    """The default of f_S: drop the tuples that are older than the window's new start."""
    for number, state in enumerate(windows):
        windows[number] = [arrival for arrival in state if arrival.time >= windows.start]
