"""Pages: the bytes under which a store holds the records of a key.

    header      magic · how many records · number of the batch · number of the newest page
    newest      a word for each record         oldest, child      the same
    records     as in `records`
    heap        the bytes of elements that are no numbers

A key has one *head* and any number of other pages. In each, records are in the order of time; a record
stands for one event, or for all events of the page that its child names:

    child  =  0                       an event
    child  =  page · 16 + level       the page with this number; its records are of level − 1
    child  =  −1                      events that are held no more: their fold is all there is
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sash.errors import CorruptValue
from sash.serving.records import RecordForm, Run

MAGIC = b"sof1"
DROPPED = -1
LEVELS = 16

_HEADER = struct.Struct("<4sIqq")
_NUMBER = struct.Struct(">Q")


def head_name(key: bytes) -> bytes:
    """The head of a key."""
    return b"k" + key


def page_name(key: bytes, number: int) -> bytes:
    """Another page of a key; names of one page are never used for another."""
    return b"p" + key + _NUMBER.pack(number)


def packed(run: Run, form: RecordForm, *, batch: int, newest_page: int) -> bytes:
    """A page of these records."""
    words, used = run.words, 0
    heap: list[bytes] = []
    if form.object_parts:
        words = words.copy()
        for part, encoded in zip(form.object_parts, run.objects, strict=True):
            lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
            ends = np.cumsum(lengths)
            words[:, part.first] = used + ends - lengths
            words[:, part.first + 1] = lengths
            heap += encoded
            used += int(ends[-1]) if len(ends) else 0
    arrays = (run.newest, run.oldest, run.child, words)
    head = _HEADER.pack(MAGIC, len(run), batch, newest_page)
    return b"".join([head, *(np.ascontiguousarray(array).tobytes() for array in arrays), *heap])


@dataclass(slots=True)
class Page:
    """A page, read where it lies: nothing is decoded until it is needed. Not frozen, because a request may
    make hundreds of them."""

    data: memoryview
    size: int
    batch: int
    newest_page: int
    newest: memoryview
    oldest: memoryview
    child: memoryview
    first: int
    """Where the records begin."""
    width: int

    @classmethod
    def of(cls, data: Any, form: RecordForm) -> Page:
        view = memoryview(data)
        if len(view) < _HEADER.size:
            raise CorruptValue(f"a page of {len(view)} bytes is shorter than its header")
        magic, size, batch, newest_page = _HEADER.unpack_from(view)
        at, times = _HEADER.size, 8 * size
        first = at + 3 * times
        if magic != MAGIC or len(view) < first + times * form.width:
            raise CorruptValue(f"a page of {len(view)} bytes does not hold {size} records of this query")
        return cls(
            view, size, batch, newest_page,
            view[at : at + times].cast("q"), view[at + times : at + 2 * times].cast("q"),
            view[at + 2 * times : first].cast("q"), first, form.width,
        )  # fmt: skip

    def between(self, after: int, until: int) -> tuple[int, int]:
        """The records with an event in (after, until]."""
        return bisect_right(self.newest, after), bisect_right(self.oldest, until)

    def cuts(self, bounds: Sequence[int]) -> list[int]:
        """The records that a bound divides: some of their events are at or before it, some after it."""
        found: list[int] = []
        for bound in bounds:
            at = bisect_right(self.newest, bound)
            if at < self.size and self.oldest[at] <= bound and (not found or found[-1] != at):
                found.append(at)
        return found

    def records(self, lo: int, hi: int) -> memoryview:
        """The words of records."""
        step = 8 * self.width
        return self.data[self.first + lo * step : self.first + hi * step]

    @property
    def heap(self) -> memoryview:
        return self.data[self.first + 8 * self.width * self.size :]

    def objects(self, form: RecordForm, lo: int, hi: int) -> list[list[bytes]]:
        """The elements that are no numbers, of each such aggregate."""
        words = np.frombuffer(self.records(lo, hi), np.int64).reshape(-1, self.width)
        heap = self.heap
        return [
            [bytes(heap[at : at + length]) for at, length in words[:, part.first : part.first + 2].tolist()]
            for part in form.object_parts
        ]

    def run(self, form: RecordForm) -> Run:
        """All records, copied."""
        words = np.frombuffer(self.records(0, self.size), np.int64).reshape(-1, self.width).copy()
        newest, oldest, child = (
            np.array(column, np.int64) for column in (self.newest, self.oldest, self.child)
        )
        return Run(newest, oldest, child, words, tuple(map(tuple, self.objects(form, 0, self.size))))
