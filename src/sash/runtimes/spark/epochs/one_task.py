"""Which batches are packed and computed in one task, without a shuffle: small ones, after small ones.

A second stage, with a worker of Python of its own, takes longer than what a small batch gains by it. But
what comes before the query (a topic of many partitions, a user's function) has one core then, too. So it is
tried after a few batches, and left for a while where it turned out to be slower.

Times are those of a machine that others use as well: what delays one batch need not delay the next. So of
the last `LATELY` batches the quickest counts.
"""

from __future__ import annotations

from collections import deque

from sash.runtimes.spark.epochs.epoch_metering import BatchMetrics

EVENTS = 10_000
BUSY = 0.1
"""Seconds of the step, added up over its tasks: about what a second stage takes."""
LATELY = 3
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
        self._work: deque[float] = deque(maxlen=LATELY)
        """Seconds of work of the last batches …"""
        self._took: deque[float] = deque(maxlen=LATELY)
        """… and how long those in one task took, since the last one in two stages."""
        self._wait, self._alone, self._was_slower = WARM_UP, 0, False
        self.why = ""
        """Of the latest choice."""

    def suits_next(self, last: BatchMetrics | None) -> bool:
        """Whether one task is to have the batch after `last`; called once per batch."""
        if last is None:
            self.why = "nothing is known of a first batch"
            return False
        self._work.append(last.busy)
        if not last.in_one_task:
            self._shared_out, self._alone = last, 0
            self._took.clear()
        elif self._shared_out is not None and _is_comparable(last, self._shared_out):
            self._took.append(last.seconds)
            if len(self._took) == LATELY and min(self._took) > SLOWER * self._shared_out.seconds:
                self._wait, self._was_slower = PAUSE, True
        self._wait = max(0, self._wait - 1)
        against = self._against(last)
        self.why = against or f"the batch before had {last.events:,} events and {last.busy:.3f} s of work"
        return not against

    def _against(self, last: BatchMetrics) -> str:
        """Why not; empty where one task has the next batch."""
        if self._wait and self._was_slower:
            return f"one task was slower; it is not tried for {self._wait} more batches"
        if self._wait:
            return "workers start in the first batches"
        return self._too_large(last) or ("to compare with one task" if self._is_to_compare(last) else "")

    def _is_to_compare(self, last: BatchMetrics) -> bool:
        """Whether the next batch has two stages, since none of about this size had them for long."""
        compared = self._shared_out
        self._alone += 1
        return compared is None or self._alone > PAUSE or last.events > 2 * max(compared.events, LEAST)

    def _too_large(self, last: BatchMetrics) -> str:
        """What of a batch is too large for one task; empty where nothing is."""
        if last.events > EVENTS:
            return f"the batch before had {last.events:,} events, more than {EVENTS:,}"
        if last.keys > KEYS:
            return f"{last.keys:,} keys are held, more than {KEYS:,}"
        if last.packers > PACKERS:
            return f"{last.packers} tasks read the source, more than {PACKERS}"
        if min(self._work) > BUSY:
            return f"the last batches had at least {min(self._work):.3f} s of work, more than {BUSY}"
        return ""


def _is_comparable(alone: BatchMetrics, shared_out: BatchMetrics) -> bool:
    """Whether they are about the same size."""
    return alone.events <= 2 * max(shared_out.events, LEAST)
