"""A TOML file as a `Pipeline`, or a `PipelineError` that names the line.

What can be known without data is checked here: words, types, keys that are unknown or missing, and what
does not go together. Columns are checked when the query is bound to its source.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, TypeVar

from sash.errors import PipelineError, did_you_mean
from sash.pipeline import readers
from sash.pipeline.aggregates_and_patterns import aggregate_of
from sash.pipeline.blame import Blame
from sash.pipeline.contradictions import contradictions
from sash.pipeline.positions import lines_of
from sash.pipeline.schema import (
    EACH,
    READ,
    Pipeline,
    QueryTable,
    RunTable,
    SinkTable,
    SourceTable,
    StreamTable,
)

Table = TypeVar("Table")

_TABLES: Mapping[str, type] = {
    "source": SourceTable,
    "stream": StreamTable,
    "query": QueryTable,
    "sink": SinkTable,
    "late": SinkTable,
    "run": RunTable,
}
_FREE = ("aggregates", "spark")
_NEEDED = ("source", "stream", "query", "aggregates", "sink")
_UNCLOSED = {
    "Unterminated string": '"',
    "Illegal character '\\n'": '"',
    "Found invalid character '\\n'": "'",
    'Expected "\'"': "'",
}
"""What Python's parser reports where a text does not end, and the quote that it began with."""
_AT = re.compile(r" \(at (?:line (?P<line>\d+), column \d+|end of document)\)$")


def read(path: str | Path) -> Pipeline:
    """The pipeline that a file declares."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise PipelineError(str(path), None, f"the file cannot be read: {reason}") from None
    return _Document(file, text).pipeline()


def _not_toml(file: Path, text: str, error: str) -> PipelineError:
    at, reason = _AT.search(error), _AT.sub("", error)
    quote = _UNCLOSED.get(reason)
    if at and at["line"]:
        line = int(at["line"])
    else:  # the parser came to the end: the quote is in the last line with an odd number of them
        lines = enumerate(text.splitlines(), start=1)
        odd = [number for number, words in lines if quote and words.count(quote) % 2]
        line = odd[-1] if odd else text.count("\n") + 1
    return PipelineError(
        str(file), line, f"this is not TOML: {'a quote is not closed' if quote else reason}"
    )


class _Document:
    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        try:
            self._tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _not_toml(file, text, str(error)) from None
        self._blame = Blame(str(file), lines_of(text))

    def pipeline(self) -> Pipeline:
        known = (*_TABLES, *_FREE)
        for name, table in self._tables.items():
            if name not in known:
                raise self._blame.wrong((name,), _unknown(f"there is no table [{name}]", name, known))
            if not isinstance(table, dict):
                raise self._blame.wrong((name,), f"{name} must be a table: [{name}]")
        for name in _NEEDED:
            if name not in self._tables:
                raise PipelineError(str(self._file), None, f"the table [{name}] is missing")
        read: dict[str, Any] = {
            name: self._table(name, made) for name, made in _TABLES.items() if name in self._tables
        }
        with self._blame.at("spark"):
            settings = readers.options(self._tables.get("spark", {}), "spark")
        pipeline = Pipeline(
            file=self._file, blame=self._blame, aggregates=self._aggregates(), spark=settings, **read
        )
        for place, reason in contradictions(pipeline, self._tables):
            raise self._blame.wrong(place, reason)
        return pipeline

    def _table(self, name: str, made: type[Table]) -> Table:
        given = self._tables[name]
        known = {one.name: one for one in fields(made)}  # type: ignore[arg-type]
        for key in given:
            if key not in known:
                raise self._blame.wrong((name, key), _unknown(f"[{name}] has no key {key!r}", key, known))
        for key, one in known.items():
            required = one.default is MISSING and one.default_factory is MISSING
            if required and key not in given:
                raise self._blame.wrong((name,), f"[{name}] lacks the key {key!r}")
        return made(**{key: self._value(name, known[key], given[key]) for key in given})

    def _value(self, table: str, one: Field[Any], given: Any) -> Any:
        with self._blame.at(table, one.name):
            value = one.metadata[READ](given, one.name)
        each = one.metadata[EACH]
        if each is None:
            return value
        elements = []
        for number, element in enumerate(value):
            with self._blame.at(table, one.name, number):
                elements.append(each(element, one.name))
        return tuple(elements)

    def _aggregates(self) -> dict[str, Any]:
        found = {}
        for name, text in self._tables["aggregates"].items():
            with self._blame.at("aggregates", name):
                found[name] = aggregate_of(text, argument=name)
        if not found:
            reason = '[aggregates] must have at least one, such as n = "count()"'
            raise self._blame.wrong(("aggregates",), reason)
        return found


def _unknown(problem: str, name: str, known: Any) -> str:
    hint = did_you_mean(name, known)
    return f"{problem}. {hint + ' ' if hint else ''}There are {', '.join(known)}"
