"""What a runtime does with a window operator: feed batches, follow the watermark, keep bytes in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from itertools import cycle
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from sash.operators.arena import ArenaHome
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator, operator_of, pending_log, state
from sash.operators.engine.lanes import heap_compaction
from sash.operators.engine.lanes.ring_lane import RingLane
from sash.operators.engine.saving import journal_entries, operator_journal as journal
from sash.semantics.reference import Batch, Evaluation, WindowReport
from sash.semantics.watermark import Watermark
from tests.runtimes.tables import table_of

TYPES = {"e": pa.int64(), "x": pa.int64()}
Shown = tuple[Any, ...]


class Way(Enum):
    """How an operator goes on between two batches."""

    SAME = "the same object"
    REBUILT = "another process, which has nothing but the store"
    ARENA = "another process, which opens the arena of this machine"
    ELSEWHERE = "another machine, whose arena was left behind at some earlier batch, or never made"


ways = st.lists(st.sampled_from(Way), min_size=1, max_size=6)
"""Batch after batch, and from the first again."""
ALWAYS_REBUILT, NEVER_REBUILT = (Way.REBUILT,), (Way.SAME,)


class Store(Mapping[int, bytes]):
    """The chunks of one operator. Counts what is read and written."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}
        self.reads = self.read = 0
        self.writings: list[int] = []
        """How many bytes each one wrote."""

    def __getitem__(self, number: int) -> bytes:
        value = self.kept[number]
        self.reads, self.read = self.reads + 1, self.read + len(value)
        return value

    def __iter__(self) -> Iterator[int]:
        raise AssertionError("an operator asks for what it needs")

    def __len__(self) -> int:
        return len(self.kept)

    def take(self, saved: Any) -> None:
        """One writing of an operator."""
        self.kept |= saved.written
        for number in saved.dropped:
            del self.kept[number]
        self.writings.append(len(saved.header) + sum(map(len, saved.written.values())))

    @property
    def bytes(self) -> int:
        return sum(map(len, self.kept.values()))


class Runtime:
    """One bucket. `ways` are gone through again and again."""

    def __init__(
        self, bound: BoundQuery, *, ways: Sequence[Way] = NEVER_REBUILT,
        types: Mapping[str, pa.DataType] | None = None,
    ) -> None:  # fmt: skip
        self.bound = self.shown_as = bound
        self.types = dict(types or TYPES)
        self.ways = cycle(ways)
        self.store, self.header = Store(), b""
        self.name = f"test-{uuid4().hex}"
        self.operator = operator_of(bound).load(bound, None, self.store)
        self.watermark = Watermark(delay=bound.query.delay.length)

    @property
    def now(self) -> int:
        return self.watermark.value if self.watermark.value is not None else -(2**60)

    def step(self, batch: Batch) -> tuple[list[Shown], list[Shown]]:
        """What a batch reports, and what is late."""
        answer = self.execute(batch)
        self.pause()
        return answer

    def execute(self, batch: Batch) -> tuple[list[Shown], list[Shown]]:
        rows = table_of(list(batch.arrivals), self.types).select(self.bound.columns)
        late = self.operator.insert(rows, np.arange(rows.num_rows))
        self.watermark.observe(a.time for a in batch.arrivals if a.time is not None)
        if batch.watermark is not None:
            self.watermark.advance_to(batch.watermark)
        answer = self.operator.advance(self.now)
        return self.shown(answer.reports), unplaced(pa.concat_tables([late, answer.late]))

    def flush(self) -> tuple[list[Shown], list[Shown]]:
        answer = self.operator.advance(self.now, flush=True)
        return self.shown(answer.reports), unplaced(answer.late)

    def shown(self, reports: pa.Table) -> list[Shown]:
        return shown(self.shown_as, reports)

    def pause(self) -> None:
        saved = self.operator.save()
        self.header = saved.header
        self.store.take(saved)
        self.go_on(next(self.ways))

    def go_on(self, way: Way) -> None:
        """Begin the next batch."""
        match way:
            case Way.SAME:
                self.operator.resume(self.header, self.store)
            case Way.REBUILT:
                self.operator = self.loaded(None)
            case Way.ARENA:
                self.operator = self.loaded(self.name)
            case Way.ELSEWHERE:
                self.operator = self.loaded(f"{self.name}-elsewhere")

    def loaded(self, name: str | None) -> WindowOperator:
        return operator_of(self.bound).load(self.bound, self.header, self.store, name=name)

    def close(self) -> None:
        self.operator.arena.close()
        for name in (self.name, f"{self.name}-elsewhere"):
            ArenaHome.default().remove(name)


