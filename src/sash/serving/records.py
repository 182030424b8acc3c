"""Records: an event, or the fold of a run of events, as a row of 64-bit words.

    newest · which aggregates have an element · the fields of each aggregate's element

An element that is no number (a sketch, a text) is bytes, as the monoid itself encodes it; its two words are
where these begin in the page that holds the record, and how many they are. Nothing is pickled.

A record of an event and one of a thousand events have the same form, because elements are what monoids
combine: a reader folds whatever mixture of the two covers its range.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from sash.arrays import Array, Ints, Mask, as_words
from sash.operators.bound_query import BoundRolling
from sash.operators.folding.elements import Elements
from sash.operators.folding.fold_ranges import ColumnFolder, Folder, ObjectFolder, folder_of

BITS = 62
"""How many aggregates share a word."""


@dataclass(frozen=True)
class Run:
    """Records one after the other."""

    newest: Ints
    oldest: Ints
    """Of the events that a record stands for: its newest and its oldest time."""
    child: Ints
    """What `pages` knows the events of a record by; 0 for an event."""
    words: Ints
    objects: tuple[Array, ...]
    """Of each aggregate whose elements are no numbers: an element for each record, as bytes."""

    def __len__(self) -> int:
        return len(self.newest)

    def take(self, which: Ints | Mask | slice) -> Run:
        return Run(
            self.newest[which],
            self.oldest[which],
            self.child[which],
            self.words[which],
            tuple(column[which] for column in self.objects),
        )

    @classmethod
    def joined(cls, runs: Sequence[Run]) -> Run:
        if len(runs) == 1:
            return runs[0]
        return cls(
            np.concatenate([run.newest for run in runs]),
            np.concatenate([run.oldest for run in runs]),
            np.concatenate([run.child for run in runs]),
            np.concatenate([run.words for run in runs]),
            tuple(np.concatenate(columns) for columns in zip(*(run.objects for run in runs), strict=True)),
        )


def bytes_column(elements: Sequence[bytes]) -> Array:
    """Bytes of any lengths, with their zeros at the end, as an array."""
    column = np.empty(len(elements), object)
    column[:] = elements
    return column


@dataclass(frozen=True)
class RecordPart:
    """The words of one aggregate."""

    name: str
    folder: Folder
    number: int
    first: int
    """Its first word."""
    result: pa.DataType

    @cached_property
    def dtypes(self) -> tuple[np.dtype[np.generic], ...] | None:
        """Of the fields of an element; None where elements are bytes."""
        folder = self.folder
        if not isinstance(folder, ColumnFolder) or any(dtype.hasobject for dtype in folder.machine.dtypes):
            return None
        return folder.machine.dtypes

    @property
    def size(self) -> int:
        return 2 if self.dtypes is None else len(self.dtypes)

    @property
    def how(self) -> Folder:
        """What lifts, folds and lowers its elements."""
        return self.objects if self.dtypes is None else self.folder

    @cached_property
    def objects(self) -> ObjectFolder:
        """How elements that are no numbers are read and written."""
        if isinstance(self.folder, ColumnFolder):  # a monoid that could not be compiled, over big integers
            return ObjectFolder(self.folder.machine.monoid)
        assert isinstance(self.folder, ObjectFolder)
        return self.folder


@dataclass(frozen=True)
class RecordForm:
    """How the aggregates of a query lie in records."""

    bound: BoundRolling

    @cached_property
    def parts(self) -> tuple[RecordPart, ...]:
        parts: list[RecordPart] = []
        at = 1 + -(-len(self.bound.aggregates) // BITS)
        for number, (name, monoid) in enumerate(self.bound.aggregates.items()):
            folder = folder_of(monoid, self.bound.schema)
            part = RecordPart(name, folder, number, at, self.bound.output_type(name))
            parts.append(part)
            at += part.size
        return tuple(parts)

    @property
    def commutes(self) -> bool:
        """Whether no aggregate depends on the order of events."""
        return all(monoid.commutative for monoid in self.bound.aggregates.values())

    @cached_property
    def width(self) -> int:
        return self.parts[-1].first + self.parts[-1].size

    @cached_property
    def object_parts(self) -> tuple[RecordPart, ...]:
        return tuple(part for part in self.parts if part.dtypes is None)

    def empty(self) -> Run:
        none = np.empty(0, np.int64)
        objects = (bytes_column([]),) * len(self.object_parts)
        return Run(none, none, none, np.empty((0, self.width), np.int64), objects)

    def nothing(self, count: int) -> Run:
        """Records of no events."""
        empty, zero = self.empty(), np.zeros(1, np.int64)
        folds = self._folds(empty.words, empty.objects, zero, zero, np.array([0, 1]))
        return self._run(zero, zero, folds).take(np.zeros(count, np.int64))

    def lifted(self, rows: pa.Table, times: Ints) -> Run:
        """A record for each event."""
        return self._run(times, times, [part.how.lift(rows) for part in self.parts])

    def folded(self, run: Run, lo: Ints, hi: Ints) -> Run:
        """A record for each range [lo, hi) of records; none is empty, and lo and hi never decrease."""
        elements = self._folds(run.words, run.objects, lo, hi, np.array([0, len(lo)]))
        return self._run(run.newest[hi - 1], run.oldest[lo], elements)

    def values(
        self, words: Ints, objects: Sequence[Iterable[bytes]], lo: Ints, hi: Ints, groups: Ints
    ) -> dict[str, pa.Array]:
        """The value of each aggregate over each range of records. `groups` as in `Folder.fold`."""
        folds = self._folds(words, objects, lo, hi, groups)
        return {
            part.name: part.how.lower(own, part.result) for part, own in zip(self.parts, folds, strict=True)
        }

    def _folds(
        self, words: Ints, objects: Sequence[Iterable[bytes]], lo: Ints, hi: Ints, groups: Ints
    ) -> list[Elements]:
        """Of each part. What all kernels read is made ready for them once."""
        columns = np.ascontiguousarray(words.T)
        for array in (columns, lo, hi, groups):
            array.flags.writeable = False
        everywhere = np.bitwise_and.reduce(columns[1 : self.parts[0].first], axis=1).tolist()
        folds, encoded = [], iter(objects)
        for part in self.parts:
            word, bit = divmod(part.number, BITS)
            known = None if everywhere[word] >> bit & 1 else (columns[1 + word] >> bit & 1).astype(np.bool_)
            if part.dtypes is not None:
                fields = tuple(_field(columns[part.first + at], one) for at, one in enumerate(part.dtypes))
                elements = Elements(fields, known)
            else:
                elements = part.objects.elements(list(map(part.objects.decode, next(encoded))), known)
            folds.append(part.how.fold(elements, lo, hi, groups=groups))
        return folds

    def _run(self, newest: Ints, oldest: Ints, elements: Sequence[Elements]) -> Run:
        words = np.zeros((len(newest), self.width), np.int64)
        words[:, 0] = newest
        objects: list[Array] = []
        for part, own in zip(self.parts, elements, strict=True):
            known = np.ones(len(newest), np.bool_) if own.known is None else own.known
            words[:, 1 + part.number // BITS] |= known.astype(np.int64) << part.number % BITS
            if part.dtypes is None:
                objects.append(
                    bytes_column([part.objects.encode(one) for one in part.objects.objects(own)])
                )
                continue
            for at, column in enumerate(own.columns):
                words[:, part.first + at] = as_words(column)
        return Run(newest, oldest, np.zeros(len(newest), np.int64), words, tuple(objects))


def _field(words: Ints, dtype: np.dtype[np.generic]) -> Array:
    if dtype.kind == "f":
        return words.view(np.float64).astype(dtype, copy=False)
    return words.astype(dtype, copy=False)
