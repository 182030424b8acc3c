"""The table of engines as text, Markdown or HTML; the notes follow the grids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from textwrap import wrap

from sash.engines.table import Cell, EngineTable, Grid
from sash.errors import ArgumentError

WIDEST = 34
"""Characters of a text column; longer cells continue in the next line."""


def as_format(table: EngineTable, form: str) -> str:
    if form not in FORMATS:
        raise ArgumentError("format", form, f"one of {', '.join(FORMATS)}")
    return "\n".join(FORMATS[form](table))


def _text(table: EngineTable) -> Iterator[str]:
    for grid in table.grids:
        yield from (grid.title, "")
        yield from _text_grid(grid)
        yield ""
    if table.notes:
        yield "evidence and notes"
    for number, note in enumerate(table.notes, start=1):
        yield from wrap(f"[{number}] {note}", 110, subsequent_indent="    ", break_on_hyphens=False)


def _text_grid(grid: Grid) -> Iterator[str]:
    rows = [grid.heads, *(tuple(str(cell) for cell in row) for row in grid.rows)]
    folded = [[wrap(value, WIDEST, break_on_hyphens=False) or [""] for value in row] for row in rows]
    widths = [max(len(line) for row in folded for line in row[column]) for column in range(len(grid.heads))]
    for number, row in enumerate(folded):
        for line in range(max(map(len, row))):
            parts = [cell[line] if line < len(cell) else "" for cell in row]
            yield "  ".join(f"{part:<{width}}" for part, width in zip(parts, widths, strict=True)).rstrip()
        if number == 0:
            yield "  ".join("─" * width for width in widths)


def _markdown(table: EngineTable) -> Iterator[str]:
    for grid in table.grids:
        yield from (f"### {grid.title}", "")
        yield f"| {' | '.join(grid.heads)} |"
        yield f"|{'---|' * len(grid.heads)}"
        for row in grid.rows:
            yield f"| {' | '.join(_in_markdown(cell) for cell in row)} |"
        yield ""
    for number, note in enumerate(table.notes, start=1):
        yield f"[^{number}]: {_plain(note)}"


def _in_markdown(cell: Cell) -> str:
    return _plain(cell.value) + "".join(f"[^{note}]" for note in cell.notes)


def _plain(text: str) -> str:
    """Without what Markdown would read as its own."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")


def _html(table: EngineTable) -> Iterator[str]:
    yield '<div class="sash-secret-table">'
    for grid in table.grids:
        yield f"<table><caption>{escape(grid.title)}</caption>"
        heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in grid.heads)
        yield f"<thead><tr>{heads}</tr></thead><tbody>"
        for name, *cells in grid.rows:
            body = "".join(f"<td>{_in_html(cell)}</td>" for cell in cells)
            yield f'<tr><th scope="row">{_in_html(name)}</th>{body}</tr>'
        yield "</tbody></table>"
    yield "<ol>"
    for number, note in enumerate(table.notes, start=1):
        yield f'<li id="sash-note-{number}">{escape(note)}</li>'
    yield "</ol></div>"


def _in_html(cell: Cell) -> str:
    links = "".join(f'<sup><a href="#sash-note-{note}">{note}</a></sup>' for note in cell.notes)
    return escape(cell.value) + links


FORMATS: Mapping[str, Callable[[EngineTable], Iterator[str]]] = {
    "text": _text,
    "markdown": _markdown,
    "html": _html,
}
