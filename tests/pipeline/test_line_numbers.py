"""Lines of a TOML document, for everything that the standard library finds in it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

from hypothesis import given, strategies as st

from sash.pipeline.line_numbers import PathInDocument, lines_of

TRICKY = '''\
# [comment]
top = 1
"quoted # key" = "a [bracket] in a text"    # and = in a comment
dotted . name = 2
[table]
text = """
[not.a.table]
x = 3 "" still text"""
literal = \'\'\'
# not a comment\'\'\'
when = 1979-05-27 07:32:00
list = [ 1, [2,
  3], # ]
  { a = 4, b.c = "}" },
]
[ table . inner ]
x = 5
[[many]]
x = 6
[[many]]
[many.sub]
x = 7
[["x y"]]
z = [
]
'''


def places(value: Any, place: PathInDocument = ()) -> Iterator[PathInDocument]:
    """Everything that has a name or a position."""
    if place:
        yield place
    if isinstance(value, dict | list):
        for name, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(child, (*place, name))


def test_everything_that_toml_finds_has_its_line() -> None:
    lines = lines_of(TRICKY)
    assert set(places(tomllib.loads(TRICKY))) == set(lines)
    assert {place: line for place, line in lines.items() if place[-1] in ("x", 2, "c", "inner", "z")} == {
        ("table", "list", 2): 14,
        ("table", "list", 2, "b", "c"): 14,
        ("table", "inner"): 16,
        ("table", "inner", "x"): 17,
        ("many", 0, "x"): 19,
        ("many", 1, "sub", "x"): 22,
        ("x y", 0, "z"): 24,
    }


NAMES = st.text("ab \"'#[]=.", min_size=1, max_size=4)
SCALARS = st.one_of(st.integers(), st.booleans(), st.text("ab\"'#[]{}=,\n\\ ", max_size=6))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
DOCUMENTS = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=3), max_size=3)


class Writer:
    """A document that is written piece by piece, and the line of each piece."""

    def __init__(self) -> None:
        self.text, self.lines = "", dict[PathInDocument, int]()

    def note(self, place: PathInDocument) -> None:
        self.lines.setdefault(place, self.text.count("\n") + 1)

    def value(self, value: Any, place: PathInDocument, gap: str) -> None:
        self.note(place)
        if isinstance(value, list):
            self.text += "["
            for number, element in enumerate(value):
                self.text += gap
                self.value(element, (*place, number), gap)
                self.text += f" ,{gap}"
            self.text += "]"
        elif isinstance(value, dict):
            self.text += "{"
            for number, (name, element) in enumerate(value.items()):
                self.text += ", " * bool(number)
                self.note((*place, name))
                self.text += f"{quoted(name)} = "
                self.value(element, (*place, name), gap)
            self.text += "}"
        else:
            self.text += quoted(value) if isinstance(value, str) else str(value).lower()


def quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


@given(DOCUMENTS, st.sampled_from(["", "\n# , ]\n"]))
def test_any_document_that_is_written_is_found_again_line_by_line(
    document: dict[str, dict[str, Any]], gap: str
) -> None:
    writer = Writer()
    for table, pairs in document.items():
        writer.text += "\n# x = [\n"
        writer.note((table,))
        writer.text += f"[{quoted(table)}]\n"
        for name, value in pairs.items():
            writer.note((table, name))
            writer.text += f"{quoted(name)} = "
            writer.value(value, (table, name), gap)
            writer.text += " # }\n"
    assert tomllib.loads(writer.text) == document
    assert lines_of(writer.text) == writer.lines
