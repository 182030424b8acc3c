"""A TOML file as a `Pipeline`, or a `PipelineError` that names the line.

What can be known without data is checked here: words, types, keys that are unknown or missing, and what
does not go together. Columns are checked when the query is bound to its source.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from sash.errors import PipelineError, did_you_mean
from sash.pipeline import value_readers
from sash.pipeline.aggregates_and_patterns import aggregate_of
from sash.pipeline.contradictions import contradictions
from sash.pipeline.line_errors import FileLines, all_mistakes
from sash.pipeline.line_numbers import PathInDocument, lines_of
from sash.pipeline.schema import (
    EACH,
    OWN_STREAM_KEYS,
    READ,
    DeclaredQuery,
    NamedQueryTable,
    Pipeline,
    QueryTable,
    RunTable,
    SinkTable,
    SourceTable,
    StreamTable,
    titled,
)

Table = TypeVar("Table")

_OF_QUERY = ("aggregates", "sink", "late")
"""Tables that stand beside [query], and below each of several [[query]]."""
_SHARED = ("source", "stream", "query", "run", "spark")
_BARE = re.compile(r"\s*(?P<key>[\w.-]+)\s*=\s*(?P<text>[A-Za-z_./][^\"'#\[\]{}]*)")
"""A line whose value is a text without its quotes."""
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
    words = "a quote is not closed" if quote else reason
    bare = _BARE.match(text.splitlines()[line - 1]) if reason == "Invalid value" else None
    if bare:
        words = f'text needs quotes: {bare["key"]} = "{bare["text"].strip()}"'
    return PipelineError(str(file), line, f"this is not TOML: {words}")


class _MissingTable(PipelineError):
    """Left out where a table has an unknown name, which may be meant for this one."""


class _Document:
    def __init__(self, file: Path, text: str) -> None:
        self._file = file
        try:
            self._tables = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise _not_toml(file, text, str(error)) from None
        except (RecursionError, ValueError) as error:  # tables in tables, a number of thousands of digits
            raise PipelineError(str(file), None, f"the file cannot be read: {error}") from None
        self._file_lines = FileLines(str(file), lines_of(text))

    def pipeline(self) -> Pipeline:
        several = isinstance(self._tables.get("query"), list)
        stream = StreamTable(time="")  # queries are read also where theirs cannot be
        with all_mistakes() as mistakes:
            for name in self._tables:
                with mistakes.kept():
                    self._require_known_table(name, several=several)
            misnamed = bool(mistakes.found)
            with mistakes.kept():
                stream = self._needed("stream", StreamTable)
            with mistakes.kept():
                source = self._needed("source", SourceTable)
            with mistakes.kept():
                queries = self._several(stream) if several else self._only(stream)
            with mistakes.kept():
                run = self._needed("run", RunTable) if "run" in self._tables else RunTable()
            with mistakes.kept(), self._file_lines.at("spark"):
                given = self._tables.setdefault("spark", {})
                self._require_table(("spark",), self._tables)
                settings = value_readers.options(given, "spark")
            if misnamed:  # one of them is the missing one
                mistakes.found[:] = [one for one in mistakes.found if not isinstance(one, _MissingTable)]
        pipeline = Pipeline(
            file=self._file, file_lines=self._file_lines, source=source, queries=queries, run=run,
            spark=settings,
        )  # fmt: skip
        with all_mistakes() as mistakes:
            for place, reason in contradictions(pipeline):
                mistakes.found.append(self._file_lines.wrong(place, reason))
        return pipeline

    def _require_known_table(self, name: str, *, several: bool) -> None:
        known = (*_SHARED, *_OF_QUERY)
        if name not in known:
            raise self._file_lines.wrong((name,), _unknown(f"there is no table [{name}]", name, known))
        if several and name in _OF_QUERY:
            reason = f"[{name}] must be [query.{name}], below its [[query]], where there are several"
            raise self._file_lines.wrong((name,), reason)

    def _needed(self, name: str, made: type[Table]) -> Table:
        self._require_table((name,), self._tables)
        return self._table((name,), self._tables[name], made)

    def _require_table(self, place: PathInDocument, tables: Mapping[str, Any]) -> None:
        name = place[-1]
        if name not in tables:
            line = self._file_lines.wrong(place, "").line
            raise _MissingTable(str(self._file), line, f"the table {titled(place)} is missing")
        if not isinstance(tables[str(name)], dict):
            raise self._file_lines.wrong(place, f"{name} must be a table: {titled(place)}")

    def _only(self, stream: StreamTable) -> tuple[DeclaredQuery, ...]:
        with all_mistakes() as mistakes:
            with mistakes.kept():
                query = self._needed("query", QueryTable)
            with mistakes.kept():
                outputs = self._outputs((), self._tables)
        return (DeclaredQuery(name="", at=(), stream=stream, query=query, **outputs),)

    def _several(self, stream: StreamTable) -> tuple[DeclaredQuery, ...]:
        queries = []
        with all_mistakes() as mistakes:
            for number, given in enumerate(self._tables["query"]):
                with mistakes.kept():
                    queries.append(self._one_of_several(number, given, stream))
        return tuple(queries)

    def _one_of_several(self, number: int, given: Any, stream: StreamTable) -> DeclaredQuery:
        place = ("query", number)
        if not isinstance(given, dict):
            raise self._file_lines.wrong(place, "query must be tables: [[query]]")
        own = {one.name: one for one in fields(StreamTable) if one.name in OWN_STREAM_KEYS}
        known = own | {one.name: one for one in fields(NamedQueryTable)}
        keys = {key: value for key, value in given.items() if key not in _OF_QUERY}
        with all_mistakes() as mistakes:
            with mistakes.kept():
                read = self._values(place, keys, known, also=_OF_QUERY)
            with mistakes.kept():
                outputs = self._outputs(place, given)
        stream = replace(stream, **{key: read.pop(key) for key in own if key in read})
        query = NamedQueryTable(**read)
        return DeclaredQuery(name=query.name, at=place, stream=stream, query=query, **outputs)

    def _outputs(self, at: PathInDocument, tables: Mapping[str, Any]) -> dict[str, Any]:
        """What a query computes, and where it goes; `tables` stand at `at`."""
        found: dict[str, Any] = {}
        with all_mistakes() as mistakes:
            for name in _OF_QUERY:
                if name == "late" and name not in tables:
                    continue
                place = (*at, name)
                with mistakes.kept():
                    self._require_table(place, tables)
                    given = tables[name]
                    found[name] = (
                        self._aggregates(place, given)
                        if name == "aggregates"
                        else self._table(place, given, SinkTable)
                    )
        return found

    def _table(self, place: PathInDocument, given: Mapping[str, Any], made: type[Table]) -> Table:
        known = {one.name: one for one in fields(made)}  # type: ignore[arg-type]
        return made(**self._values(place, given, known))

    def _values(
        self,
        place: PathInDocument,
        given: Mapping[str, Any],
        known: Mapping[str, Field[Any]],
        also: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        """What stands at the keys of a table; `also`: tables that may stand below it."""
        title, values = titled(place), {}
        with all_mistakes() as mistakes:
            for key in given:
                if key not in known:
                    problem = _unknown(f"{title} has no key {key!r}", key, (*known, *also))
                    mistakes.found.append(self._file_lines.wrong((*place, key), problem))
            misnamed = bool(mistakes.found)  # one of them may be a key that is lacking
            for key, one in known.items():
                required = one.default is MISSING and one.default_factory is MISSING
                if key in given:
                    with mistakes.kept():
                        values[key] = self._value((*place, key), one, given[key])
                elif required and not misnamed:
                    mistakes.found.append(self._file_lines.wrong(place, f"{title} lacks the key {key!r}"))
        return values

    def _value(self, place: PathInDocument, one: Field[Any], given: Any) -> Any:
        with self._file_lines.at(*place):
            value = one.metadata[READ](given, one.name)
        each = one.metadata[EACH]
        if each is None:
            return value
        elements = []
        with all_mistakes() as mistakes:
            for number, element in enumerate(value):
                with mistakes.kept(), self._file_lines.at(*place, number):
                    elements.append(each(element, one.name))
        return tuple(elements)

    def _aggregates(self, place: PathInDocument, given: Mapping[str, Any]) -> dict[str, Any]:
        found = {}
        with all_mistakes() as mistakes:
            for name, text in given.items():
                with mistakes.kept(), self._file_lines.at(*place, name):
                    found[name] = aggregate_of(text, argument=name)
        if not found:
            reason = f'{titled(place)} must have at least one, such as n = "count()"'
            raise self._file_lines.wrong(place, reason)
        return found


def _unknown(problem: str, name: str, known: Any) -> str:
    hint = did_you_mean(name, known)
    return f"{problem}. {hint + ' ' if hint else ''}There are {', '.join(known)}"
