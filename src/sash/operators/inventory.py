"""What a saved operator holds, read without its query: for people who look into a checkpoint.

    header   which kind of operator it is, how far time has come; of one that holds events, its keys
    chunks   rows: events, panes with their keys, tuples, or rows of the two sides of a join

Chunks of panes are record batches whose schema is the query's. What stands first in them, the keys, can be
read with no more than the types of the keys; the rest is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sash.aggregation.stores.values import unseal
from sash.errors import CorruptValue
from sash.operators.arrow_streams import table_of
from sash.operators.joins import operator as join
from sash.operators.stateful import streaming as tuples
from sash.operators.streaming import paned, past, saving
from sash.operators.times import FARTHEST

Chunk = tuple[int, bytes]


@dataclass(frozen=True)
class Inventory:
    """The operator of one bucket."""

    holds: str
    """What its rows are: events, panes, tuples, or rows of both sides."""
    watermark: int | None
    """In the query's unit; None before there is one."""
    keys: int | None
    """None where they are not written down."""
    rows: int
    chunks: int
    bytes: int
    """Of header and chunks."""


@dataclass(frozen=True)
class _Form:
    """How one kind of operator is saved."""

    holds: str
    header: bytes
    chunk_name: Callable[[int], bytes]
    read: Callable[[memoryview, pa.Schema | None], pa.Table]


def _stream(payload: memoryview, keys: pa.Schema | None) -> pa.Table:
    return table_of(payload)


def _batch(payload: memoryview, keys: pa.Schema | None) -> pa.Table:
    """The columns that stand first, as many as there are types for; none of them, but its length."""
    batch = pa.ipc.read_record_batch(pa.py_buffer(payload), pa.schema([]) if keys is None else keys)
    return pa.table({"row": pa.nulls(batch.num_rows)}) if keys is None else pa.Table.from_batches([batch])


_FORMS = (
    _Form("events", saving.HEADER, saving.chunk_name, _stream),
    _Form("panes", paned.HEADER, past.chunk_name, _batch),
    _Form("rows of both sides", join.HEADER, join.chunk_name, lambda payload, keys: _batch(payload, None)),
    _Form("tuples", tuples.HEADER, tuples.chunk_name, _stream),
)


def inventory(header: bytes, chunks: Iterable[Chunk], *, keys: pa.Schema | None = None) -> Inventory:
    """What is in these bytes; CorruptValue when a bit of them is not in its place.

    keys: the columns that make the key, where their types are known.
    """
    form, payload = _opened(header)
    facts, slots = _facts(form, payload)
    counted, size, rows = 0, len(header), 0
    found: pa.Table | None = None
    for number, data in chunks:
        table = form.read(unseal(form.chunk_name(number), data), keys)
        counted, size, rows = counted + 1, size + len(data), rows + table.num_rows
        if form.holds == "panes" and keys is not None and keys.names:
            # Distinct at once: a key stands in many chunks, and only one chunk is in memory at a time.
            seen = table if found is None else pa.concat_tables([found, table])
            found = seen.group_by(keys.names).aggregate([])
    known = slots if found is None else found.num_rows
    return Inventory(form.holds, _watermark(facts), known, rows, counted, size)


def _opened(header: bytes) -> tuple[_Form, memoryview]:
    """A header opens under the name of its own kind only."""
    for form in _FORMS:
        try:
            return form, unseal(form.header, header)
        except CorruptValue as error:
            refusal = error
    raise CorruptValue(f"the header of an operator cannot be read: {refusal}") from refusal


def _facts(form: _Form, payload: memoryview) -> tuple[dict[str, Any], int | None]:
    """What the header says, and how many keys it has a slot for."""
    if form.header != saving.HEADER:
        return json.loads(bytes(payload)), None
    facts, slots, *_ = saving.parts_of(payload)
    return json.loads(facts), table_of(slots).num_rows


def _watermark(facts: dict[str, Any]) -> int | None:
    told = facts.get("watermark")
    return None if told is None or told <= -FARTHEST else int(told)
