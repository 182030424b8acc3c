"""Which batches are packed and computed in one task, without a shuffle: small ones, after small ones.

A second stage, with a worker of Python of its own, takes longer than what a small batch gains by it. But
what comes before the query (a topic of many partitions, a user's function) has one core then, too. So it is
tried after a few batches, and left for a while where it turned out to be slower.
"""

from __future__ import annotations

from sash.runtimes.spark.epochs.epoch_metering import BatchMetrics

EVENTS = 10_000
BUSY = 0.05
"""Seconds of the step, added up over its tasks."""
PACKERS = 16
"""Tasks that read the source: each of its partitions begins and ends, also in one task."""
KEYS = 50_000
"""Keys that are held: the windows of all of them may close in one batch."""
WARM_UP, PAUSE = 3, 100
"""Batches: in two stages at first, after one that was slower, and until the next comparison."""
LEAST = 100
"""Events below which batches are about the same size."""
SLOWER = 1.5


class OneTask:
    """The choice for one run of a query."""

    def __init__(self) -> None:
        self._shared_out: BatchMetrics | None = None
        """The last batch in two stages."""
        self._wait, self._alone = WARM_UP, 0

    def suits_next(self, last: BatchMetrics | None) -> bool:
        """Whether one task is to have the batch after `last`; called once per batch."""
        if last is None:
            return False
        if not last.in_one_task:
            self._shared_out, self._alone = last, 0
        elif self._shared_out is not None and _was_slower(last, self._shared_out):
            self._wait = PAUSE
        self._wait = max(0, self._wait - 1)
        return not self._wait and _is_small(last) and not self._is_to_compare(last)

    def _is_to_compare(self, last: BatchMetrics) -> bool:
        """Whether the next batch has two stages, since none of about this size had them for long."""
        compared = self._shared_out
        self._alone += 1
        return compared is None or self._alone > PAUSE or last.events > 2 * max(compared.events, LEAST)


def _is_small(last: BatchMetrics) -> bool:
    few = last.events <= EVENTS and last.keys <= KEYS and last.packers <= PACKERS
    return few and last.busy <= BUSY


def _was_slower(alone: BatchMetrics, shared_out: BatchMetrics) -> bool:
    """Of batches of about the same size."""
    comparable = alone.events <= 2 * max(shared_out.events, LEAST)
    return comparable and alone.seconds > SLOWER * shared_out.seconds
