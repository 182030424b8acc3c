"""What a store keeps of an operator: the input of each batch, and now and then a snapshot.

    header     version · where snapshot, runs and entries lie
    chunks     of the snapshot, of runs, of the entries after them: see `journal_entries`

The journal is the truth and the arena is its fold. What an entry holds never changes; a snapshot that
covers entries retires them. It is taken when the journal has grown to the size that a snapshot would
have, so that each byte is written about twice, and what is dead does not stay. An arena that is far larger
than what is alive is then built again from it.

Between two snapshots there may be any number of small batches. When `FAN` entries follow each other they
are put together to a run, and `FAN` runs of a rank to one of the next: so a store has few values, and a
byte is written once more for each rank. What is large already is left as it is.

An arena at the header's version goes on at once, in whichever process. One that is behind replays the
entries that it has missed. Any other one (ahead, because its batch was never committed; dirty; damaged; of
another query) is emptied and built again from snapshot and journal.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pyarrow as pa

from sash.aggregation.stores.kept_facts import require_counts, require_times
from sash.aggregation.stores.values import reading, require_layout, seal_json, unseal_json
from sash.errors import CorruptValue
from sash.operators.engine.saving import recent_entries, snapshot_contents
from sash.operators.engine.saving.journal_entries import (
    Entry,
    Payloads,
    cut,
    split_by_lengths,
    with_lengths,
)
from sash.operators.protocol import Saved

if TYPE_CHECKING:
    from sash.operators.engine.state import OperatorState

HEADER = b"header of a window operator"
LAYOUT = 3
"""Goes up with every change of what a header or a chunk holds."""
LEAST = 1 << 16
"""A journal of fewer bytes is not worth a snapshot."""
SHRINKS = 8
"""An entry of so many times the bytes of a snapshot is longer than it also when it is compressed, and is
not packed to find that out. Before the first snapshot, one is assumed to be smaller than the state by
as much."""
FIRST = 2
"""The first snapshot is taken when the journal has so many times its bytes: until windows close, nothing
in the journal is dead, and a snapshot would be the same once more."""
TOGETHER = 1 << 18
"""How many rows are replayed at once."""
FAN = 32
"""How many entries, or runs, are put together."""


NAMED = 1 << 18
"""Chunks that a header may name: of a megabyte each, far more than one bucket has."""
_COUNTS = ("snapshot_first", "parts", "next", "young", "snapshot_bytes", "journal_bytes", "keys")


class EntryRun(NamedTuple):
    """Entries that lie in the chunks begin ≤ n < end. They had numbers from the end of the run before."""

    begin: int
    end: int
    rank: int


@dataclass(frozen=True)
class JournalHead:
    """What a store has of an operator."""

    version: str
    snapshot_first: int = 0
    parts: int = 0
    """How many chunks from `snapshot_first` on are the snapshot. The journal begins after them."""
    runs: tuple[EntryRun, ...] = ()
    next: int = 0
    """The number after the last chunk. What is after the last run are single entries …"""
    young: int = 0
    """… and so many."""
    snapshot_version: str = ""
    snapshot_facts: Mapping[str, Any] = field(default_factory=dict)
    snapshot_bytes: int = 0
    snapshot_ratio: float = 1 / SHRINKS
    """Its bytes, to those of what it was taken of; of a sample, before the first."""
    journal_bytes: int = 0
    watermark: int | None = None
    keys: int = 0
    since: Mapping[str, int] = field(default_factory=dict)
    """Aggregates that were added, with the greatest time that was seen by then (`changed_aggregates`)."""
    layout: int = LAYOUT

    @classmethod
    def of(cls, header: bytes) -> JournalHead:
        with reading("the header of an operator"):
            facts = unseal_json(HEADER, header)
            require_layout("the state of a query", facts.get("layout"), LAYOUT)
            head = cls(**facts | {"runs": tuple(EntryRun(*run) for run in facts["runs"])})
            require_counts(facts, *_COUNTS)
            require_times(facts, "watermark")
            require_times(head.since, *head.since)
            for run in head.runs:
                require_counts(run._asdict(), *EntryRun._fields)
            if not 0 <= head.snapshot_ratio < math.inf or None in head.since.values():
                raise ValueError(f"a ratio of {head.snapshot_ratio}, and aggregates since {head.since}")
            return head

    def sealed(self) -> bytes:
        return seal_json(HEADER, asdict(self))

    @property
    def begin(self) -> int:
        """Where the journal begins."""
        return self.snapshot_first + self.parts

    @property
    def first(self) -> int:
        """Where the single entries begin."""
        return self.runs[-1].end if self.runs else self.begin

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The chunks of the journal, in the order of their entries."""
        return [*((run.begin, run.end) for run in self.runs), (self.first, self.next)]


