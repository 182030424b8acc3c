"""The table of all public names: `python tools/public_names.py docs/reference/names.md`.

One line per name of `sash` and of its public modules, with the first sentence of its docstring. The page
is part of the repository; a test compares it with what the code has today.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from inspect import getdoc, isclass, ismodule
from pathlib import Path
from typing import Any

import sash
from sash.aggregation import built_in
from sash.errors import SashError, SashWarning
from sash.operators.patterns import declared
from sash.semantics import windows

TITLE = """# All public names

Written by `make docs` from the docstrings. Each page of this reference has the rest.
"""
_HOMES = {built_in: "aggregate", windows: "window", declared: "pattern"}
"""What functions and classes of these modules are called; others are called what Python calls them."""

LONG = 60
"""Constants are shown up to this many characters."""


def page() -> str:
    """The page as Markdown."""
    modules = {name: value for name, value in _public(sash) if ismodule(value)}
    own = [(name, value) for name, value in _public(sash) if not ismodule(value)]
    sections = [_section("sash", own), _section("modules", modules.items())]
    sections += [_section(f"sash.{name}", _public(module)) for name, module in sorted(modules.items())]
    return "\n".join([TITLE, *sections])


def _public(module: Any) -> list[tuple[str, Any]]:
    names = getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]
    found = [(name, getattr(module, name)) for name in names if not name.startswith("__")]
    if hasattr(module, "__all__"):
        return found
    return [(name, value) for name, value in found if getattr(value, "__module__", "") == module.__name__]


def _section(title: str, names: Iterable[tuple[str, Any]]) -> str:
    rows = sorted((_kind(name, value), name, _first_sentence(value)) for name, value in names)
    lines = (f"| `{name}` | {kind} | {sentence} |" for kind, name, sentence in rows)
    return "\n".join([f"## {title}", "", "| name | kind | what it is |", "|---|---|---|", *lines, ""])


def _kind(name: str, value: Any) -> str:
    for home, kind in _HOMES.items():
        made_there = getattr(value, "__module__", "").startswith(home.__name__)  # and not imported by it
        if made_there and getattr(home, name, None) is value:
            return kind
    if ismodule(value):
        return "module"
    if isclass(value):
        return "error" if issubclass(value, SashError | SashWarning) else "class"
    return "function" if callable(value) else "constant"


def _first_sentence(value: Any) -> str:
    """Of the docstring, on one line.

    >>> _first_sentence(sash.rows)
    'A window of `size` events of a key, every `every` events (tumbling when not given).'
    """
    if not (ismodule(value) or callable(value)):
        shown = repr(value)
        return f"`{shown}`" if len(shown) <= LONG else f"a {type(value).__name__} with {len(value)} entries"
    paragraph = " ".join(re.split(r"\n[ \t]*\n", getdoc(value) or "", maxsplit=1)[0].split())
    sentence = re.split(r"(?<=\.) (?=[A-Z`])", paragraph, maxsplit=1)[0]
    return sentence.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(page(), encoding="utf-8")
        print(path)
