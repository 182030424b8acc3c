"""The windows of plain functions between two batches: those that have changed, as records.

    record     start · key · the states of its inputs, as the operator packs them; null: it is gone

The last record of a window counts. Windows that have expired need no record for that, single ones whose
key was forgotten do. A chunk is needed as long as it has the last record of a window; when more than half
of the records are outdated, all open windows are written once more, and the older chunks are let go of.
Rows that wait for their turn are written once, too, and are let go of when it has come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping

import pyarrow as pa

from sash.aggregation.encoding import decode, encode
from sash.operators.order.interleaved import Interleaved
from sash.operators.stateful.interpreted_shares import ALWAYS, KeyShare, WindowName
from sash.operators.stateful.shared_preparation import Prepared
from sash.operators.stateful.windows import WindowSet

RECORDS = pa.schema([("start", pa.int64()), ("key", pa.binary()), ("states", pa.binary())])
ROW = b"row"
"""In the place of a key: what waits for its turn, with its time in the place of the start."""
SLACK = 256
"""Outdated records that are not worth a second writing."""


class WindowLog:
    """Of the only share of an operator."""

    def __init__(self, share: KeyShare) -> None:
        self._share = share
        share.tracks = True
        self._last: dict[int, dict[Hashable, int]] = {}
        """The chunk with the last record of each window, by start and key."""
        self._needed: Counter[int] = Counter()
        """How many last records a chunk has."""
        self._records: dict[int, int] = {}
        """How many records each chunk has that is live."""
        self._bytes: dict[int, int] = {}
        """How large the records of each of them are."""
        self._gone: set[WindowName] = set()
        """Windows whose last record is that they are gone."""
        self._until: dict[int, int] = {}
        """When the last of the rows of a chunk that wait has had its turn."""

    def take(self, run: Interleaved, prepared: Prepared) -> None:
        """The share knows what has changed."""

    def save(self, number: int, watermark: int) -> dict[int, pa.Table]:
        share, operator = self._share, self._share.operator
        turn = operator.next_end(watermark)
        changed, share.changed = share.changed, set()
        rows, share.fresh = [row for row in share.fresh if row[0] > turn], []
        if operator.window_type == "multi":
            floor = turn - operator.clock.size
            self._expire(floor)
            changed = {name for name in changed if name[0] >= floor}
        changed = {name for name in changed if share.named(name) is not None or self._knows(name)}
        self._until = {chunk: until for chunk, until in self._until.items() if until > turn}
        if self._is_outdated(len(changed)):
            self._last, self._needed, self._until, self._gone = {}, Counter(), {}, set()
            changed, rows = set(share.names()), share.waiting
        records = [self._record(name, number) for name in changed]
        records += [(time, ROW, encode(dict(row))) for time, row in rows]
        if records:
            self._records[number] = len(records)
        if rows:
            self._until[number] = max(time for time, _ in rows)
        self._records = {
            chunk: count
            for chunk, count in self._records.items()
            if self._needed[chunk] or chunk in self._until
        }
        new = {number: pa.Table.from_arrays(_columns(records), schema=RECORDS)} if records else {}
        self._weigh(new)
        return new

    def _weigh(self, new: Mapping[int, pa.Table]) -> None:
        known = self._bytes | {number: int(table.nbytes) for number, table in new.items()}
        self._bytes = {number: known[number] for number in self._records}

    @property
    def memory(self) -> int:
        """Bytes of the records that are needed, which hold all open windows."""
        return sum(self._bytes.values())

    def _knows(self, name: WindowName) -> bool:
        return name[1] in self._last.get(name[0], {})

    def _expire(self, floor: int) -> None:
        for start in [start for start in self._last if start < floor]:
            self._needed.subtract(self._last.pop(start).values())

    def _is_outdated(self, added: int) -> bool:
        known = sum(map(len, self._last.values())) - len(self._gone)
        return sum(self._records.values()) + added > 2 * (known + added) + SLACK

    def _point(self, name: WindowName, chunk: int) -> None:
        start, key = name
        by_key = self._last.setdefault(start, {})
        if key in by_key:
            self._needed[by_key[key]] -= 1
        by_key[key] = chunk
        self._needed[chunk] += 1

    def _record(self, name: WindowName, chunk: int) -> tuple[int, bytes, bytes | None]:
        self._point(name, chunk)
        self._gone.discard(name)
        windows = self._share.named(name)
        if windows is None:
            self._gone.add(name)
            return 0, encode([name[1]]), None
        return windows.start, encode([windows.key]), self._share.operator.pack(windows.states)

    @property
    def live(self) -> list[int]:
        return list(self._records)

    def load(self, chunks: Mapping[int, pa.Table], watermark: int) -> None:
        share, operator = self._share, self._share.operator
        size, turn = operator.clock.size, operator.next_end(watermark)
        multi = operator.window_type == "multi"
        last: dict[WindowName, tuple[int, bytes | None]] = {}
        for number, table in chunks.items():
            self._records[number] = table.num_rows
            for start, key, states in zip(*(column.to_pylist() for column in table.columns), strict=True):
                if key == ROW:
                    if start > turn:
                        share.waiting.append((start, decode(states)))
                        self._until[number] = max(start, self._until.get(number, start))
                elif not multi or start >= turn - size:
                    name = (start if multi else ALWAYS, decode(key)[0])
                    self._point(name, number)
                    last[name] = start, states
        self._weigh(chunks)
        for name, (start, states) in last.items():
            if states is None:
                self._gone.add(name)
            else:
                share.put(WindowSet(name[1], start, start + size, operator.unpack(states)))


def _columns(records: list[tuple[int, bytes, bytes | None]]) -> list[pa.Array]:
    columns = zip(*records, strict=True)
    return [pa.array(column, field.type) for column, field in zip(columns, RECORDS, strict=True)]