class Journal:
    """Of one operator, in one process."""

    def __init__(self, head: JournalHead | None = None, chunks: Mapping[int, bytes] | None = None) -> None:
        self.head = head or JournalHead(version="")
        self.entry = Entry()
        self._payloads = Payloads({} if chunks is None else chunks)

    def save(self, operator: OperatorState) -> Saved:
        """One more entry; or a snapshot instead, if it is time for one."""
        head, version = self.head, uuid4().hex
        entry, self.entry = self.entry, Entry()
        entry.facts |= {"version": version, **operator.facts()}
        facts: dict[str, Any] = {
            "version": version, "watermark": operator.clock.value, "keys": len(operator.slots)
        }  # fmt: skip
        if self._is_due(operator, entry.nbytes // SHRINKS):
            return self._snapshot(operator, facts)
        packed, rows = entry.packed(), entry.rows
        grown = head.journal_bytes + len(packed)
        if self._is_due(operator, grown):
            return self._snapshot(operator, facts)
        self.head = replace(self.head, journal_bytes=grown, **facts)
        if head.young + 1 < FAN:
            recent_entries.keep(operator.arena, packed, rows)
            return self._appended([packed], rows)
        return self._put_together(operator, packed, rows)

    def _is_due(self, operator: OperatorState, size: int) -> bool:
        """Whether a journal of so many bytes is as long as a snapshot of what is alive would be. Not as
        the last one was: most of what was in it may be dead."""
        factor = 1 if self.head.parts else FIRST
        if size < max(factor * operator.size * self.head.snapshot_ratio, LEAST):
            return False
        if not self.head.parts:
            # Nothing is known of how well this state can be compressed but what a sample shows.
            self.head = replace(self.head, snapshot_ratio=snapshot_contents.sampled_ratio(operator))
        return size >= max(factor * operator.size * self.head.snapshot_ratio, LEAST)

    def _appended(self, entries: list[Any], rows: int) -> Saved:
        written = cut(with_lengths(entries), first=self.head.next, rows=rows)
        self.head = replace(self.head, next=self.head.next + len(written), young=self.head.young + 1)
        return Saved(self.head.sealed(), written)

    def _put_together(self, operator: OperatorState, packed: bytes, rows: int) -> Saved:
        """The single entries become a run; with it the runs before them, if they are as many."""
        head, copied = self.head, recent_entries.kept(operator.arena, self.head.young)
        if not _is_small([(head.first, head.next)]):
            saved = self._appended([packed], rows)
            run = EntryRun(head.first, self.head.next, 1)
            recent_entries.forget(operator.arena)
            self.head = replace(self.head, runs=(*head.runs, run), young=0)
            return replace(saved, header=self.head.sealed())
        runs, spans, rank = list(head.runs), [(head.first, head.next)], 1
        while len(runs) >= FAN - 1 and all(run.rank == rank for run in runs[1 - FAN :]):
            before = [(run.begin, run.end) for run in runs[1 - FAN :]]
            if not _is_small(before):
                break
            runs, spans, rank = runs[: 1 - FAN], before + spans, rank + 1
        entries = list[Any]()
        for begin, end in spans if copied is None else spans[:-1]:
            for payload, some in self._payloads.between(begin, end):
                entries += split_by_lengths(payload)
                rows += some
        single, some = copied or ([], 0)
        saved = self._appended([*entries, *single, packed], rows + some)
        recent_entries.forget(operator.arena)
        self.head = replace(self.head, runs=(*runs, EntryRun(head.next, self.head.next, rank)), young=0)
        return Saved(self.head.sealed(), saved.written, _numbers(spans))

    def _snapshot(self, operator: OperatorState, facts: dict[str, Any]) -> Saved:
        head, data = self.head, snapshot_contents.taken(operator)
        recent_entries.forget(operator.arena)
        written = cut(data, first=head.next, rows=snapshot_contents.rows_held(operator))
        dropped = _numbers([(head.snapshot_first, head.begin), *head.spans])
        self.head = JournalHead(
            snapshot_first=head.next, parts=len(written), next=head.next + len(written),
            snapshot_version=facts["version"], snapshot_facts=operator.facts(), snapshot_bytes=len(data),
            # That of a small one, which is mostly schemas, is no measure for a large one.
            snapshot_ratio=min(len(data) / max(operator.size, 1), 1.0), since=head.since, **facts,
        )  # fmt: skip
        if operator.is_sparse:
            known = operator.facts()
            operator.reset()
            operator.restore_facts(known)
            snapshot_contents.restored(operator, data)
            operator.fits()
        return Saved(self.head.sealed(), written, dropped)

    def catch_up(self, operator: OperatorState) -> None:
        """Bring an operator and its arena to the version of the head."""
        head, at = self.head, operator.adopted()
        if at is not None and at[0] == head.version:
            return
        recent_entries.forget(operator.arena)
        entries = self._missed(*at) if at is not None else None
        if entries is None:
            operator.reset()
            if head.parts:
                operator.restore_facts(head.snapshot_facts)
                snapshot_contents.restored(operator, self._payloads.at(head.snapshot_first)[0])
            operator.fits()
            entries = self._entries(head.spans)
        for entry in entries if operator.replays_each else _together(entries):
            operator.replay(entry)

    def contents(self) -> tuple[bytes | None, Iterator[Entry]]:
        """The snapshot, if there is one, and the entries after it."""
        head = self.head
        kept = self._payloads.at(head.snapshot_first)[0] if head.parts else None
        return kept, self._entries(head.spans)

    def _entries(self, spans: list[tuple[int, int]]) -> Iterator[Entry]:
        for begin, end in spans:
            for payload, _ in self._payloads.between(begin, end):
                yield from map(Entry.of, split_by_lengths(payload))

    def _missed(self, version: str, number: int) -> Iterator[Entry] | None:
        """The entries that an arena of this version has missed, whose next chunk would have had this
        number; None if it is no part of this journal."""
        head, since = self.head, self.head.begin
        if head.parts and version == head.snapshot_version:
            return self._entries(head.spans)
        if head.first < number <= head.next:
            payload = self._payloads.until(number)
            if payload is None or Entry.of(split_by_lengths(payload)[-1]).facts["version"] != version:
                return None
            return self._entries([(number, head.next)])
        for at, run in enumerate(head.runs):
            if since < number <= run.end:
                entries = list(self._entries([(run.begin, run.end)]))
                known = [entry.facts["version"] for entry in entries]
                if version not in known:
                    return None
                return chain(entries[known.index(version) + 1 :], self._entries(head.spans[at + 1 :]))
            since = run.end
        return None


def chunks_of(header: bytes) -> frozenset[int]:
    """The numbers of all chunks that a header names."""
    head = JournalHead.of(header)
    return _numbers([(head.snapshot_first, head.begin), *head.spans])


def _is_small(spans: list[tuple[int, int]]) -> bool:
    """Whether to write it again costs little: most of it are single chunks."""
    return sum(end - begin for begin, end in spans) <= 2 * FAN


def _numbers(spans: list[tuple[int, int]]) -> frozenset[int]:
    if sum(max(end - begin, 0) for begin, end in spans) > NAMED:
        raise CorruptValue("the header of an operator names more chunks than there can be")
    return frozenset(number for begin, end in spans for number in range(begin, end))


def _together(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Entries that follow each other as one: what is on time is decided, so that only the last watermark
    counts."""
    inserts: list[pa.Table] = []
    facts: dict[str, Any] | None = None
    rows = 0
    for entry in entries:
        inserts += entry.inserts
        facts = entry.facts
        rows += entry.rows
        if rows >= TOGETHER:
            yield Entry(_one(inserts), facts)
            inserts, rows = [], 0
    if facts is not None:
        yield Entry(_one(inserts), facts)


def _one(inserts: list[pa.Table]) -> list[pa.Table]:
    with reading("entries of the journal"):
        return [pa.concat_tables(inserts)] if inserts else []
