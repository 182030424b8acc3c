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
SPEECH = re.compile(r"\b(asked|heard|said|says|speaks|told)\b")
"""Such a name does not show what it holds: a table, a query, a message, an argument."""


def modules(*folders: str) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_a_class_name_exists_once() -> None:
    names = Counter(name for _, text in modules("src") for name in re.findall(r"(?m)^ *class (\w+)", text))
    assert [name for name, count in names.items() if count > 1] == []


def test_no_name_is_a_verb_of_speech() -> None:
    found = [
        f"{path}:{token.start[0]} {token.string}"
        for path, text in modules("src", "tests", "examples", "tools", "benchmarks")
        if SPEECH.search(text)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and SPEECH.fullmatch(token.string)
    ]
    assert found == []


def aliases(text: str) -> Iterator[tuple[str, str]]:
    """The type aliases of a module: names in capitals and small letters for a type that has no name."""
    for node in ast.parse(text).body:
        match node:
            case ast.AnnAssign(ast.Name(name), ast.Name("TypeAlias"), ast.expr() as value):
                yield name, ast.unparse(value)
            case ast.Assign([ast.Name(name)], ast.Subscript() | ast.BinOp() | ast.Name() | ast.Attribute()):
                if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name):
                    yield name, ast.unparse(node.value)


def test_an_alias_has_a_name_of_its_own() -> None:
    """Not that of a class, nor of an alias of something else."""
    classes: set[str] = set()
    meanings: dict[str, set[str]] = {}
    for _, text in modules("src"):
        classes.update(re.findall(r"(?m)^ *class (\w+)", text))
        for name, value in aliases(text):
            meanings.setdefault(name, set()).add(value)
    assert sorted(classes & meanings.keys()) == []
    assert sorted(name for name, values in meanings.items() if len(values) > 1) == []
