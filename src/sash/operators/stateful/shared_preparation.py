"""What the instances need of a run before they touch any share, computed once, by all of them together.

    pieces()    the keys of the run's tuples, piece after piece: each was read by one of the instances
    once(…)     anything else that is the same for all

An instance that comes to a run takes on one piece after another until none is left, and then waits for
those that others have taken. So whoever is early works for those who are late, and nobody waits while
there is something to do.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Condition, Lock
from typing import Any, TypeVar

from sash.arrays import Ints

T = TypeVar("T")

SHORTEST = 1 << 16
"""Pieces have about as many pairs of a tuple and a key, or more: below, another piece costs more than it
saves."""


@dataclass(frozen=True)
class Piece:
    """Tuples and their keys, grouped by share: pair p is the tuple event[p] of the run and its key[p]."""

    offsets: Ints
    event: Ints
    key: Ints

    def pairs(self, share: int) -> tuple[Ints, Ints]:
        of_share = slice(int(self.offsets[share]), int(self.offsets[share + 1]))
        return self.event[of_share], self.key[of_share]


class Prepared:
    """A run as the instances share it; `reads` are what makes its pieces."""

    def __init__(self, reads: Sequence[Callable[[], Piece]] = ()) -> None:
        self._reads = deque(enumerate(reads))
        self._pieces: list[Piece | None] = [None] * len(reads)
        self._failure: BaseException | None = None
        self._turn = Condition()
        self._shared: dict[str, Any] = {}
        self._making = Lock()

    def pieces(self) -> list[Piece]:
        """All pieces, in the order of their tuples; reads those that nobody has taken on yet."""
        while (taken := self._take()) is not None:
            number, read = taken
            try:
                piece = read()
            except BaseException as error:
                self._fail(error)
                raise
            with self._turn:
                self._pieces[number] = piece
                self._turn.notify_all()
        with self._turn:
            self._turn.wait_for(lambda: self._failure is not None or None not in self._pieces)
            if self._failure is not None:
                raise self._failure
            return [piece for piece in self._pieces if piece is not None]

    def _take(self) -> tuple[int, Callable[[], Piece]] | None:
        with self._turn:
            return self._reads.popleft() if self._reads else None

    def _fail(self, error: BaseException) -> None:
        """Nobody shall wait for a piece that never comes."""
        with self._turn:
            self._failure = error
            self._reads.clear()
            self._turn.notify_all()

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What a kind of operator computes once a run for all instances, under a name of its own."""
        with self._making:
            if name not in self._shared:
                self._shared[name] = make()
            found: T = self._shared[name]
            return found


def cuts(tuples: int, keys: float, *, pieces: int) -> list[slice]:
    """A run of tuples with so many keys each, as far as is known, in at most so many pieces, all alike.

    >>> cuts(2_000, 150.0, pieces=3)
    [slice(0, 666, None), slice(666, 1333, None), slice(1333, 2000, None)]
    >>> cuts(2_000, 1.0, pieces=3)
    [slice(0, 2000, None)]
    """
    n = max(1, min(pieces, tuples, int(tuples * keys) // SHORTEST))
    return [slice(tuples * i // n, tuples * (i + 1) // n) for i in range(n)]
