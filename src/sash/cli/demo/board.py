"""The latest numbers of the demo's queries, as a table for a terminal and as lines for anything else.

All numbers come from the feed that the live page shows too; what was not measured is a dash.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rich.table import Table

from sash.dashboard.feed import Feed

DASH = "–"
COLUMNS = (
    "query", "quotes", "per second", "watermark", "open windows", "late", "reports", "degree", "batch",
)  # fmt: skip


class Board:
    """The latest frame of each query."""

    def __init__(self, feed: Feed, names: Mapping[str, str]) -> None:
        """`names`: what the queries of the feed are called here."""
        self._feed, self._number, self._names = feed, 0, names
        self.frames: dict[str, Mapping[str, Any]] = {name: {} for name in names.values()}

    def update(self) -> None:
        self._number, messages = self._feed.since(self._number)
        for message in messages:
            # A micro-batch without data, which Spark adds to move time, has no rate.
            if message["kind"] == "frame" and message["query"] in self._names:
                name = self._names[message["query"]]
                rate = message["rate"] if message["events"] else self.frames[name].get("rate")
                self.frames[name] = {**message, "rate": rate}

    def total(self, query: str, count: str) -> int:
        """Of all micro-batches so far."""
        return int(self.frames[query].get("totals", {}).get(count, 0))

    def behind(self, quotes: int) -> list[str]:
        """The queries that have not read so many quotes yet."""
        return [name for name in self.frames if self.total(name, "events") < quotes]

    def silent(self) -> list[str]:
        """The queries that have not reported anything yet."""
        return [name for name in self.frames if not self.total(name, "reports")]

    def table(self, title: str) -> Table:
        table = Table(title=title, title_justify="left")
        for column in COLUMNS:
            table.add_column(column, justify="left" if column == "query" else "right")
        for row in self.rows():
            table.add_row(*row)
        return table

    def rows(self) -> list[tuple[str, ...]]:
        """In the order of COLUMNS."""
        return [
            (
                name,
                f"{self.total(name, 'events'):,}",
                _number(frame.get("rate") or None),  # Spark has 0 for a first micro-batch
                _clock(frame.get("watermark")),
                _open(frame.get("open")),
                f"{self.total(name, 'late'):,}",
                f"{self.total(name, 'reports'):,}",
                _number(frame.get("degree")),
                DASH if frame.get("latency") is None else f"{frame['latency'] / 1000:.1f} s",
            )
            for name, frame in self.frames.items()
        ]

    def lines(self) -> list[str]:
        """One for each query, without a control character."""
        return [
            f"{name:<9}"
            + ", ".join(f"{column} {cell}" for column, cell in zip(COLUMNS[1:], row, strict=True))
            for name, *row in self.rows()
        ]


def _number(given: float | None) -> str:
    return DASH if given is None else f"{given:,.0f}"


def _clock(milliseconds: int | None) -> str:
    return DASH if milliseconds is None else f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%H:%M:%S}"


def _open(windows: int | None) -> str:
    return DASH if windows is None else f"{windows} per symbol"
