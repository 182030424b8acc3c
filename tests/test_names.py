"""Names in the tree: a class name exists once, and none is a verb of speech."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPEECH = {"ask", "asked", "asks", "heard", "hears", "said", "say", "says", "speaks", "tells", "told"}
"""A name with such a part does not show what it holds: a table, a query, a message, an argument."""


def modules(*folders: str) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_a_class_name_exists_once() -> None:
    names = Counter(name for _, text in modules("src") for name in re.findall(r"(?m)^ *class (\w+)", text))
    assert [name for name, count in names.items() if count > 1] == []


def parts(name: str) -> set[str]:
    """
    >>> sorted(parts("_told_of")), sorted(parts("AskedFor")), sorted(parts("ASKED"))
    (['of', 'told'], ['asked', 'for'], ['asked'])
    """
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_no_part_of_a_name_is_a_verb_of_speech() -> None:
    """But of the name of a test, which is a sentence."""
    found = [
        f"{path}:{token.start[0]} {token.string}"
        for path, text in modules("src", "tests", "examples", "tools", "benchmarks")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and not token.string.startswith("test_")
        if parts(token.string) & SPEECH
    ]
    assert found == []


def aliases(text: str) -> Iterator[str]:
    """The type aliases and type variables of a module: names in capitals and small letters."""
    for node in ast.parse(text).body:
        match node:
            case ast.AnnAssign(ast.Name(name), ast.Name("TypeAlias"), ast.expr()):
                yield name
            case ast.Assign([ast.Name(name)], ast.Subscript() | ast.BinOp() | ast.Name() | ast.Attribute()):
                if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name):
                    yield name
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("TypeVar" | "ParamSpec"))) if len(name) > 1:
                yield name


def test_an_alias_is_defined_once_and_has_no_name_of_a_class() -> None:
    """Not even twice as the same: whoever needs it imports it. Type variables of one letter are free."""
    classes: set[str] = set()
    places: dict[str, list[str]] = {}
    for path, text in modules("src"):
        classes.update(re.findall(r"(?m)^ *class (\w+)", text))
        for name in aliases(text):
            places.setdefault(name, []).append(str(path))
    assert sorted(classes & places.keys()) == []
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
