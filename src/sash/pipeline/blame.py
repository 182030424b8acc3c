"""Errors that point at the line of the file which is to blame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sash.errors import PipelineError, SashError
from sash.pipeline.positions import Place


@dataclass(frozen=True)
class Blame:
    """Where everything stands in a file.

    >>> lines = {("stream",): 3, ("stream", "time"): 4}
    >>> Blame("trades.toml", lines).wrong(("stream", "key"), "key is no column").line
    3
    """

    file: str
    lines: Mapping[Place, int]

    def wrong(self, place: Place, reason: str) -> PipelineError:
        """The error about what stands there; about its table, where the key was left out."""
        known = (self.lines.get(place[:length]) for length in range(len(place), 0, -1))
        return PipelineError(self.file, next(filter(None, known), None), reason)

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Errors in the block are about what stands there."""
        try:
            yield
        except PipelineError:
            raise
        except SashError as error:
            raise self.wrong(place, str(error)) from error
