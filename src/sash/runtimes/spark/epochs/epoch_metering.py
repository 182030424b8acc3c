"""What a micro-batch did and took, and what a controller sees of it.

    seconds      the instances' own time: the length of their step, and the wait for data before it
    rate         events / seconds                    utilisation    busy / (degree · seconds)

The time in which the driver plans, packers pack and the sink writes is nobody's fault who computes
windows: more instances would not shorten it, so it is left out. Of the time between two batches, what
Spark needs for its own books is no wait; it reports how much that is.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sash.operators.elastic.controller_samples import Sample
from sash.runtimes.observed_counts import in_all
from sash.runtimes.spark.epochs.decision_records import Decision
from sash.runtimes.spark.epochs.epoch_step import TaskReport
from sash.runtimes.spark.packing.blocks import COUNTS

REMEMBERED = 1000
"""Batches that a handle remembers."""


@dataclass(frozen=True)
class BatchMetrics:
    """One micro-batch."""

    batch: int
    degree: int
    """The tasks that served its buckets."""
    events: int
    late: int
    reports: int
    forgotten: int
    """Keys of which nothing came for `forget_after`."""
    restored: int
    """Buckets whose operator was read from the store, because another process had it at hand, or none."""
    read: int
    written: int
    """Bytes from and to the store."""
    watermark: int
    """What the batch has moved it to, in the unit of the time column (µs for timestamps)."""
    began: float
    """Seconds since 1970, to be shown: no duration is computed from it, since clocks of walls jump."""
    waited: float
    """Seconds since the end of the batch before it; 0 for the first of a run."""
    seconds: float
    """The whole batch, from its rows to the sink."""
    step: float
    """Its stateful step, from the first task's begin to the last one's end."""
    busy: float
    """What the tasks of that step worked, added up."""
    in_one_task: bool = False
    """Whether one task packed its rows and served its buckets, without a shuffle."""
    packers: int = 1
    """The tasks that packed its rows."""
    saved: int = 0
    """Events that were folded into panes before the shuffle, less those panes."""
    newest: int = 0
    """The greatest time so far, in microseconds of Spark's clock."""
    keys: int = 0
    """Keys that are held after it; 0 also where an operator does not count them."""
    state_bytes: int = 0
    """What the store has of them."""
    by_query: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """The counts of each of several queries that run together."""
    decisions: tuple[Decision, ...] = ()
    """How it was computed, and why."""


def metrics_of(
    reports: Sequence[TaskReport], queries: Sequence[str] = (), *, within: float
) -> dict[str, Any]:
    """The counts of a step, and its times; `queries` are the names of several that run together. The step
    lay `within` so many seconds, by the driver's clock."""

    def counted(prefix: str) -> dict[str, int]:
        return {count: sum(report.counts.get(prefix + count, 0) for report in reports) for count in COUNTS}

    by_query = {query: counted(f"{query} ") for query in queries}
    counts = {count: in_all(by_query, count) for count in COUNTS} if queries else counted("")
    return counts | {
        "by_query": by_query,
        "degree": len(reports),
        "step": _step([one.began for one in reports], [one.took for one in reports], within),
        "busy": sum(report.busy for report in reports),
        "packers": max((report.packers for report in reports), default=0),
        "saved": sum(report.saved for report in reports),
    }


def _step(began: list[float], took: list[float], within: float) -> float:
    """From the first begin to the last end. Tasks know when they began by clocks of walls, one of which may
    have jumped: it took as long as the longest task at least, and no longer than the driver has waited.

    >>> _step([100.0, 100.5], [1.0, 1.0], 2.0), _step([100.0, 3700.5], [1.0, 1.0], 2.0)
    (1.5, 2.0)
    """
    if not began:
        return 0.0
    last = max(begin + seconds for begin, seconds in zip(began, took, strict=True))
    return max(max(took), min(within, last - min(began)))


class BatchMeter:
    """The batches of one query, as they come."""

    def __init__(self) -> None:
        self.batches: deque[BatchMetrics] = deque(maxlen=REMEMBERED)
        self.samples: deque[Sample] = deque(maxlen=REMEMBERED)
        self._time = 0.0
        """Seconds since the first batch began."""

    def of(self, number: int) -> BatchMetrics | None:
        """One of them, by its number: most likely a late one."""
        return next((batch for batch in reversed(self.batches) if batch.batch == number), None)

    def add(self, batch: BatchMetrics, *, pending: int, bookkeeping: float) -> None:
        """One more batch. `bookkeeping`: the seconds that Spark needs between two batches."""
        seconds = max(self._available(batch, bookkeeping), 1e-9)
        self._time += batch.waited + batch.seconds
        self.batches.append(batch)
        self.samples.append(
            Sample(
                time=self._time,
                seconds=seconds,
                degree=batch.degree,
                rate=batch.events / seconds,
                pending=pending,
                utilisation=min(1.0, batch.busy / (batch.degree * seconds)),
            )
        )

    def _available(self, batch: BatchMetrics, bookkeeping: float) -> float:
        if not self.batches:
            # Whether it waited is not known, and its step is not typical: workers start in it.
            return batch.seconds
        return batch.step + max(0.0, batch.waited - bookkeeping)


def behind(sources: Iterable[tuple[str | None, str | None]]) -> int:
    """Rows that wait in sources, of which Spark reports (the offset it has read, the newest there is):
    Kafka's are counts of rows, those of files are not.

    >>> behind([('{"trades":{"0":7,"1":5}}', '{"trades":{"0":9,"1":5}}'), ('{"logOffset":3}', None)])
    2
    """
    return sum(
        max(0, latest - read[partition])
        for source in sources
        for read, newest in _topics(*map(_parsed, source))
        for partition, latest in newest.items()
        if partition in read
    )


OffsetsOfTopics: TypeAlias = dict[str, dict[str, int]]
"""By topic and partition."""


def _topics(read: OffsetsOfTopics, newest: OffsetsOfTopics) -> list[tuple[dict[str, int], dict[str, int]]]:
    return [(read[topic], newest[topic]) for topic in newest if topic in read]


def _parsed(offset: str | None) -> OffsetsOfTopics:
    try:
        found = json.loads(offset or "null")
    except ValueError:
        return {}
    found = found if isinstance(found, dict) else {}
    return {topic: offsets for topic, offsets in found.items() if isinstance(offsets, dict)}
