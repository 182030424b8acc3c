"""What a store keeps of an operator: the input of each batch, and now and then a snapshot.

    header     version · the numbers of snapshot and journal
    chunk      an entry of the journal: what one batch brought, and how far time went
               or a part of a snapshot

The journal is the truth and the arena is its fold. An entry is written once and never changed; a snapshot
that covers entries retires them. It is taken when the journal has grown to the size that a snapshot would
have, so that each byte is written about twice, and what is dead does not stay.

An arena at the header's version goes on at once, in whichever process. One that is behind replays the
entries that it has missed. Any other one (ahead, because its batch was never committed; dirty; damaged; of
another query) is emptied and built again from snapshot and journal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from sash.aggregation.stores.values import seal, unseal
from sash.errors import CorruptValue
from sash.operators.columns.table_bytes import bytes_of, table_of
from sash.operators.engine import snapshot
from sash.operators.engine.snapshot import joined, parts_of
from sash.operators.protocol import Saved

if TYPE_CHECKING:
    from sash.operators.engine.state import OperatorState

HEADER = b"header of a window operator"
LAYOUT = 2
"""Goes up with every change of what a header or a chunk holds."""
PART = 1 << 20
"""Bytes of a snapshot that are one chunk."""
LEAST = 1 << 16
"""A journal of fewer bytes is not worth a snapshot."""
TOGETHER = 1 << 18
"""How many rows are replayed at once."""


@dataclass(frozen=True)
class Head:
    """What a store has of an operator."""

    version: str
    first: int = 0
    """The first entry of the journal, and the one after the last."""
    next: int = 0
    parts: int = 0
    """How many chunks before `first` are the snapshot."""
    snapshot_version: str = ""
    snapshot_facts: Mapping[str, Any] = field(default_factory=dict)
    snapshot_bytes: int = 0
    snapshot_ratio: float = 1.0
    """Its bytes, to those of what it was taken of."""
    journal_bytes: int = 0
    watermark: int | None = None
    keys: int = 0
    layout: int = LAYOUT

    @classmethod
    def of(cls, header: bytes) -> Head:
        facts = json.loads(bytes(unseal(HEADER, header)))
        if facts.get("layout") != LAYOUT:
            raise CorruptValue(
                f"the state was saved by another version of Sash, in layout {facts.get('layout')}; this "
                f"one reads layout {LAYOUT}: start the query with a new checkpoint, or use the "
                "version that saved it"
            )
        return cls(**facts)

    def sealed(self) -> bytes:
        return seal(HEADER, json.dumps(asdict(self)).encode())


@dataclass
class Entry:
    """What one batch has done to an operator."""

    inserts: list[pa.Table] = field(default_factory=list)
    """Rows that were on time, as the operator took them; panes, where it folds early."""
    facts: dict[str, Any] = field(default_factory=lambda: {"calls": []})
    """`calls` has the watermark of each advance, and None for each insertion, in order."""

    def inserted(self, rows: pa.Table) -> None:
        self.inserts.append(rows)
        self.facts["calls"].append(None)

    def advanced(self, watermark: int) -> None:
        self.facts["calls"].append(watermark)

    def calls(self) -> Iterator[pa.Table | int]:
        """One after the other: rows that were inserted, watermarks that time went to."""
        inserts = iter(self.inserts)
        return (next(inserts) if call is None else call for call in self.facts["calls"])

    def calls_together(self) -> Iterator[pa.Table | int]:
        """The same, where only the last watermark counts."""
        yield from self.inserts
        yield from [call for call in self.facts["calls"] if call is not None][-1:]

    def sealed(self, number: int) -> bytes:
        facts = json.dumps(self.facts).encode()
        streams = [bytes_of(table, compressed=True) for table in self.inserts]
        return seal(chunk_name(number), joined([facts, *streams]))

    @classmethod
    def of(cls, number: int, data: bytes) -> Entry:
        facts, *streams = parts_of(unseal(chunk_name(number), data))
        return cls([table_of(stream) for stream in streams], json.loads(bytes(facts)))


class Journal:
    """Of one operator, in one process."""

    def __init__(self, head: Head | None = None) -> None:
        self.head = head or Head(version="")
        self.entry = Entry()

    def save(self, operator: OperatorState) -> Saved:
        """One more entry; or a snapshot instead, if it is time for one."""
        head, version = self.head, uuid4().hex
        self.entry.facts |= {"version": version, **operator.facts()}
        data = self.entry.sealed(head.next)
        self.entry = Entry()
        grown = head.journal_bytes + len(data)
        facts: dict[str, Any] = {
            "version": version, "watermark": operator.clock.value, "keys": len(operator.slots)
        }  # fmt: skip
        # Not to the size of the last snapshot: most of what was in it may be dead.
        if grown < max(operator.size * head.snapshot_ratio, LEAST):
            self.head = replace(head, next=head.next + 1, journal_bytes=grown, **facts)
            return Saved(self.head.sealed(), {head.next: data})
        return self._snapshot(operator, facts)

    def _snapshot(self, operator: OperatorState, facts: dict[str, Any]) -> Saved:
        head, data = self.head, snapshot.taken(operator)
        pieces = [data[at : at + PART] for at in range(0, len(data), PART)]
        first = head.next + len(pieces)
        written = {
            number: seal(chunk_name(number), piece) for number, piece in enumerate(pieces, start=head.next)
        }
        dropped = frozenset(range(head.first - head.parts, head.next))
        self.head = Head(
            first=first, next=first, parts=len(pieces), snapshot_version=facts["version"],
            snapshot_facts=operator.facts(), snapshot_bytes=len(data),
            snapshot_ratio=len(data) / max(operator.size, 1), **facts,
        )  # fmt: skip
        return Saved(self.head.sealed(), written, dropped)

    def catch_up(self, operator: OperatorState, chunks: Mapping[int, bytes]) -> None:
        """Bring an operator and its arena to the version of the head."""
        head, at = self.head, operator.adopted()
        if at is not None and at[0] == head.version:
            return
        since = self._known(at, chunks)
        if since is None:
            operator.reset()
            since = head.first
            if head.parts:
                numbers = range(head.first - head.parts, head.first)
                data = b"".join(unseal(chunk_name(n), _chunk(chunks, n)) for n in numbers)
                operator.restore_facts(head.snapshot_facts)
                snapshot.restored(operator, data)
        entries = (Entry.of(n, _chunk(chunks, n)) for n in range(since, head.next))
        for entry in entries if operator.replays_each else _together(entries):
            operator.replay(entry)

    def _known(self, at: tuple[str, int] | None, chunks: Mapping[int, bytes]) -> int | None:
        """The first entry that an arena at this version and number has missed; None if it is no part of
        this journal."""
        head = self.head
        if at is None:
            return None
        version, number = at
        if head.parts and version == head.snapshot_version:
            return head.first
        if not head.first < number <= head.next:
            return None
        known = Entry.of(number - 1, _chunk(chunks, number - 1)).facts["version"] == version
        return number if known else None


def _together(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Entries that follow each other as one: what is on time is decided, so that only the last watermark
    counts."""
    inserts: list[pa.Table] = []
    facts: dict[str, Any] | None = None
    rows = 0
    for entry in entries:
        inserts += entry.inserts
        facts = entry.facts
        rows += sum(table.num_rows for table in entry.inserts)
        if rows >= TOGETHER:
            yield Entry([pa.concat_tables(inserts)], facts)
            inserts, rows = [], 0
    if facts is not None:
        yield Entry([pa.concat_tables(inserts)] if inserts else [], facts)


def _chunk(chunks: Mapping[int, bytes], number: int) -> bytes:
    data = chunks.get(number)
    if data is None:
        raise CorruptValue(f"the state lacks the chunk {number}")
    return data


def chunk_name(number: int) -> bytes:
    """What a chunk is sealed under."""
    return b"journal %d" % number
