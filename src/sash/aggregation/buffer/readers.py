"""Readers: each walks the stream at its own pace, and what the slowest has not read is not freed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sash.aggregation.buffer.chunk import Run
from sash.aggregation.buffer.tower import Place

if TYPE_CHECKING:
    from sash.aggregation.buffer.window import WindowBuffer


class Reader:
    """A named position in the stream; it is part of a snapshot. Made by `WindowBuffer.reader`."""

    def __init__(self, buffer: WindowBuffer, name: str, position: int, place: Place) -> None:
        self._buffer, self.name = buffer, name
        self.position, self.place = position, place

    def read(self, *, until: int | None = None) -> Iterator[Run]:
        """The elements from here up to position `until` (default: the end), run by run.

        The reader moves past a run when the next one is asked for, so a run that was not finished is read
        again.
        """
        target = self._buffer.end if until is None else until
        for run in self._buffer.runs(self.position, target):
            yield run
            self.advance(run.start + len(run.columns[0]))

    def advance(self, position: int) -> None:
        """Go forward to `position`, skipping what lies between."""
        self.place = self._buffer.locate(position, after=self)
        self.position = position
        self._buffer.release()

    def close(self) -> None:
        """Hold back nothing any more."""
        self._buffer.forget(self)
