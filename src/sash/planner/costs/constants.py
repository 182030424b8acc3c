"""The constants of the cost model: what one row, one combine, one job cost, in nanoseconds of one core.

The defaults were measured on one machine. What matters is how they relate to each other, which differs far
less between machines than they do themselves. `sash calibrate` measures those of this process, once, and
keeps them beside the machine code (`$SASH_CACHE_DIR`). Without that file plans depend on nothing but the
query and its events.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

from sash.aggregation.kernels.compiler.module_cache import directory

FILE = "costs-1.json"
"""The number goes up when a constant changes its meaning."""


@dataclass(frozen=True)
class ProcessCosts:
    """In process."""

    arrange: float = 31.0
    """An event: find its key and its windows, sort it into place."""
    definition: float = 2_650.0
    """An event of a window that is evaluated by its definition."""
    cut: float = 43.0
    """A window: find its ends."""
    report: float = 55.0
    """A window: its key, identifier, ends and values as columns, in order."""
    lift: float = 0.4
    """A field of an element."""
    combine: float = 0.55
    """A field of an element, and as much again for the step to the next element."""
    range: float = 6.0
    """A window: two folds put together, and stored."""
    lower: float = 2.0
    """A field of a window's element."""
    interpreted: float = 530.0
    """A Python call for a lift, a combine or a lower."""
    copy: float = 5.0
    """A column of a row that is filtered into a buffer, or dealt out."""
    pane: float = 19.0
    """A pane: find where it begins, and which windows begin and end there."""
    place: float = 8.0
    """An event as it stands: which key and which pane is it of?"""
    position: float = 3.2
    """An event: which pane is it in?"""
    job: float = 100_000.0
    """Hand work to a thread, and take the result back."""
    call: float = 250_000.0
    """An aggregate of such a job: its calls into machine code, however little they find to do."""
    apart: float = 1.25
    """How much more the same work takes where columns do not follow each other through the same memory."""
    function: float = 1_000_000.0
    """A function over a whole window, while it is not known what it takes."""
    start: float = 600_000_000.0
    """A worker process: a fresh interpreter that loads what it needs."""
    handing: float = 3_000.0
    """A window on its way to a worker process, and its result on the way back."""


@dataclass(frozen=True)
class SparkCosts:
    """On Spark. A task is a core; figures are for one row."""

    scan: float = 1_000.0
    """Read it, and select columns."""
    python: float = 600.0
    """Hand it to Python as Arrow, and take it back."""
    shuffle: float = 700.0
    """Write it for another task, and read it there."""
    group: float = 900.0
    """Sort it by bucket, and hand each bucket to Python as one table."""
    fold: float = 150.0
    """Fold it into the pane of its key."""
    native: float = 70.0
    """Fold it into the pane of its key by Spark's generated code."""
    route: float = 60.0
    """Find the workers whose windows hold it."""
    stage: float = 150_000_000.0
    """A stage: schedule tasks, wake Python workers."""


@dataclass(frozen=True)
class Costs:
    """All constants, and where they come from."""

    process: ProcessCosts = ProcessCosts()
    spark: SparkCosts = SparkCosts()
    measured: bool = False
    """Whether those of this process were measured on this machine."""


DEFAULTS = Costs()


def path() -> Path:
    """Where measured constants are kept."""
    return directory() / FILE


@cache
def costs() -> Costs:
    """The constants of this machine if they were measured, otherwise the defaults."""
    # A file that cannot be read is like one that is not there: it costs a worse plan, never an answer.
    with suppress(OSError, ValueError, TypeError):
        kept = json.loads(path().read_text(encoding="utf-8"))
        return Costs(process=_numbers(kept), measured=True)
    return DEFAULTS


def keep(measured: ProcessCosts) -> Path:
    """Write measured constants, for this process and all later ones."""
    costs.cache_clear()
    path().write_text(json.dumps(asdict(measured), indent=2) + "\n", encoding="utf-8")
    return path()


def _numbers(kept: object) -> ProcessCosts:
    if not isinstance(kept, dict) or kept.keys() != {field.name for field in fields(ProcessCosts)}:
        raise ValueError("not the constants of this version")
    if not all(isinstance(value, int | float) and value > 0 for value in kept.values()):
        raise ValueError("a cost that is not positive")
    return ProcessCosts(**kept)
