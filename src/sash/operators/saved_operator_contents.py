"""What a saved operator holds, read without its query: for people who look into a checkpoint.

header   which kind of operator it is, how far time has come; of windows, how many keys there are
chunks   entries of a journal and parts of a snapshot; tuples and windows; or rows of both sides of a join
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sash.aggregation.stores.values import reading, unseal
from sash.errors import CorruptValue
from sash.operators.columns.table_bytes import batch_of, table_of
from sash.operators.columns.times import FARTHEST
from sash.operators.engine import pane_operator as pane_level
from sash.operators.engine.saving import journal_entries as entries, operator_journal as journal
from sash.operators.joins import two_sided as join
from sash.operators.joins.state import row_chunks
from sash.operators.stateful import streaming as tuples

NumberedBytes = tuple[int, bytes]
JOURNAL_ROWS = "rows of the journal"
NOTES = {
    JOURNAL_ROWS: "input of earlier batches, also of windows that have closed; the next snapshot drops that"
}
"""What the rows of an operator are, where their name does not tell how many to expect."""


@dataclass(frozen=True)
class Inventory:
    """The operator of one bucket."""

    holds: str
    """What its rows are: those of a journal, tuples and windows, or rows of both sides."""
    watermark: int | None
    """In the query's unit; None before there is one."""
    keys: int | None
    """None where they are not written down."""
    rows: int
    chunks: int
    bytes: int
    """Of header and chunks."""
    missing: int = 0
    """Chunks that the header names and that are not there."""
    orphaned: int = 0
    """Chunks that are there and that the header does not name."""


@dataclass(frozen=True)
class _Format:
    """How one kind of operator is saved."""

    holds: str
    header: bytes
    chunk_name: Callable[[int], bytes]
    rows: Callable[[memoryview], int]
    """How many rows a chunk holds."""
    chunks: Callable[[bytes], frozenset[int] | None] = lambda _: None
    """The chunks that a header names; None where it does not name them."""


def _stream(payload: memoryview) -> int:
    return int(table_of(payload).num_rows)


def _batch(payload: memoryview) -> int:
    return int(batch_of(payload, pa.schema([])).num_rows)


_FORMS = (
    _Format(JOURNAL_ROWS, journal.HEADER, entries.chunk_name, entries.rows_in, journal.chunks_of),
    _Format("rows of both sides", join.HEADER, row_chunks.chunk_name, _batch),
    _Format("tuples and windows", tuples.HEADER, tuples.chunk_name, _stream, tuples.chunks_of),
    _Format("no rows: panes leave with their batch", pane_level.HEADER, entries.chunk_name, _stream),
)


def inventory(header: bytes, chunks: Iterable[NumberedBytes]) -> Inventory:
    """What is in these bytes; CorruptValue when a bit of them is not in its place."""
    form, payload = _opened(header)
    numbers, size, rows = set[int](), len(header), 0
    with reading("the state of an operator"):
        facts = json.loads(bytes(payload))
        for number, data in chunks:
            numbers.add(number)
            size += len(data)
            rows += form.rows(unseal(form.chunk_name(number), data))
        named = form.chunks(header)
        lost, extra = (0, 0) if named is None else (len(named - numbers), len(numbers - named))
        return Inventory(
            form.holds, _watermark(facts), facts.get("keys"), rows, len(numbers), size, lost, extra
        )


def _opened(header: bytes) -> tuple[_Format, memoryview]:
    """A header opens under the name of its own kind only."""
    for form in _FORMS:
        try:
            return form, unseal(form.header, header)
        except CorruptValue as error:
            refusal = error
    raise CorruptValue(f"the header of an operator cannot be read: {refusal}") from refusal


def _watermark(facts: dict[str, Any]) -> int | None:
    watermark = facts.get("watermark")
    return None if watermark is None or watermark <= -FARTHEST else int(watermark)
