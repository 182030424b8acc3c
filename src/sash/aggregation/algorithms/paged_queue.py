"""A queue that is indexed by position in the stream: append at the tail, read anywhere, drop from the head.

    position i  lives in  page i >> 8,  slot i & 255

Positions are never renumbered, so a window [lo, hi) of the stream is simply two integers. The head is
dropped by whole pages in one slice deletion: dropping k elements costs no loop over them. (A deque would
need O(n) for a read in the middle; a ring buffer copies itself when it grows.)
"""

from __future__ import annotations

from collections.abc import MutableSequence, Sequence
from typing import Any

PAGE_BITS = 8
PAGE = 1 << PAGE_BITS
_SLOT = PAGE - 1


class Pages:
    """Values at the consecutive positions [first, stop), in pages of 256.

    >>> queue = Pages(start=1_000)
    >>> queue.extend(range(600))
    >>> queue.delete_before(1_500)
    >>> queue[1_500], queue[1_599], queue.stop, queue.held
    (500, 599, 1600, 320)
    """

    __slots__ = ("_base", "_pages", "stop")

    def __init__(self, *, start: int = 0) -> None:
        self.restart(start)

    def restart(self, start: int) -> None:
        """Forget everything; the next value has position `start`."""
        self.stop = start
        self._base = start >> PAGE_BITS
        padding = start & _SLOT
        self._pages: list[Any] = [[None] * padding] if padding else []

    def __getitem__(self, position: int) -> Any:
        return self._pages[(position >> PAGE_BITS) - self._base][position & _SLOT]

    def __setitem__(self, position: int, value: Any) -> None:
        self._pages[(position >> PAGE_BITS) - self._base][position & _SLOT] = value

    def append(self, value: Any) -> None:
        if not self.stop & _SLOT:
            self._pages.append([])
        self._pages[-1].append(value)
        self.stop += 1

    def extend(self, values: Sequence[Any]) -> None:
        """Append them all. Full pages of a numeric array stay packed: they are read, never assigned to."""
        if isinstance(values, tuple):
            # The path of single events: slicing would cost more than the few appends.
            for value in values:
                self.append(value)
            return
        packed = _packed(values)
        done = -self.stop & _SLOT
        if done and len(values):
            tail: MutableSequence[Any] = self._pages[-1]
            tail.extend(_plain(values[:done], packed))
        for at in range(done, len(values), PAGE):
            page = values[at : at + PAGE]
            self._pages.append(
                _copied(page) if packed and len(page) == PAGE else list(_plain(page, packed))
            )
        self.stop += len(values)

    def delete_before(self, position: int) -> None:
        """Nobody reads below `position` any more: free the pages that lie there whole."""
        if position >= self.stop:
            self.restart(position)
            return
        dead = (position >> PAGE_BITS) - self._base
        if dead > 0:
            del self._pages[:dead]
            self._base += dead

    @property
    def held(self) -> int:
        """How many slots are in memory: at most a page more than are wanted."""
        return self.stop - (self._base << PAGE_BITS) if self._pages else 0


def _packed(values: Any) -> bool:
    """Whether `values` is a one-dimensional numeric array."""
    return getattr(values, "ndim", 0) == 1 and getattr(values.dtype, "kind", "O") in "iufb"


def _plain(values: Any, packed: bool) -> Sequence[Any]:
    # numpy's own scalars would wrap around silently where Python's integers are exact.
    plain: Sequence[Any] = values.tolist() if packed else values
    return plain


def _copied(page: Any) -> memoryview:
    # A copy, because a view would keep the whole batch alive until its last page is dropped; a
    # memoryview, because indexing one gives Python's own int, float or bool.
    return memoryview(page.copy())
