"""One bucket of a query, tried in this process: the operator, the bytes that it keeps and sends, its time.

A bucket with many keys is tried with a 2^-j-th of them, at the same rate per key. Tables grow by doubling,
so those of the trial are as full as those of the bucket, and its bytes are the trial's times 2^j.

    counted over the second half of the trial, when as much comes as goes:
    arena      most bytes of its tables               on the local disk of an executor, mapped into memory
    kept       most bytes of snapshot and journal     in the state store, durable
    written    bytes of headers and chunks            to the state store, for each event
    block      bytes of a row in a block              in memory, for each event
    shuffled   the same, compressed as Spark does     through the shuffle, for each event
    reports    rows and bytes                         to the sink, for each event
    seconds    of one core                            for each event
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil

import numpy as np
import pyarrow as pa

from sash.operators.bound_query import BoundQuery
from sash.operators.columns.times import to_integers
from sash.operators.engine import operator_of
from sash.runtimes.spark.packing.blocks import block_of
from sash.runtimes.spark.sizing.load import ExpectedLoad, SampleEvents, filling_seconds

SHUFFLE_CODEC = "lz4_raw"
"""spark.io.compression.codec, which is lz4 by default."""
EVENTS = 400_000
"""Of a trial, at most: some seconds."""
BATCHES = 60
"""Of a trial, at most; where there are more in the time that it covers, they are put together."""
SETTLING = 2
"""A trial covers so many times the time in which the state fills …"""
CYCLES = 2
"""… and so many snapshots and what is between them …"""
LONGER = 4
"""… unless it takes more than so many times as long."""


@dataclass(frozen=True)
class Trial:
    """What was counted."""

    keyed: bool
    """Whether there are keys; without, one bucket has everything."""
    keys: int
    """Of the trial; the bucket has `scale` times as many."""
    scale: int
    span: float
    """Seconds of event time."""
    events: int
    """In all of it."""
    arena: int
    kept: int
    written: float
    block: float
    shuffled: float
    reports: float
    report_bytes: float
    seconds: float

    @property
    def arena_of_a_key(self) -> float:
        return self.arena / self.keys

    @property
    def kept_of_a_key(self) -> float:
        return self.kept / self.keys


def tried(bound: BoundQuery, load: ExpectedLoad, *, buckets: int, limit: int = EVENTS) -> Trial:
    """One of so many buckets."""
    span = SETTLING * filling_seconds(bound, load)
    keys = max(1, round(load.keys / buckets)) if bound.keys else 1
    of_a_key = load.of_a_key if bound.keys else load.rate
    scale = 1
    while keys / scale >= 2 and keys / scale * of_a_key * span > limit:
        scale *= 2
    batches = min(BATCHES, max(2, ceil(span / load.seconds)))
    # A single key may have more events than a trial: then they are fewer, and its state is that of these.
    count = max(1, round(min(keys / scale * of_a_key * span, 4 * limit) / batches))
    return _run(bound, max(1, round(keys / scale)), scale, span, batches, count)


def _run(bound: BoundQuery, keys: int, scale: int, span: float, batches: int, count: int) -> Trial:
    events, chunks, header = SampleEvents(bound, keys=keys), dict[int, bytes](), b""
    operator = operator_of(bound).load(bound, None, chunks)
    arena = kept = batch = 0
    writing = _Writing()
    blocks = shuffled = reports = report_bytes = seconds = measured = 0.0
    delay, watermark, length = bound.query.delay.length, 0, span / batches
    while batch < batches or (writing.cycles < CYCLES and batch < LONGER * batches):
        # Not from 0 on: a watermark of 0 means that nothing is known yet.
        begin = span + batch * length
        rows = events.between(begin, begin + length, count)
        began = time.thread_time()
        if header:
            operator.resume(header, chunks)
        answers = [operator.advance(watermark)]
        operator.insert(rows, np.arange(batch * count, batch * count + count))
        answers.append(operator.advance(watermark))
        saved = operator.save()
        took = time.thread_time() - began
        header = saved.header
        saved.put_into(chunks)
        watermark = max(watermark, int(to_integers(rows[bound.time]).max()) - delay)
        batch += 1
        if batch > batches // 2:
            measured += count
            arena = max(arena, operator.arena.size)
            kept = max(kept, len(header) + sum(map(len, chunks.values())))
            written = len(header) + sum(map(len, saved.written.values()))
            writing.add(count, written, snapshot=operator.journal.head.snapshot_version)
            seconds += took
            block = block_of(0, rows)
            blocks += len(block)
            shuffled += len(pa.compress(block, codec=SHUFFLE_CODEC))
            reports += sum(answer.reports.num_rows for answer in answers)
            report_bytes += sum(answer.reports.nbytes for answer in answers)
    return Trial(
        bool(bound.keys), keys, scale, batch * length, batch * count, arena, kept, writing.of_an_event,
        blocks / measured, shuffled / measured, reports / measured, report_bytes / measured,
        seconds / measured,
    )  # fmt: skip


class _Writing:
    """Bytes written for each event, over whole cycles from snapshot to snapshot: most of the bytes may be
    those of snapshots, which come once in many batches."""

    def __init__(self) -> None:
        self._events = self._bytes = 0
        self._snapshot: str | None = None
        self._marks = list[tuple[int, int]]()
        """Events and bytes up to each snapshot, and with it."""

    def add(self, events: int, written: int, *, snapshot: str) -> None:
        self._events += events
        self._bytes += written
        if self._snapshot is not None and snapshot != self._snapshot:
            self._marks.append((self._events, self._bytes))
        self._snapshot = snapshot

    @property
    def cycles(self) -> int:
        return max(0, len(self._marks) - 1)

    @property
    def of_an_event(self) -> float:
        if not self.cycles:
            return self._bytes / self._events
        (first, before), (last, after) = self._marks[0], self._marks[-1]
        return (after - before) / (last - first)
