"""The whole state of an operator as tables, and back: what a journal starts from.

    names of the words · keys of live slots with their words · the elements of each lane
    · events that wait · reported windows

Nothing that can be computed from these is in it: no nodes, no index, no timers. Slots get new numbers,
so what is dead leaves no trace. When one is taken: `Journal.save` in `operator_journal.py`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.state.rings import BASE, COUNT, HEAD, LOG
from sash.aggregation.stores.values import reading
from sash.arrays import Array, Bytes, Ints
from sash.errors import CorruptValue
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.lanes.row_words import packed
from sash.operators.engine.lanes.running_lane import RunningLane
from sash.operators.engine.lanes.slots import CLOSES, EXPIRES, KEYS
from sash.operators.engine.pending_events import Events
from sash.operators.engine.reported_windows import ReportedWindows
from sash.operators.engine.saving.journal_entries import split_by_lengths, with_lengths
from sash.operators.engine.saving.snapshot_names import names_of, require_same
from sash.operators.windows.numbering import numbered
from sash.operators.windows.ranges import NEVER

if TYPE_CHECKING:
    from sash.operators.engine.state import OperatorState

SAMPLED = 2048
"""Keys whose words show how well all can be compressed, and eight times as many elements."""


def taken(operator: OperatorState) -> bytes:
    """The state as bytes."""
    slots, live = operator.slots, operator.slots.live()
    number = np.full(int(slots.arena.numbers[0]) + 1, -1)
    number[live] = np.arange(len(live))
    rows = slots.rows[live].copy()
    first = slots.first_key_word
    keys = packed(rows, first + np.flatnonzero(slots.codec.variable), slots.arena.bytes_of(KEYS))
    parts: list[Array] = []
    for group in operator.groups:
        lane = group.lane
        if isinstance(lane, RingLane):
            held = lane.held(live)
            which, at = numbered(held.count - held.head)
            words = lane.elements[held.positions(which, held.head[which] + at)]
            parts += [words, packed(words, lane.form.pointers, lane.heap.data)]
        else:
            parts.append(packed(rows, lane.pointers, lane.heap.data))
    pending = operator.pending
    tables = [words_table(rows), heap_table(keys)]
    tables += [words_table(part) if part.ndim == 2 else heap_table(part) for part in parts]
    streams = [bytes_of(table, compressed=True) for table in tables]
    streams += [bytes_of(_numbered(windows, number), compressed=True) for windows in operator.reported]
    if pending is not None:
        moved = Events(
            pending.rows, number[pending.slot], pending.time, pending.sequence, pending.displaced
        )
        streams.append(bytes_of(moved.table(), compressed=True))
    return with_lengths([json.dumps(names_of(operator.plan)).encode(), *streams])


def rows_held(operator: OperatorState) -> int:
    """How many rows a snapshot has: events or panes of the lane with most of them, and events that wait."""
    live, pending = operator.slots.live(), operator.pending
    rings = (group.lane.held(live) for group in operator.groups if isinstance(group.lane, RingLane))
    most = max((int((held.count - held.head).sum()) for held in rings), default=0)
    return most + (0 if pending is None else pending.rows.num_rows)


def sampled_ratio(operator: OperatorState) -> float:
    """About what part of `operator.size` a snapshot would have, by the words of a few keys."""
    live = operator.slots.live()[:SAMPLED]
    parts = [operator.slots.rows[live]]
    for group in operator.groups:
        lane = group.lane
        if isinstance(lane, RingLane):
            held = lane.held(live)
            each = 8 * SAMPLED // max(len(live), 1)
            which, at = numbered(np.minimum(held.count - held.head, each))
            parts.append(lane.elements[held.positions(which, held.head[which] + at)])
    packed = sum(len(bytes_of(words_table(part), compressed=True)) for part in parts)
    return min(packed / max(sum(part.nbytes for part in parts), 1), 1.0)


def restored(operator: OperatorState, data: Any) -> None:
    """Fill an operator whose arena is empty; CorruptValue if these are not the bytes of such a state."""
    with reading("a snapshot"):
        _restore(operator, data)


def _restore(operator: OperatorState, data: Any) -> None:
    names, *parts = split_by_lengths(data)
    require_same(json.loads(bytes(names)), operator.plan)
    streams = iter(parts)
    slots = operator.slots
    rows, keys = words_in(next(streams)), heap_in(next(streams))
    count = len(rows)
    _require(rows.shape[1:] == slots.rows.shape[1:], "keys")
    _require_pointers(rows, slots.first_key_word + np.flatnonzero(slots.codec.variable), keys)
    rows[:, CLOSES] = rows[:, EXPIRES] = NEVER
    heads = {}
    for group in operator.groups:
        lane = group.lane
        if isinstance(lane, RingLane):
            heads[lane.name] = rows[:, lane.word + HEAD].copy(), rows[:, lane.word + COUNT].copy()
            rows[:, lane.word + COUNT] = rows[:, lane.word + HEAD]
            rows[:, lane.word + LOG], rows[:, lane.word + BASE] = -1, 0
    slots.restore(rows, keys)
    everyone = np.arange(count)
    slots.keys_of(everyone)  # texts that are none would be found with the first report
    for group in operator.groups:
        lane = group.lane
        if isinstance(lane, RingLane):
            words, heap = words_in(next(streams)), heap_in(next(streams))
            head, until = heads[lane.name]
            _require(words.shape[1:] == lane.elements.shape[1:], "elements")
            _require(((head >= 0) & (until >= head) & (until < NEVER // 2)).all(), "ordinals")
            _require((until - head).sum() == len(words) and (until - head <= len(words)).all(), "ordinals")
            _require_pointers(words, lane.form.pointers, heap)
            lane.restore(everyone, until - head, words, heap)
        else:
            assert isinstance(lane, RunningLane)
            heap = heap_in(next(streams))
            _require_pointers(rows, lane.pointers, heap)
            lane.restore(heap)
    operator.reported = [ReportedWindows.of_table(table_of(next(streams))) for _ in operator.reported]
    pending = next(streams, None)
    operator.pending = None if pending is None else Events.of_table(table_of(pending))
    waiting = [] if operator.pending is None else [operator.pending.slot]
    for slot in [windows.slot for windows in operator.reported] + waiting:
        _require(((slot >= 0) & (slot < count)).all(), "slots")
    operator.set_timers(everyone)


def _require_pointers(words: Ints, pointers: Ints, heap: Bytes) -> None:
    """Kernels follow them without looking."""
    begins, lengths = words[:, pointers], np.maximum(words[:, pointers + 1], 0)
    inside = (begins >= 0) & (lengths <= len(heap)) & (begins <= len(heap) - lengths)
    _require(bool(inside.all()), "pointers")


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise CorruptValue(f"a snapshot has {what} that cannot be")


def words_table(words: Ints) -> pa.Table:
    columns = [pa.array(np.ascontiguousarray(column)) for column in words.T]
    return pa.table(columns, names=[str(at) for at in range(words.shape[1])])


def words_in(stream: memoryview) -> Ints:
    table = table_of(stream)
    words = np.empty((table.num_rows, table.num_columns), np.int64)
    for at, column in enumerate(table.columns):
        words[:, at] = column.to_numpy()
    return words


def heap_table(data: Bytes) -> pa.Table:
    return pa.table({"bytes": pa.array(data)})


def heap_in(stream: memoryview) -> Bytes:
    heap: Bytes = table_of(stream)["bytes"].to_numpy()
    return heap


def _numbered(windows: ReportedWindows, number: Ints) -> pa.Table:
    return replace(windows, slot=number[windows.slot]).table()
