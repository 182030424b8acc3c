"""Names in the tree: a class name exists once, and none is a verb of speech."""

from __future__ import annotations

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
