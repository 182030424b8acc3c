"""What the watcher's thread still has to do, in order and bounded.

    news.put(call)                  something to do, once
    news.put_batch(stream, frames)  a micro-batch of a stream
    news.take()                     the next of them; waits for it

A thread that is slower than the batches (the folder of a query is on a slow disk) must not let them pile up
in the driver. So of each stream at most `PENDING` batches wait. Those that come then are added to the
newest that waits: its frames become those of the latest batch, with the counts of all of them.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition

from sash.dashboard.live_page_messages import Frames, added_up

PENDING = 64


@dataclass
class PendingBatch:
    """The frames of a micro-batch, or of several."""

    stream: str
    frames: Frames


class PendingNews:
    """Filled by any thread, emptied by one."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._waiting: deque[Callable[[], None] | PendingBatch | None] = deque()
        self._newest: dict[str, PendingBatch] = {}
        """Of each stream, where nothing has come since that a later batch must not overtake."""
        self._counts: Counter[str] = Counter()
        """Batches of each stream that wait."""

    def put(self, call: Callable[[], None] | None) -> None:
        """None: there will be no more."""
        with self._changed:
            self._newest.clear()
            self._waiting.append(call)
            self._changed.notify()

    def put_batch(self, stream: str, frames: Frames) -> None:
        with self._changed:
            newest = self._newest.get(stream)
            if newest is not None and self._counts[stream] >= PENDING:
                newest.frames = added_up(newest.frames, frames)
                return
            self._newest[stream] = newest = PendingBatch(stream, frames)
            self._counts[stream] += 1
            self._waiting.append(newest)
            self._changed.notify()

    def take(self) -> Callable[[], None] | PendingBatch | None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            news = self._waiting.popleft()
            if isinstance(news, PendingBatch):
                self._counts -= Counter([news.stream])  # which drops those of which none waits
                if self._newest.get(news.stream) is news:
                    del self._newest[news.stream]
            return news

    def has_later(self, stream: str) -> bool:
        """Whether a batch of the stream waits."""
        with self._changed:
            return self._counts[stream] > 0
