"""Whether anything has grown: the last week against days 2 to 4, or beyond its bound."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.month.events import DAY
from benchmarks.month.measuring import HEAP, MEGABYTE, PARTS_BESIDE_HEAP
from sash.runtimes.spark.sinks.manifest_runs import FAN

LIMIT = 1.2
EARLY, WEEK = (1, 4), 7
"""Days 2 to 4, counted from 0; and the last days."""
NOT_COMPARED = ("hour", "rows", "together batch", "elastic batch")
WHOLE_JVM, BESIDE_HEAP, PER_ROW = "driver JVM MB", "JVM beside its heap MB", "CPU µs per row"
PARTS = {
    **dict.fromkeys((*PARTS_BESIDE_HEAP, WHOLE_JVM), f"see {BESIDE_HEAP}"),
    "CPU seconds": f"see {PER_ROW}",
}
"""What is printed and not judged, because another line is: steps differ in rows, and 1 GiB of heap that is
touched when the JVM starts would hide what grows beside it."""
LEAST = {"MB": 5.0, "files": 10.0, "seconds": 0.2, "classes": 500.0, "objects": 500.0}
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
    print(f"{'':<32}{'days 2-4':>12}{'last week':>12}{'×':>8}  at most")
    for name, (early, late) in compared(found).items():
        batches = found[-1].get("together batch", 0)
        grows = has_grown(name, early, late, batches=batches)
        grown += [name] * grows
        ratio = late / early if early else 1.0 if not late else float("inf")
        bound = PARTS.get(name) or f"{most(name, early, batches=batches):.2f}" + "  GROWS" * grows
        print(f"{name:<32}{early:>12.2f}{late:>12.2f}{ratio:>8.2f}  {bound}")
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

    The JVM is judged without its heap:

    >>> has_grown("driver JVM MB", 1527.0, 1768.0), has_grown("JVM beside its heap MB", 453.0, 694.0)
    (False, True)
    """
    return name not in PARTS and late > most(name, early, batches=batches)


def most(name: str, early: float, *, batches: float = 0) -> float:
    """What a measure may be in the last week."""
    if name == "manifests":
        return MANIFESTS + batches // FAN**2 + min(batches // FAN, 2 * FAN)
    return max(LIMIT * early, early + LEAST.get(name.split()[-1], 1.0))


def compared(found: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """The medians of each measure: of days 2 to 4, and of the last week (or what is left after them)."""
    found = [each | _derived(each) for each in found]
    last = found[-1]["hour"] / DAY
    begin = max(last - WEEK, EARLY[1])
    names = [name for name in dict.fromkeys(n for each in found for n in each) if name not in NOT_COMPARED]
    return {name: (_median(found, name, *EARLY), _median(found, name, begin, last)) for name in names}


def _derived(measured: dict[str, Any]) -> dict[str, float]:
    """
    >>> _derived({"driver JVM MB": 1527.741824, "CPU seconds": 3.0, "rows": 1_000_000})
    {'JVM beside its heap MB': 454.0, 'CPU µs per row': 3.0}
    """
    found = {}
    if WHOLE_JVM in measured:
        found[BESIDE_HEAP] = round(measured[WHOLE_JVM] - HEAP / MEGABYTE, 6)
    if "CPU seconds" in measured and measured.get("rows"):
        found[PER_ROW] = measured["CPU seconds"] * 1e6 / measured["rows"]
    return found


def _median(found: list[dict[str, Any]], name: str, begin: float, end: float) -> float:
    inside = [each[name] for each in found if name in each and begin * DAY < each["hour"] <= end * DAY]
    return median(inside) if inside else 0.0
