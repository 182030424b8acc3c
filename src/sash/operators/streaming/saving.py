"""An operator as bytes: a header that is rewritten, and chunks of events that are written once.

    header  =  seal( length of the facts · facts as JSON · Arrow streams: keys, slots, told, ledgers … )
    chunk   =  seal( Arrow stream of the rows of one batch, with their times and their order of arrival )

A chunk does not say which of its events are still needed: the header does, with the first event that is
held of each slot. Everything is sealed (version, checksum, the name it is kept under); nothing is pickled.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.stores.values import seal, unseal
from sash.errors import CorruptValue
from sash.operators.arrow_streams import bytes_of, table_of
from sash.operators.ranges import NEVER
from sash.operators.streaming.held import Held
from sash.operators.streaming.ledger import Ledger
from sash.semantics.event import Order

if TYPE_CHECKING:
    from sash.operators.streaming.operator import WindowOperator

Ints = NDArray[np.int64]

HEADER = b"header"
LAYOUT = 1
"""Goes up with every change of what a header or a chunk holds."""
TIME, SEQUENCE = "__time", "__sequence"
_LENGTH = struct.Struct("<Q")


def chunk(number: int, events: Held) -> bytes:
    """The events of one batch."""
    timed = events.rows.append_column(TIME, pa.array(events.time))
    table = timed.append_column(SEQUENCE, pa.array(events.sequence))
    return seal(chunk_name(number), bytes_of(table, compressed=True))


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"chunk %d" % number


def header(operator: WindowOperator) -> bytes:
    """Everything but the events."""
    facts = {
        "layout": LAYOUT,
        "watermark": operator.clock.value,
        "horizon": operator.clock.horizon,
        "settled": operator.settled,
        "arrived": operator.arrived,
        "chunks": operator.chunks,
        "live": sorted(operator.saved_chunks),
        "columns": operator.bound.columns if operator.held is None else operator.held.rows.column_names,
    }
    tables = [_slots(operator), _told(operator.held), *(_columns(ledger) for ledger in operator.ledgers)]
    if operator.keyring.table is not None:
        tables.append(operator.keyring.table)
    parts = [json.dumps(facts).encode(), *(bytes_of(table, compressed=True) for table in tables)]
    return seal(HEADER, b"".join(_LENGTH.pack(len(part)) + part for part in parts))


def restore(operator: WindowOperator, data: bytes, chunks: Mapping[int, bytes]) -> None:
    """Make a new operator what it was when `data` was saved."""
    facts_text, *streams = parts_of(unseal(HEADER, data))
    facts = json.loads(facts_text)
    if facts.get("layout") != LAYOUT:
        raise CorruptValue(
            f"the state was saved by another version of Sash, in layout {facts.get('layout')}; this one "
            f"reads layout {LAYOUT}: start the query anew, or go on with the version that saved it"
        )
    operator.clock.value, operator.clock.horizon = facts["watermark"], facts["horizon"]
    operator.settled, operator.arrived, operator.chunks = (
        facts["settled"],
        facts["arrived"],
        facts["chunks"],
    )
    operator.saved_chunks = frozenset(facts["live"])
    slots, told, *rest = (table_of(stream) for stream in streams)
    count = len(operator.ledgers)
    operator.ledgers = [
        Ledger(*(table[field.name].to_numpy() for field in fields(Ledger))) for table in rest[:count]
    ]
    if len(rest) == count:
        return
    operator.keyring.table = rest[count]
    for number, track in enumerate(operator.tracks):
        track.skipped = slots[f"{number} skipped"].to_numpy()
        for name in track.progress.remembered:
            track.progress.remembered[name] = slots[f"{number} {name}"].to_numpy().copy()
    found = ((number, chunks.get(number)) for number in facts["live"])
    live = {number: data for number, data in found if data is not None}
    missing = operator.saved_chunks - live.keys()
    if missing:
        raise CorruptValue(
            f"the state lacks the chunks {sorted(missing)} of {sorted(operator.saved_chunks)}"
        )
    schema = pa.schema([operator.bound.schema.field(name) for name in facts["columns"]])
    operator.held = _held(operator, schema, slots, told, live)


def _slots(operator: WindowOperator) -> pa.Table:
    """One row a slot: the first event that is held, and what each window remembers."""
    first_time, first_sequence = np.full(operator.slots, NEVER), np.full(operator.slots, NEVER)
    if operator.held is not None and len(operator.held):
        slots, first = np.unique(operator.held.slot, return_index=True)
        first_time[slots], first_sequence[slots] = operator.held.time[first], operator.held.sequence[first]
    columns: dict[str, Any] = {"first time": first_time, "first sequence": first_sequence}
    for number, track in enumerate(operator.tracks):
        columns[f"{number} skipped"] = track.skipped
        columns |= {f"{number} {name}": column for name, column in track.progress.remembered.items()}
    return pa.table(columns)


def _told(held: Held | None) -> pa.Table:
    """The events of which a window has said that it cannot place them."""
    marked = np.empty(0, np.int64) if held is None else np.flatnonzero(held.told)
    if held is None:
        return pa.table({"sequence": marked, "told": marked})
    return pa.table({"sequence": held.sequence[marked], "told": held.told[marked]})


def _held(
    operator: WindowOperator,
    schema: pa.Schema,
    slots: pa.Table,
    told: pa.Table,
    chunks: Mapping[int, bytes],
) -> Held:
    held = Held.nothing(schema)
    for number, data in chunks.items():
        table = table_of(unseal(chunk_name(number), data))
        slot = operator.keyring.find(table)
        time, sequence = table[TIME].to_numpy(), table[SEQUENCE].to_numpy()
        first_time = slots["first time"].to_numpy()[slot]
        first_sequence = slots["first sequence"].to_numpy()[slot]
        needed = sequence >= first_sequence
        if operator.bound.query.order is Order.EVENT_TIME:
            needed = (time > first_time) | ((time == first_time) & needed)
        own = np.full(len(slot), number)
        rows = table.select(list(schema.names))
        part = Held(rows, slot, time, sequence, own, np.zeros(len(slot), np.int64))
        held = held.plus(part.take(np.flatnonzero((slot >= 0) & needed)), operator.bound.query.order)
    marks = dict(zip(told["sequence"].to_pylist(), told["told"].to_pylist(), strict=True))
    for position in np.flatnonzero(np.isin(held.sequence, list(marks))):
        held.told[position] = marks[int(held.sequence[position])]
    return held


def _columns(ledger: Ledger) -> pa.Table:
    return pa.table({field.name: getattr(ledger, field.name) for field in fields(Ledger)})


def parts_of(payload: memoryview) -> list[bytes]:
    """The facts of a header as JSON, and its Arrow streams."""
    parts, at = [], 0
    while at < len(payload):
        (length,) = _LENGTH.unpack_from(payload, at)
        at += _LENGTH.size
        parts.append(bytes(payload[at : at + length]))
        at += length
    return parts
