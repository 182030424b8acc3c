"""The hot part of a buffer as bytes: positions, readers, the tail of each storey, what is still to delete.

    settings · head · last time · readers · for each storey its numbers, garbage and tail chunk;  all sealed

It is as large as one chunk per storey, so O(log n). Everything else is in the store, under keys that the
numbers in here lead to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sash.aggregation.buffer import records
from sash.aggregation.buffer.readers import Reader
from sash.aggregation.buffer.tower import Place
from sash.aggregation.stores.protocol import Payload
from sash.aggregation.stores.values import pack, seal, unpack, unseal
from sash.errors import ArgumentError

if TYPE_CHECKING:
    from sash.aggregation.buffer.window import WindowBuffer

TAG = b"hot1"
KEY = b"snapshot of a window buffer"
"""What the bytes are sealed for: they have no key of their own."""


def snapshot(buffer: WindowBuffer) -> bytes:
    buffer.tower.flush()
    readers = list(buffer.readers.values())
    names = [reader.name.encode() for reader in readers]
    time = [] if buffer.last_time is None else [buffer.last_time]
    arrays: list[Any] = [
        _ints(_settings(buffer)),
        _ints([buffer.head, *buffer.head_place]),
        _ints(time),
        _ints([number for reader in readers for number in (reader.position, *reader.place)]),
        _ints([len(name) for name in names]),
        np.frombuffer(b"".join(names), np.uint8),
    ]
    for storey in buffer.tower.storeys:
        arrays.append(_ints([storey.tail_number, storey.freed, storey.written]))
        arrays.append(_ints([bound for garbage in storey.garbage for bound in garbage]))
        arrays.append(np.frombuffer(records.encode(buffer.folding, storey.tail), np.uint8))
    return seal(KEY, pack(TAG, arrays))


def restore(buffer: WindowBuffer, snapshot: Payload) -> None:
    arrays = unpack(KEY, TAG, unseal(KEY, snapshot))
    settings, head, time, readers, lengths, names = (array.tolist() for array in arrays[:6])
    if settings != _settings(buffer):
        raise ArgumentError(
            "snapshot",
            f"one of a buffer with chunk, fanout, pane, timed = {settings}",
            f"of a buffer built as this one is, with {_settings(buffer)}",
        )
    buffer.head, buffer.head_place = head[0], Place(*head[1:])
    buffer.last_time = time[0] if time else None
    buffer.readers = {}
    text, at = bytes(names), 0
    for i, length in enumerate(lengths):
        name = text[at : at + length].decode()
        position, *place = readers[3 * i : 3 * i + 3]
        buffer.readers[name] = Reader(buffer, name, position, Place(*place))
        at += length
    buffer.tower.storeys.clear()
    for numbers, garbage, tail in zip(arrays[6::3], arrays[7::3], arrays[8::3], strict=True):
        chunk = records.decode(buffer.folding, KEY, tail.tobytes())
        storey = buffer.tower.add_storey(records.growing(chunk))
        storey.tail_number, storey.freed, storey.written = numbers.tolist()
        bounds = garbage.tolist()
        storey.garbage = list(zip(bounds[::2], bounds[1::2], strict=True))


def _settings(buffer: WindowBuffer) -> list[int]:
    return [buffer.chunk, buffer.fanout, buffer.pane or 0, int(buffer.timed)]


def _ints(numbers: list[int]) -> Any:
    return np.array(numbers, np.int64)
