"""Events that wait, as an arena keeps them between two batches: a log.

    schema · record batch · record batch · …        an Arrow stream without its end

A batch appends the events that it brought and that still wait. What becomes final later is not taken out:
final is what was there at the last turn and is before a time, which whoever reads the log knows. So a batch
writes what it brings, however much waits, also while the watermark stands still. The log is written again
when more than half of it is dead, or when it has doubled in many small pieces.
"""

from __future__ import annotations

import zlib

import numpy as np
import pyarrow as pa

from sash.arrays import Bytes
from sash.errors import CorruptValue
from sash.operators.arena import Arena, TableSpec
from sash.operators.engine.pending_events import Events

TABLE = "waiting"
BYTES, ROWS, PIECES, WRITTEN, SINCE, CHECKSUM = *range(7, 12), 255
"""In the arena's numbers: bytes, rows and pieces of the log; rows when it was last written as a whole; the
number of arrival from which on events are not in it; and the checksum of its bytes."""
LEAST = 1024
"""So many dead rows are not worth a writing."""
MANY = 256
"""So many pieces are read as fast as one."""


def tables() -> dict[str, TableSpec]:
    """The tables of the arena that are needed."""
    return {TABLE: TableSpec(1, "uint8")}


def keep(arena: Arena, pending: Events | None, *, arrived: int, rewrite: bool = False) -> None:
    """Bring the log up to date; `arrived` is more than all numbers of arrival. `rewrite` if events that are
    in it have changed."""
    if pending is None:
        return
    numbers = arena.numbers
    new = pending.where(pending.sequence >= numbers[SINCE])
    rows = numbers[ROWS] + len(new)
    dead = rows > 2 * len(pending) + LEAST
    scattered = numbers[PIECES] >= MANY and rows >= 2 * numbers[WRITTEN]
    if rewrite or dead or scattered or not numbers[BYTES]:
        new, rows = pending, len(pending)
        numbers[BYTES], numbers[PIECES], numbers[WRITTEN], numbers[CHECKSUM] = 0, 0, rows, 0
        _append(arena, pending.table().schema.serialize())
    for batch in new.table().combine_chunks().to_batches():
        _append(arena, batch.serialize())
        numbers[PIECES] += 1
    numbers[ROWS], numbers[SINCE] = rows, arrived


def kept(arena: Arena) -> Events | None:
    """All events of the log, also those that are final; None if none has ever come. CorruptValue if it is
    damaged."""
    used = int(arena.numbers[BYTES])
    if not used:
        return None
    # A copy: the table is the arena's, and changes.
    log = pa.py_buffer(arena.bytes_of(TABLE)[:used].tobytes())
    if zlib.crc32(log) != arena.numbers[CHECKSUM]:
        raise CorruptValue("the log of events that wait is damaged: its checksum does not match")
    with pa.ipc.open_stream(log) as stream:
        return Events.of_table(stream.read_all().combine_chunks())


def _append(arena: Arena, data: pa.Buffer) -> None:
    used, size = int(arena.numbers[BYTES]), len(data)
    arena.reserve(TABLE, used + size)
    view: Bytes = np.frombuffer(data, np.uint8)
    arena.bytes_of(TABLE)[used : used + size] = view
    arena.numbers[BYTES] += size
    arena.numbers[CHECKSUM] = zlib.crc32(data, int(arena.numbers[CHECKSUM]))
