"""Docstrings as Markdown: a griffe extension for the API reference.

Sash's docstrings are written to be read as text. Some of their habits mean something else in Markdown:

    >>> code          is a quotation of quotations there     →  a block of Python with its output
    name:  meaning    lines run together there               →  a list
    indented text     may hold what looks like a link        →  a block of text
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle, groupby
from textwrap import dedent
from typing import Any

import griffe

_PARAMETER = re.compile(r"(?P<name>\w+(?:, \w+)*):\s+(?P<meaning>\S.*)")


class Markdown(griffe.Extension):
    """Rewrites every docstring when it is found."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """The same text, its paragraphs marked for what they are.

    >>> print(as_markdown("time:  when\\nkey:   whose\\n\\n>>> 1 + 1\\n2"))
    - **time**: when
    - **key**: whose
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    paragraphs = re.split(r"\n[ \t]*\n", docstring.strip("\n"))
    runs = groupby(paragraphs, key=_language)
    return "\n\n".join(_marked(language, list(run)) for language, run in runs)


def _language(paragraph: str) -> str:
    """Of the code that a paragraph is; '' for prose."""
    if paragraph.startswith(">>>"):
        return "pycon"
    return "text" if all(line.startswith("    ") for line in paragraph.splitlines()) else ""


def _marked(language: str, paragraphs: list[str]) -> str:
    if language:
        code = dedent("\n\n".join(paragraphs))
        return f"```{language}\n{code}\n```"
    return "\n\n".join("\n".join(_items(_visible(paragraph).splitlines())) for paragraph in paragraphs)


def _visible(prose: str) -> str:
    """`every <duration>` outside of quotation marks for code would be taken for HTML, and vanish."""
    return "`".join(
        part if within_code else part.replace("<", "&lt;")
        for within_code, part in zip(cycle((False, True)), prose.split("`"), strict=False)
    )


def _items(lines: list[str]) -> Iterator[str]:
    """The lines of a paragraph; as a list when each names a parameter or goes on with its meaning."""
    named = [_PARAMETER.fullmatch(line) for line in lines]
    continued = [line.startswith("    ") for line in lines]
    if named[0] is None or not all(name or more for name, more in zip(named, continued, strict=True)):
        yield from lines
        return
    for line, name, more in zip(lines, named, continued, strict=True):
        yield line if more or name is None else f"- **{name['name']}**: {name['meaning']}"
