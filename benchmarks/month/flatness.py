"""Whether anything has grown: the last week against days 2 to 4, or beyond its bound."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.month.events import DAY
from benchmarks.month.measuring import OUTSIDE
from sash.runtimes.spark.sinks.manifest_runs import FAN

LIMIT = 1.2
EARLY, WEEK = (1, 4), 7
"""Days 2 to 4, counted from 0; and the last days."""
NOT_JUDGED = ("hour", "rows", "together batch", "elastic batch")
LEAST = {"MB": 5.0, "files": 10.0, "seconds": 0.2}
"""Differences below this are none."""
MANIFESTS = 2 * FAN + 2
"""Of a sink, beside its runs of FAN² and of FAN batches: single ones are put together from then on, so that
they grow until then, and a short month ends before."""


def measures(home: Path) -> list[dict[str, Any]]:
    book = home / "measures.jsonl"
    return [json.loads(line) for line in book.read_text().splitlines()] if book.exists() else []


def report(home: Path, directory: Path | None) -> int:
    """Print a table; draw it; 0 if nothing has grown."""
    found, grown = measures(home), []
    print(f"{'':<32}{'days 2-4':>12}{'last week':>12}{'×':>8}")
    for name, (early, late) in compared(found).items():
        grows = has_grown(name, early, late, batches=found[-1].get("together batch", 0))
        grown += [name] * grows
        ratio = late / early if early else 1.0 if not late else float("inf")
        print(f"{name:<32}{early:>12.2f}{late:>12.2f}{ratio:>8.2f}{'  grows' * grows}")
    if directory is not None:
        from benchmarks.month.figure import draw

        draw(found, directory)
    return 1 if grown else 0


def has_grown(name: str, early: float, late: float, *, batches: float = 0) -> bool:
    """
    >>> has_grown("arenas MB", 100.0, 119.0), has_grown("arenas MB", 100.0, 121.0)
    (False, True)
    >>> has_grown("manifests", 24.0, 90.0), has_grown("manifests", 24.0, 1000.0, batches=1000)
    (False, True)
    """
    if name in OUTSIDE:
        return False  # parts of the JVM's memory, which is judged as a whole; they tell whose it is
    if name == "manifests":
        runs = batches // FAN**2 + min(batches // FAN, 2 * FAN)
        return late > MANIFESTS + runs
    return late > LIMIT * early and late - early > LEAST.get(name.split()[-1], 1.0)


def compared(found: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """The medians of each measure: of days 2 to 4, and of the last week (or what is left after them)."""
    last = found[-1]["hour"] / DAY
    begin = max(last - WEEK, EARLY[1])
    names = [name for name in dict.fromkeys(n for each in found for n in each) if name not in NOT_JUDGED]
    return {name: (_median(found, name, *EARLY), _median(found, name, begin, last)) for name in names}


def _median(found: list[dict[str, Any]], name: str, begin: float, end: float) -> float:
    inside = [each[name] for each in found if name in each and begin * DAY < each["hour"] <= end * DAY]
    return median(inside) if inside else 0.0
