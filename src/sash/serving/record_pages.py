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
from itertools import pairwise
from typing import Any

import numpy as np

from sash.arrays import Array, Ints
from sash.errors import CorruptValue
from sash.serving.records import RecordForm, Run, bytes_column

MAGIC = b"sof1"
DROPPED = -1
LEVELS = 16

_HEADER = struct.Struct("<4sIqq")
_HEADER_WORDS = _HEADER.size // 8
_MAGIC_WORD = int.from_bytes(MAGIC, "little")


def packed(
    run: Run, sizes: Ints, form: RecordForm, *, batches: Ints | int, newest_pages: Ints | int
) -> list[bytes]:
    """A page of the first `sizes[0]` records, one of the next `sizes[1]`, …"""
    ends, begins = _within(sizes)
    words, heaps = run.words, None
    if form.object_parts:
        words, heaps = _with_places(run, begins, ends, form), run.objects
    spots = _Spots.of(sizes, form.width)
    data = np.empty(spots.total, np.int64)
    data[spots.begins] = (sizes << 32) | _MAGIC_WORD
    data[spots.begins + 1], data[spots.begins + 2] = batches, newest_pages
    data[spots.newest], data[spots.oldest], data[spots.child] = run.newest, run.oldest, run.child
    data[spots.words[:, None] + np.arange(form.width)] = words
    whole = data.tobytes()
    edges = (8 * np.append(spots.begins, spots.total)).tolist()
    pages = [whole[at:end] for at, end in pairwise(edges)]
    if heaps is None:
        return pages
    return [
        b"".join([page, *(element for column in heaps for element in column[lo:hi])])
        for page, lo, hi in zip(pages, begins.tolist(), ends.tolist(), strict=True)
    ]


def unpacked(pages: Sequence[bytes], form: RecordForm) -> tuple[Run, Ints, Ints, Ints]:
    """The records of all pages; of each page how many it has, its batch, and the newest page of its key."""
    headers = np.array([_checked(page, form.width) for page in pages], np.int64).reshape(-1, 3)
    sizes, batches, newest_pages = headers.T
    spots = _Spots.of(sizes, form.width)
    lengths = (8 * (_HEADER_WORDS + sizes * (3 + form.width))).tolist()
    numbers = [page[:length] for page, length in zip(pages, lengths, strict=True)]
    data = np.frombuffer(b"".join(numbers), np.int64)
    words = data[spots.words[:, None] + np.arange(form.width)]
    objects: tuple[Array, ...] = ()
    if form.object_parts:
        ends, begins = _within(sizes)
        heaps = [
            (page[length:], lo, hi)
            for page, length, lo, hi in zip(pages, lengths, begins.tolist(), ends.tolist(), strict=True)
        ]
        objects = tuple(
            bytes_column(
                [
                    heap[at : at + length]
                    for heap, lo, hi in heaps
                    for at, length in words[lo:hi, part.first : part.first + 2].tolist()
                ]
            )
            for part in form.object_parts
        )
    run = Run(data[spots.newest], data[spots.oldest], data[spots.child], words, objects)
    return run, sizes, batches, newest_pages


def batch_of(page: bytes, form: RecordForm) -> int:
    """The number of the batch that has written it."""
    return _checked(page, form.width)[1]


@dataclass(frozen=True)
class _Spots:
    """Where in pages that follow each other the words of each record are."""

    total: int
    begins: Ints
    newest: Ints
    oldest: Ints
    child: Ints
    words: Ints

    @classmethod
    def of(cls, sizes: Ints, width: int) -> _Spots:
        lengths = _HEADER_WORDS + sizes * (3 + width)
        ends = np.cumsum(lengths)
        begins = ends - lengths
        _, first = _within(sizes)
        place = np.arange(int(sizes.sum())) - np.repeat(first, sizes)
        size, base = np.repeat(sizes, sizes), np.repeat(begins + _HEADER_WORDS, sizes)
        newest = base + place
        words = base + 3 * size + place * width
        total = int(ends[-1]) if len(ends) else 0
        return cls(total, begins, newest, newest + size, newest + 2 * size, words)


def _within(sizes: Ints) -> tuple[Ints, Ints]:
    """Where each of several runs ends, and where it begins."""
    ends = np.cumsum(sizes)
    return ends, ends - sizes


def _with_places(run: Run, begins: Ints, ends: Ints, form: RecordForm) -> Ints:
    """The words of records, with the places of their bytes in the heaps of their pages."""
    words, used = run.words.copy(), np.zeros(len(begins), np.int64)
    for part, encoded in zip(form.object_parts, run.objects, strict=True):
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        sums = np.concatenate(([0], np.cumsum(lengths)))
        words[:, part.first] = sums[:-1] + np.repeat(used - sums[begins], ends - begins)
        words[:, part.first + 1] = lengths
        used += sums[ends] - sums[begins]
    return words


def _checked(page: Any, width: int) -> tuple[int, int, int]:
    """How many records a page has, of which batch it is, and the number of its key's newest page."""
    if len(page) < _HEADER.size:
        raise CorruptValue(f"a page of {len(page)} bytes is shorter than its header")
    magic, size, batch, newest_page = _HEADER.unpack_from(page)
    if magic != MAGIC or len(page) < _HEADER.size + 8 * size * (3 + width):
        raise CorruptValue(f"a page of {len(page)} bytes does not hold {size} records of this query")
    return size, batch, newest_page


@dataclass(slots=True)
class Page:
    """A page, read where it lies: nothing is decoded until it is needed. Not frozen, because a request may
    make hundreds of them."""

    data: memoryview
    size: int
    newest: memoryview
    oldest: memoryview
    child: memoryview
    first: int
    """Where the records begin."""
    width: int

    @classmethod
    def of(cls, data: Any, form: RecordForm | None) -> Page:
        """Without a form, its times and children can be read, and its records cannot."""
        view, width = memoryview(data), 0 if form is None else form.width
        size, _, _ = _checked(view, width)
        at, times = _HEADER.size, 8 * size
        first = at + 3 * times
        return cls(
            view, size,
            view[at : at + times].cast("q"), view[at + times : at + 2 * times].cast("q"),
            view[at + 2 * times : first].cast("q"), first, width,
        )  # fmt: skip

    def divided(self, bounds: Sequence[int]) -> tuple[int, list[int], int]:
        """The records with an event after the first bound and up to the last one: where they begin, those
        that a bound divides (some of their events are at or before it, some after it), where they end."""
        newest, oldest, cuts = self.newest, self.oldest, list[int]()
        at = begin = bisect_right(newest, bounds[0])
        for bound in bounds:
            at = bisect_right(newest, bound, at)
            if at < self.size and oldest[at] <= bound and (not cuts or cuts[-1] != at):
                cuts.append(at)
        return begin, cuts, at + (cuts[-1:] == [at])

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
