"""Tables 'paper | here | why it differs': printed, and written into the page that shows them.

A page marks the place of a table by its name. What stands between the two marks is replaced by the table
and the figures that the same run has drawn, so that both are always those of one run:

    <!-- stretch-1 -->
    …
    <!-- /stretch-1 -->
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class PaperTable:
    """One experiment of a paper beside our own run of it."""

    name: str
    title: str
    rows: list[tuple[str, str, str, str]] = field(default_factory=list)
    figures: dict[str, Path] = field(default_factory=dict)
    """By what they show; they lie beside the page."""
    measured: str = ""
    """At which commit, when, beside how much other work: a comment above the table, not shown."""

    def add(self, what: str, *, paper: str, here: str, why: str = "") -> None:
        self.rows.append((what, paper, here, why))

    def markdown(self) -> str:
        """
        >>> table = PaperTable("q2", "forwarder")
        >>> table.add("tuples a second", paper="120,000", here="50,000", why="Python")
        >>> print(table.markdown())
        | forwarder | paper | here | why it differs |
        |---|---|---|---|
        | tuples a second | 120,000 | 50,000 | Python |
        """
        head = f"| {self.title} | paper | here | why it differs |\n|---|---|---|---|"
        return "\n".join([head, *(f"| {' | '.join(row)} |" for row in self.rows)])

    def written_into(self, text: str) -> str:
        """The page with this table at its place; unchanged if it has none."""
        shown = [f"![{what}]({path.name})" for what, path in self.figures.items()]
        comment = [f"<!-- measured: {self.measured} -->"] if self.measured else []
        return with_section(text, self.name, "\n\n".join([*shown, *comment, self.markdown()]))


def with_section(text: str, name: str, content: str) -> str:
    """The text with `content` between the marks of this name."""
    place = rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)"
    return re.sub(place, lambda marks: f"{marks[1]}\n{content}\n\n{marks[2]}", text, flags=re.S)


def write_section(page: Path, name: str, content: str) -> None:
    page.write_text(with_section(page.read_text(encoding="utf-8"), name, content), encoding="utf-8")


def publish(tables: Iterable[PaperTable], page: Path | None) -> None:
    """Print the tables, and write those into the page that it has a place for."""
    for table in tables:
        print(f"\n{table.markdown()}", flush=True)
        if page is not None and page.is_file():
            page.write_text(table.written_into(page.read_text(encoding="utf-8")), encoding="utf-8")
