"""Tables 'paper | here | why it differs': printed, and written into the page that shows them.

A page marks the place of a table by its name. What stands between the two marks is replaced, so that the
numbers of a page are always those of one run:

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
        place = rf"(<!-- {re.escape(self.name)} -->\n).*?(<!-- /{re.escape(self.name)} -->)"
        return re.sub(place, lambda marks: f"{marks[1]}\n{self.markdown()}\n\n{marks[2]}", text, flags=re.S)


def publish(tables: Iterable[PaperTable], page: Path | None) -> None:
    """Print the tables, and write those into the page that it has a place for."""
    for table in tables:
        print(f"\n{table.markdown()}", flush=True)
        if page is not None and page.is_file():
            page.write_text(table.written_into(page.read_text(encoding="utf-8")), encoding="utf-8")
