"""One table of all opponents: what `make bench` ends with, and what the documentation shows.

A row is a comparison through the public API: who, with which settings, over how many rows, how many rounds,
the median and the best of both sides. Where the opponent's best round is shorter than ours, the row has
'we lose'.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.harness import BenchmarkRow, Opponent, Times

HEAD = ("what", "rows", "rounds", "Sash, median / best", "opponent", "its median / best", "", "wanted")


def table(paths: Iterable[Path]) -> str:
    """In Markdown."""
    lines = [HEAD, ("---",) * len(HEAD)]
    for path in paths:
        lines += [
            _cells(title, row) for title, row in rows_of(json.loads(path.read_text(encoding="utf-8")))
        ]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def rows_of(content: dict) -> Iterator[tuple[str, BenchmarkRow]]:
    """The rows of a program's JSON that have an opponent, each with the title of its table."""
    for one in content["tables"]:
        for row in one["rows"]:
            given = row["opponent"]
            if given is not None:
                ours, theirs = (Times(tuple(given[side]["rounds"])) for side in ("ours", "theirs"))
                opponent = Opponent(given["name"], given["rows"], ours, theirs)
                yield one["title"], BenchmarkRow(**row | {"opponent": opponent})


def _cells(title: str, row: BenchmarkRow) -> tuple[str, ...]:
    opponent = row.opponent
    assert opponent is not None
    ratio = f"{row.ratio:.2f} × its time" if row.ratio > 1 else f"{1 / row.ratio:.2f} × as fast"
    verdict = f"**we lose:** {ratio}" if row.ratio > 1 else ratio
    wanted = (
        "" if row.limit is None else f"≤ {row.limit:.2g} × its time: {'met' if row.reached else 'missed'}"
    )
    return (
        title, f"{opponent.rows:,}", str(len(opponent.ours.rounds)), opponent.ours.text, opponent.name,
        opponent.theirs.text, verdict, wanted,
    )  # fmt: skip
