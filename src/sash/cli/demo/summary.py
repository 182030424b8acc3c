"""What the demo leaves behind, and what to try next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from sash.cli.demo.board import Board
from sash.cli.demo.quote_feed import Feeder

SHOWN = 5


def summary(console: Console, board: Board, feeder: Feeder, folder: Path, *, early: bool) -> None:
    """Counts, a few windows, and commands to try next."""
    console.print()
    console.print(_counts(board, folder))
    windows = _latest(folder / "sliding")
    if windows:
        console.print(_windows(windows))
    console.print(
        f"{feeder.quotes:,} quotes in {feeder.files} files{', stopped early' if early else ''}. "
        "Late quotes are counted, not lost; windows that are still open wait for the watermark.\n"
        "To try next:\n"
        f"  sash explain {folder / 'pipeline.toml'}   what its queries mean and cost\n"
        f"  sash run {folder / 'pipeline.toml'}       the same windows once more, from the files\n"
        "  sash ui       the window lab: draw events, see windows, compare engines\n"
        "  sash --help   all commands",
        highlight=False,
    )


def _counts(board: Board, folder: Path) -> Table:
    table = Table(title="what was computed", title_justify="left")
    for column in ("query", "quotes read", "reports", "late", "written"):
        table.add_column(column, justify="left" if column == "query" else "right")
    for name in board.frames:
        counts = [f"{board.total(name, count):,}" for count in ("events", "reports", "late")]
        table.add_row(name, *counts, f"{_size(folder / name) / 1e6:.1f} MB")
    return table


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in _files(folder))


def _files(folder: Path) -> list[Path]:
    """The parquet files of a sink, the oldest first; what is not complete has a name with an underscore."""
    inside = ((file, file.relative_to(folder).parts) for file in folder.rglob("*.parquet"))
    found = (file for file, parts in inside if not any(part.startswith("_") for part in parts))
    return sorted(found, key=lambda file: file.stat().st_mtime)


def _latest(folder: Path) -> list[dict[str, Any]]:
    """The newest windows that were reported, those with the most quotes first."""
    files = _files(folder)
    if not files:
        return []
    rows = pq.ParquetFile(files[-1]).read()
    ends = pc.struct_field(rows["window"], "end")
    newest = rows.filter(pc.equal(ends, pc.max(ends))).sort_by([("n", "descending")])
    found: list[dict[str, Any]] = newest.slice(0, SHOWN).to_pylist()
    return found


def _windows(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="the last 10 seconds of the busiest symbols", title_justify="left")
    for column in ("symbol", "window", "quotes", "high", "low", "traded"):
        table.add_column(column, justify="left" if column in ("symbol", "window") else "right")
    for row in rows:
        window = row["window"]
        table.add_row(
            row["symbol"],
            f"{window['start']:%H:%M:%S} – {window['end']:%H:%M:%S}",
            f"{row['n']:,}",
            f"{row['high']:.2f}",
            f"{row['low']:.2f}",
            f"{row['traded']:,}",
        )
    return table