def elements_of(operator: WindowOperator) -> int:
    """How many elements are held: events, or panes."""
    live = operator.slots.live()
    lanes = [group.lane for group in operator.groups if isinstance(group.lane, RingLane)]
    return sum(int((held.count - held.head).sum()) for held in (lane.held(live) for lane in lanes))


def shown(bound: BoundQuery, reports: pa.Table) -> list[Shown]:
    rows = []
    for row in reports.to_pylist():
        window, values = row["window"], [row[name] for name in bound.aggregates]
        where = (row["k"], window.get("name"), window["id"], window["start"], window["end"])
        rows.append((*where, *values, row.get("revision", 0)))
    return sorted(rows, key=repr)


def expected(bound: BoundQuery, reports: list[WindowReport]) -> list[Shown]:
    rows = []
    for report in reports:
        name = report.window if bound.several_windows else None
        where = (report.key, name, report.id, report.start, report.end)
        rows.append((*where, *report.values.values(), report.revision))
    return sorted(rows, key=repr)


def unplaced(late: pa.Table) -> list[Shown]:
    return sorted((row["e"], row["late_reason"], row["late_window"] or "") for row in late.to_pylist())


def lates(entries: list[Any]) -> list[Shown]:
    return sorted((entry.arrival.values["e"], entry.reason, entry.window or "") for entry in entries)


def require_answered_as_the_reference(
    runtime: Runtime, stream: Sequence[Batch], before: Callable[[int], None] = lambda number: None
) -> None:
    """Batch after batch, and at the end; `before` each batch something may go wrong."""
    bound, reference = runtime.bound, Evaluation(runtime.bound.query)
    reports, late = 0, 0
    for number, batch in enumerate(stream):
        before(number)
        reference.take(batch)
        emitted, misfits = runtime.step(batch)
        assert emitted == expected(bound, reference.reports[reports:]), f"batch {number + 1}"
        assert misfits == lates(reference.late[late:]), f"batch {number + 1}"
        reports, late = len(reference.reports), len(reference.late)
    if reference.query.flush:
        reference.report(flush=True)
    emitted, misfits = runtime.flush()
    assert emitted == expected(bound, reference.reports[reports:]), "flush"
    assert misfits == lates(reference.late[late:]), "flush"
    runtime.close()


@contextmanager
def small_journals(least: int) -> Iterator[None]:
    """A snapshot as soon as the journal has so many bytes; chunks of a few bytes; three entries are put
    together, and replayed in several pieces; heaps are compacted, and the log of events that wait is
    written again, whenever they double; arenas are built again when they are sparse."""
    with (
        patch.object(heap_compaction, "LEAST", 0),
        patch.object(journal, "LEAST", least),
        patch.object(journal_entries, "PART", 700),
        patch.object(journal, "TOGETHER", 7),
        patch.object(journal, "FAN", 3),
        patch.object(state, "SPACIOUS", 0),
        patch.object(pending_log, "LEAST", 2),
        patch.object(pending_log, "MANY", 3),
    ):
        yield


LEASTS = (1, 3_000, 9_000, journal.LEAST)
"""With the sizes of these streams: a snapshot with every batch, with every few, never."""
leasts = st.sampled_from(LEASTS)
