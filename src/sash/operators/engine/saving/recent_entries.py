"""A copy of the newest entries of the journal, in the arena: those that will be put together to a run.

The store has them too. But a process that did not write them would have to read them back only to write
them again, and the arena is at hand. The copy is of just these entries while as many have been kept as the
head counts: whoever changes the journal without the arena (`forget`) or leaves a long entry out makes the
two numbers differ until the next run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.operators.arena import Arena, TableSpec
from sash.operators.engine.saving.journal_entries import PART, joined, parts_of

TABLE = "entries"
BYTES, COUNT, ROWS = 13, 14, 15
"""In the arena's numbers: of the copy."""


def tables() -> dict[str, TableSpec]:
    """The tables of the arena that are needed."""
    return {TABLE: TableSpec(1, "uint8")}


def keep(arena: Arena, packed: bytes, rows: int) -> None:
    """One more entry was written."""
    if arena.is_anonymous or len(packed) > PART:
        return
    arena.begin()
    data, used = np.frombuffer(joined([packed]), np.uint8), int(arena.numbers[BYTES])
    arena.reserve(TABLE, used + len(data))
    arena.bytes_of(TABLE)[used : used + len(data)] = data
    arena.numbers[[BYTES, COUNT, ROWS]] += len(data), 1, rows


def forget(arena: Arena) -> None:
    """What is kept are not the newest entries any more."""
    if arena.numbers[COUNT]:
        arena.begin()
        arena.numbers[[BYTES, COUNT, ROWS]] = 0


def kept(arena: Arena, count: int) -> tuple[list[Any], int] | None:
    """The newest entries and their rows, if the copy has so many."""
    if arena.is_anonymous or arena.numbers[COUNT] != count:
        return None
    return list(parts_of(arena.bytes_of(TABLE)[: arena.numbers[BYTES]])), int(arena.numbers[ROWS])
