"""Which line of a TOML document each table, key and array element begins on.

    lines_of(text)  =  { ("query", "windows", 1): 12, … }

The standard library reads TOML and forgets where things stood. This walks a document that it has accepted
already, so it need not recognise what is wrong, only where each thing begins.

>>> lines_of('[stream]\\ntime = "ts"\\nkey = ["a",\\n  "b"]\\n')[("stream", "key", 1)]
4
"""

from __future__ import annotations

import re
import tomllib
from typing import TypeAlias

PathInDocument: TypeAlias = tuple[str | int, ...]
"""The way to a value: names of tables and keys, and positions in arrays."""

_BLANK = re.compile(r"(?:\s|#[^\n]*)*")
_TEXT = (
    r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\.|[^"\\\n])*"' r"|'[^'\n]*'"
)  # fmt: skip
_STRING = re.compile(_TEXT, re.S)
_PART = rf"(?:{_TEXT}|[A-Za-z0-9_-]+)"
_KEY = re.compile(rf"{_PART}(?:[ \t]*\.[ \t]*{_PART})*", re.S)
_SCALAR = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[PathInDocument, int]:
    """The line, counted from 1, of everything that a well-formed document has a name or a position for."""
    walk = _Walk(text)
    walk.document()
    return walk.lines


class _Walk:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.lines: dict[PathInDocument, int] = {}
        self._elements: dict[PathInDocument, int] = {}
        """Of each array of tables, how many there were so far."""

    def document(self) -> None:
        table: PathInDocument = ()
        while self._next():
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)

    def _header(self) -> PathInDocument:
        line, brackets = self._line(), 1 + self.text.startswith("[[", self.at)
        self.at += brackets
        self._next()
        *outer, name = self._key()
        place = (*self._resolved(outer), name)
        if brackets == 2:
            number = self._elements.get(place, 0)
            self._elements[place] = number + 1
            self._note(place, line)
            place = (*place, number)
        else:
            place = self._resolved([*outer, name])
        self._note(place, line)
        self._next()
        self.at += brackets
        return place

    def _resolved(self, names: list[str]) -> PathInDocument:
        """A name inside of an array of tables means the latest of them."""
        place: PathInDocument = ()
        for name in names:
            place = (*place, name)
            if place in self._elements:
                place = (*place, self._elements[place] - 1)
        return place

    def _pair(self, table: PathInDocument) -> None:
        line = self._line()
        for name in self._key():
            table = (*table, name)
            self._note(table, line)
        self._next()
        self.at += 1  # the equals sign
        self._value(table)

    def _value(self, place: PathInDocument) -> None:
        self._next()
        self._note(place, self._line())
        if self.text.startswith("[", self.at):
            self._enclosed(place, "]", keyed=False)
        elif self.text.startswith("{", self.at):
            self._enclosed(place, "}", keyed=True)
        else:
            found = _STRING.match(self.text, self.at) or _SCALAR.match(self.text, self.at)
            self.at = found.end() if found else self.at

    def _enclosed(self, place: PathInDocument, end: str, *, keyed: bool) -> None:
        self.at += 1
        number = 0
        while self._next() and not self.text.startswith(end, self.at):
            if self.text.startswith(",", self.at):
                self.at += 1
            elif keyed:
                self._pair(place)
            else:
                self._value((*place, number))
                number += 1
        self.at += 1

    def _key(self) -> list[str]:
        found = _KEY.match(self.text, self.at)
        assert found is not None, "the document was well-formed"
        self.at = found.end()
        # The standard library knows what a quoted key means; a key may have several parts.
        names, inner = [], tomllib.loads(f"{found[0]} = 0")
        while isinstance(inner, dict):
            ((name, inner),) = inner.items()
            names.append(name)
        return names

    def _next(self) -> bool:
        """Go to what comes after spaces and comments; False at the end."""
        blank = _BLANK.match(self.text, self.at)
        self.at = blank.end() if blank else self.at
        return self.at < len(self.text)

    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _note(self, place: PathInDocument, line: int) -> None:
        self.lines.setdefault(place, line)
