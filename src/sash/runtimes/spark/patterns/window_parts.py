"""Windows that an owner has found, computed in two steps: parts of windows, then windows from their parts.

    owner ──events of parts──▶ part worker: an element for each part ──by window──▶ window worker: values
      └───────────keys and ends of windows───────────┘

    WinMapReduce(m, r)    part p of a window: of its events, every m-th of the bucket from the p-th on
    PaneFarm(p, w)        panes: what lies between neighbouring ends of windows; a worker has a run of them

So a window of a hot key is folded by all part workers at once, whatever its kind. The owner finds windows
and folds nothing. Panes stay in order, and aggregates over them need not commute.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from sash.arrays import Ints
from sash.errors import Unsupported
from sash.operators.answer import report_table
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine.operator import HandOut
from sash.operators.patterns.declared import Pattern
from sash.operators.patterns.element_bytes import NotSent, as_bytes, from_bytes
from sash.operators.patterns.folding import Folding, Folds, dealt, joined
from sash.operators.patterns.win_mapreduce import partition_of
from sash.operators.patterns.window_share import WindowShare, blocks
from sash.operators.windows.ranges import Ranges
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.patterns.agnostic import (
    BATCH,
    RANGES,
    ROWS,
    WINDOW,
    WORKER,
    ArrowFunction,
    HandOutPlan,
    WholeWindows,
    placed,
    read,
    written,
)
from sash.runtimes.spark.patterns.element_table import elements_in, table_of_elements
from sash.runtimes.spark.patterns.static_plan import StaticPlan, plan_of
from sash.runtimes.spark.streaming.worker_gc import freeze_gc

NUMBER, PART, NEXT, NEEDED = "number", "part", "next", "needed"
PARTS = pa.schema(
    [
        *BATCH,
        pa.field(NUMBER, pa.binary()),
        pa.field(PART, pa.int64()),
        pa.field(NEXT, pa.int64()),
        pa.field(NEEDED, pa.binary()),
    ]
)
"""Of both steps. A run of windows (NUMBER) has a row with its keys and ends, of which PART is ENDS, and one
for each part worker whose elements it needs. NEXT: the window worker of a row that part workers pass on;
NEEDED: what becomes of the elements of the others."""
ENDS = -1
ScalarRow: TypeAlias = Mapping[str, pa.Scalar]


@dataclass(frozen=True)
class WindowParts:
    """See `agnostic.HandOutPlan`."""

    plan: StaticPlan

    schema: ClassVar[pa.Schema] = PARTS

    def dealer(self, first: int) -> HandOut:
        return PartsDealer(self.plan, first)

    def prepared(self, handed: DataFrame, bound: BoundQuery) -> DataFrame:
        parts = placed(handed, workers=self.plan.part_workers)
        folded = parts.mapInArrow(PartWorker(bound), struct_of(PARTS))
        return placed(folded, workers=self.plan.route.workers)

    def last(self, bound: BoundQuery) -> ArrowFunction:
        return PutTogether(bound, dealt=self.plan.dealt)


def handing_of(pattern: Pattern) -> HandOutPlan:
    """How an owner hands windows out under a pattern."""
    plan = plan_of(pattern)
    return WindowParts(plan) if plan.folds else WholeWindows(pattern.workers)


class Cut(Protocol):
    """The events of windows, cut for part workers. An element is the fold of a part."""

    def part(self, worker: int) -> tuple[pa.Table, Ints, Ints, Ints]:
        """Events of a worker; the ends of the parts that it folds, and a slot of each in which these never
        decrease."""
        ...

    def needed(self, worker: int, first: int, last: int) -> tuple[int, int]:
        """Which of its elements the windows first ≤ i < last need."""
        ...

    def ends(self, first: int, last: int) -> tuple[Ints, Ints]:
        """These windows as ranges of the elements that they need."""
        ...


@dataclass(frozen=True)
class RoundRobinCut:
    """Each worker has an element for each window."""

    share: WindowShare
    workers: int

    def part(self, worker: int) -> tuple[pa.Table, Ints, Ints, Ints]:
        parts = partition_of(self.share, worker, partitions=self.workers)
        return *parts, self.share.ranges.slot

    def needed(self, worker: int, first: int, last: int) -> tuple[int, int]:
        return first, last

    def ends(self, first: int, last: int) -> tuple[Ints, Ints]:
        lo = np.arange(last - first) * self.workers
        return lo, lo + self.workers


@dataclass(frozen=True)
class PaneCut:
    """Each worker has a run of panes.

    >>> import types
    >>> ranges = types.SimpleNamespace(lo=np.array([0, 2, 9]), hi=np.array([4, 6, 12]))
    >>> cut = PaneCut(types.SimpleNamespace(ranges=ranges), 2)
    >>> cut.lo.tolist(), cut.hi.tolist()
    ([0, 2, 4, 9], [2, 4, 6, 12])
    >>> cut.needed(0, 1, 3), cut.needed(1, 1, 3), cut.ends(1, 3)[0].tolist()
    ((1, 2), (0, 2), [0, 2])
    """

    share: WindowShare
    workers: int

    @cached_property
    def _panes(self) -> tuple[Ints, Ints]:
        """Ends of panes: between two windows there is none."""
        ranges = self.share.ranges
        held = ranges.lo < ranges.hi
        lo, hi = ranges.lo[held], ranges.hi[held]
        ends = np.unique(np.concatenate([lo, hi]))
        opened = np.bincount(np.searchsorted(ends, lo), minlength=len(ends))
        closed = np.bincount(np.searchsorted(ends, hi), minlength=len(ends))
        inside = np.flatnonzero(np.cumsum(opened - closed)[:-1] > 0)
        return ends[inside], ends[inside + 1]

    @property
    def lo(self) -> Ints:
        return self._panes[0]

    @property
    def hi(self) -> Ints:
        return self._panes[1]

    def _run(self, worker: int) -> tuple[int, int]:
        runs = list(blocks(len(self.lo), self.workers))
        return runs[worker] if worker < len(runs) else (0, 0)

    def part(self, worker: int) -> tuple[pa.Table, Ints, Ints, Ints]:
        first, last = self._run(worker)
        lo, hi = self.lo[first:last], self.hi[first:last]
        begin, end = (int(lo[0]), int(hi[-1])) if len(lo) else (0, 0)
        rows = self.share.layout.rows.slice(begin, end - begin)
        return rows, lo - begin, hi - begin, np.zeros(len(lo), np.int64)

    def needed(self, worker: int, first: int, last: int) -> tuple[int, int]:
        (mine, end), (lo, hi) = self._run(worker), self._of_windows(first, last)
        begin, stop = max(mine, int(lo.min())), min(end, int(hi.max()))
        return (begin - mine, stop - mine) if begin < stop else (0, 0)

    def ends(self, first: int, last: int) -> tuple[Ints, Ints]:
        lo, hi = self._of_windows(first, last)
        return lo - lo.min(), hi - lo.min()

    def _of_windows(self, first: int, last: int) -> tuple[Ints, Ints]:
        ranges = self.share.ranges
        lo, hi = (np.searchsorted(self.lo, ends[first:last]) for ends in (ranges.lo, ranges.hi))
        return lo, hi


@dataclass(frozen=True)
class PartsDealer:
    """How the owner of a bucket hands windows out in parts: see `engine.operator.HandOut`."""

    plan: StaticPlan
    first: int
    """The bucket."""

    def __call__(self, share: WindowShare, keys: pa.Table, window: int) -> pa.Table:
        parts, workers = self.plan.parts, self.plan.route.windows
        assert parts is not None
        cut = (RoundRobinCut if self.plan.dealt else PaneCut)(share, parts)
        keys_share = self.first % self.plan.route.keys
        begin = self.first + int(share.ranges.id[0])
        needs: list[tuple[bytes, int, int, int]] = []
        rows: list[dict[str, object]] = []
        for turn, (first, last) in enumerate(blocks(len(share), workers)):
            ends = written(_over_elements(share.ranges.between(first, last), cut, first, last), keys)
            # From its content, so that a task that is executed again gives the same numbers.
            number = _digest(self.first, window, *ends.values())
            following = keys_share * workers + (begin + turn) % workers
            needs.append((number, following, first, last))
            passing = keys_share * parts + turn % parts
            rows.append({WORKER: passing, PART: ENDS, NUMBER: number, NEXT: following} | ends)
        for worker in range(parts):
            events, lo, hi, slot = cut.part(worker)
            needed = [
                NeededElements(number, following, *cut.needed(worker, first, last))._asdict()
                for number, following, first, last in needs
            ]
            table = pa.Table.from_pylist(needed, schema=NEEDS)
            ranges = pa.table({"lo": lo, "hi": hi, "slot": slot})
            blob: dict[str, object] = {
                RANGES: bytes_of(ranges),
                ROWS: bytes_of(events),
                NEEDED: bytes_of(table),
            }
            rows.append({WORKER: keys_share * parts + worker, PART: worker} | blob)
        return pa.Table.from_pylist([row | {WINDOW: window} for row in rows], schema=PARTS)


class NeededElements(NamedTuple):
    """A run of windows that needs the elements first ≤ i < last of a part worker."""

    number: bytes
    following: int
    first: int
    last: int


NEEDS = pa.schema(
    [
        pa.field("number", pa.binary()),
        *(pa.field(name, pa.int64()) for name in ("following", "first", "last")),
    ]
)


def _over_elements(ranges: Ranges, cut: Cut, first: int, last: int) -> Ranges:
    """Windows with the ends that they have among elements."""
    lo, hi = cut.ends(first, last)
    return replace(ranges, lo=lo, hi=hi)


def _digest(bucket: int, window: int, *content: Any) -> bytes:
    digest = blake2b(f"{bucket} {window} ".encode(), digest_size=16)
    for part in content:
        digest.update(part)
    return digest.digest()


@dataclass(frozen=True)
class PartWorker:
    """Events of parts → their elements: the function of the first `mapInArrow`."""

    bound: BoundQuery

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        folding = Folding.apart(self.bound)
        for batch in batches:
            rows = [row for at in range(batch.num_rows) for row in self._sent(folding, _row(batch, at))]
            yield pa.RecordBatch.from_pylist(rows, schema=PARTS)

    def _sent(self, folding: Folding, row: ScalarRow) -> Iterator[dict[str, Any]]:
        if not row[NEEDED].is_valid:
            yield {name: value.as_py() for name, value in row.items()} | {WORKER: row[NEXT].as_py()}
            return
        events, ranges = table_of(row[ROWS].as_buffer()), table_of(row[RANGES].as_buffer())
        ends = (ranges[name].to_numpy() for name in ("lo", "hi", "slot"))
        folds = as_bytes(folding, folding.lift_and_fold(events, *ends))
        if isinstance(folds, NotSent):
            raise Unsupported(
                "parallel", "workers that fold parts of windows", "KeyFarm for elements that have no bytes",
                hint=f"{folds.reason}. Give the monoid encode and decode.",
            )  # fmt: skip
        kept = {WINDOW: row[WINDOW].as_py(), PART: row[PART].as_py()}
        for need in (NeededElements(**one) for one in table_of(row[NEEDED].as_buffer()).to_pylist()):
            if need.first < need.last:
                blob = bytes_of(table_of_elements(joined([folds], need.first, need.last)))
                yield kept | {WORKER: need.following, NUMBER: need.number, ROWS: blob}


@dataclass(frozen=True)
class PutTogether:
    """Elements of parts, and the ends of windows → reports: the function of the second `mapInArrow`."""

    bound: BoundQuery
    dealt: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_gc()
        runs: dict[bytes, dict[int, ScalarRow]] = {}
        for batch in batches:
            for row in (_row(batch, at) for at in range(batch.num_rows)):
                runs.setdefault(row[NUMBER].as_py(), {})[row[PART].as_py()] = row
        folding = Folding.apart(self.bound)
        for parts in runs.values():
            yield from self._reports(folding, parts.pop(ENDS), parts).to_batches()

    def _reports(self, folding: Folding, windows: ScalarRow, parts: Mapping[int, ScalarRow]) -> pa.Table:
        ranges, keys = read(windows)
        names = list(self.bound.aggregates)
        found = [
            from_bytes(folding, elements_in(table_of(parts[at][ROWS].as_buffer()), names))
            for at in sorted(parts)
        ]
        values = folding.fold_and_lower(self._whole(folding, found), ranges.lo, ranges.hi, ranges.slot)
        window = self.bound.query.windows[windows[WINDOW].as_py()]
        return report_table(self.bound, window, ranges, values, keys=keys)

    def _whole(self, folding: Folding, parts: list[Folds]) -> Folds:
        if not parts:  # windows without an event
            none = np.empty(0, np.int64)
            return folding.lift_and_fold(self.bound.schema.empty_table(), none, none, none)
        lengths = [len(next(iter(part.values()))) for part in parts]
        return dealt(parts, 0, lengths[0]) if self.dealt else joined(parts, 0, sum(lengths))


def _row(batch: pa.RecordBatch, at: int) -> dict[str, pa.Scalar]:
    return {name: batch.column(name)[at] for name in batch.schema.names}
