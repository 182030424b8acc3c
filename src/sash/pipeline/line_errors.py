"""Errors that name the line of the file with the mistake; `PipelineError` puts file and line before it.

What is wrong is found, and worded, where it is checked: `document.py` (tables and keys), `value_readers.py`
(values), `contradictions.py` (values that exclude each other), `calls.py` and `aggregates_and_patterns.py`
(aggregates and patterns as text), `safety.py` (`--safe`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from sash.errors import PipelineError, PipelineErrors, SashError
from sash.pipeline.line_numbers import PathInDocument


@dataclass(frozen=True)
class FileLines:
    """Where everything stands in a file.

    >>> lines = {("stream",): 3, ("stream", "time"): 4}
    >>> FileLines("trades.toml", lines).wrong(("stream", "key"), "key is no column").line
    3
    """

    file: str
    lines: Mapping[PathInDocument, int]

    def wrong(self, place: PathInDocument, reason: str) -> PipelineError:
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


@dataclass(frozen=True)
class Mistakes:
    """What is wrong with several parts of a file, each of which is read although others are wrong."""

    found: list[PipelineError] = field(default_factory=list)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """One part: what is wrong with it is kept."""
        try:
            yield
        except PipelineErrors as errors:
            self.found.extend(errors.errors)
        except PipelineError as error:
            self.found.append(error)


@contextmanager
def all_mistakes() -> Iterator[Mistakes]:
    """What was kept in the block is raised at its end.

    >>> with all_mistakes() as mistakes:
    ...     for line in (9, 4):
    ...         with mistakes.kept():
    ...             raise PipelineError("a.toml", line, "no")
    Traceback (most recent call last):
        ...
    sash.errors.PipelineErrors: a.toml, line 4: no
    a.toml, line 9: no
    """
    mistakes = Mistakes()
    yield mistakes
    if len(mistakes.found) > 1:
        raise PipelineErrors(mistakes.found)
    for error in mistakes.found:
        raise error
