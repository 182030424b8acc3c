"""Small tables for people: aligned text for terminals, HTML for notebooks.

Colours are the reader's own (`inherit`), so that light and dark themes both work, and nothing but standard
elements is used, so that no style sheet has to come along.

>>> print("\\n".join(as_text(("bucket", "holds"), [("4", "events"), ("12", "panes")])))
bucket  holds
     4  events
    12  panes
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

CELL = 'style="text-align:left;vertical-align:top;padding:0.2em 0.8em 0.2em 0"'
_NUMBER = re.compile(r"[-+−]?[\d,]*\.?\d+(e[-+]?\d+)?( ?[a-zA-Zµ%]{1,5})?|–|null")
"""Numbers, also with a unit, and what stands where there is none."""


def as_text(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """One line per row. Columns of numbers end where the others begin."""
    body = [list(row) for row in rows]
    columns = list(zip(heads, *body, strict=True))
    widths = [max(map(len, column)) for column in columns]
    right = [bool(body) and all(_NUMBER.fullmatch(cell) for cell in column[1:]) for column in columns]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in [list(heads), *body]
    ]


def as_html(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells are HTML already: the caller escapes them."""
    head = "".join(f'<th scope="col" {CELL}>{name}</th>' for name in heads)
    body = "".join("<tr>" + "".join(f"<td {CELL}>{part}</td>" for part in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def block(kind: str, parts: Iterable[str]) -> str:
    """One element of a notebook's page; `kind` is for those who want to style it."""
    return f'<div class="sash-{kind}" style="color:inherit">{"".join(parts)}</div>'
