"""A copy of the newest entries of the journal, in the arena: those that will be put together to a run.

The store has them too. But a process that did not write them would have to read them back only to write
them again, and the arena is at hand. The copy is of just these entries while as many have been kept as the
head counts: whoever changes the journal without the arena (`forget`) or leaves an entry out makes the two
numbers differ until the next run. Each is sealed, because it becomes a part of the journal: where a
checksum does not match, the entries are read from the store.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregation.stores.values import seal, unseal
from sash.errors import CorruptValue
from sash.operators.arena import Arena, TableSpec
from sash.operators.engine.saving.journal_entries import split_by_lengths, with_lengths

TABLE = "entries"
BYTES, COUNT, ROWS = 13, 14, 15
"""In the arena's numbers: of the copy."""
MOST = 1 << 26
"""Bytes of a copy: entries that are longer together are not put together."""
_NAME = b"recent entry"


def tables() -> dict[str, TableSpec]:
    """The tables of the arena that are needed."""
    return {TABLE: TableSpec(1, "uint8")}


def keep(arena: Arena, packed: bytes, rows: int) -> None:
    """One more entry was written."""
    used = int(arena.numbers[BYTES])
    if arena.is_anonymous or used + len(packed) > MOST:
        return
    arena.begin()
    data = np.frombuffer(with_lengths([seal(_NAME, packed)]), np.uint8)
    arena.reserve(TABLE, used + len(data))
    arena.bytes_of(TABLE)[used : used + len(data)] = data
    arena.numbers[[BYTES, COUNT, ROWS]] += len(data), 1, rows


def forget(arena: Arena) -> None:
    """What is kept are not the newest entries any more."""
    if arena.numbers[COUNT]:
        arena.begin()
        arena.numbers[[BYTES, COUNT, ROWS]] = 0


def kept(arena: Arena, count: int) -> tuple[list[Any], int] | None:
    """The newest entries and their rows, if the copy has so many and is undamaged."""
    if arena.is_anonymous or arena.numbers[COUNT] != count:
        return None
    try:
        sealed = split_by_lengths(arena.bytes_of(TABLE)[: arena.numbers[BYTES]])
        entries = [unseal(_NAME, each) for each in sealed]
    except CorruptValue:
        return None
    return (entries, int(arena.numbers[ROWS])) if len(entries) == count else None
