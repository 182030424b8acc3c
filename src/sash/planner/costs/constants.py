"""The constants of the cost model: what one row, one combine, one job cost, in nanoseconds of one core.

The defaults of the process were measured on one machine. Of those of Spark, what a micro-batch in epochs, a
row on its way to Python and a row in generated code cost follow from measurements of whole queries; the
others are estimates until somebody calibrates on an idle machine (`task`: about half of `epoch`, as on a
busy one). What matters is how they relate to each
other, which differs far less between machines than they do themselves. `sash calibrate` measures those of
this process, and with `--spark` those of Spark, once, and keeps them beside the machine code
(`$SASH_CACHE_DIR`). Running queries add how much longer or shorter a micro-batch takes here
(`seen_in_queries`), unless `$SASH_LEARN` is 0. Without that file plans depend on nothing but the query and
its events.

    {"process": {…}, "spark": {…}, "calibrated": {"spark": "2026-01-05"},
     "queries": {"factor": 1.2, "batches": 80}}
"""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TypeVar

from sash.aggregation.kernels.compiler.module_cache import directory

FILE = "costs-2.json"
"""The number goes up when a constant changes its meaning."""
PROCESS, SPARK = "process", "spark"
"""The two parts of the file, of which either may be missing."""
CALIBRATED, QUERIES = "calibrated", "queries"
"""When a part was measured, and what running queries have shown since. Either may be missing, too."""
FIXED = ("epoch", "stateful", "step")
"""What a micro-batch costs, however little it brings: only plans of streams have it."""


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
    """On Spark. A task is a core; the first ones are of one row, the last ones of a stage or a batch."""

    scan: float = 300.0
    """Read it, and select columns."""
    python: float = 600.0
    """Hand it to Python as Arrow."""
    shuffle: float = 700.0
    """Write it for another task, and read it there."""
    group: float = 900.0
    """Sort it by bucket, and hand each bucket to Python as one table."""
    fold: float = 150.0
    """Fold it into the pane of its key."""
    native: float = 70.0
    """Fold it into the pane of its key by Spark's generated code."""
    route: float = 60.0
    """Find the workers whose windows hold it, and hand it back to Spark for one of them."""
    stage: float = 50_000_000.0
    """A stage: plan it, schedule a task per core, wake Python workers."""
    task: float = 60_000_000.0
    """A task that a core begins after another one of the same stage."""
    epoch: float = 130_000_000.0
    """A micro-batch in epochs, of two stages, however little it brings."""
    stateful: float = 350_000_000.0
    """A micro-batch with a step over Spark's state store, however little it brings."""
    step: float = 200_000_000.0
    """A further step over the state store in such a micro-batch."""


@dataclass(frozen=True)
class SeenBatches:
    """What micro-batches of queries have taken, as a multiple of the constants."""

    factor: float = 1.0
    batches: int = 0


@dataclass(frozen=True)
class Costs:
    """All constants, and where they come from."""

    process: ProcessCosts = ProcessCosts()
    spark: SparkCosts = SparkCosts()
    measured: bool = False
    """Whether those of this process were measured on this machine."""
    spark_measured: bool = False
    """Whether those of Spark were measured, here or on the cluster that was named."""
    calibrated: tuple[str, str] = field(default=("", ""), compare=False)
    """When those of the process and those of Spark were, as far as the file has it."""
    seen: SeenBatches = SeenBatches()
    """By which `FIXED` are multiplied already."""


DEFAULTS = Costs()
Constants = TypeVar("Constants", ProcessCosts, SparkCosts)


def path() -> Path:
    """Where measured constants are kept."""
    return directory() / FILE


@cache
def costs() -> Costs:
    """The constants of this machine as far as they were measured, otherwise the defaults."""
    kept = _kept()
    process, spark = _numbers(ProcessCosts, kept.get(PROCESS)), _numbers(SparkCosts, kept.get(SPARK))
    seen = _seen(kept.get(QUERIES))
    if process is None and spark is None and not seen.batches:
        return DEFAULTS
    return Costs(
        process or DEFAULTS.process, _scaled(spark or DEFAULTS.spark, seen.factor),
        measured=process is not None, spark_measured=spark is not None,
        calibrated=(_date(kept, PROCESS), _date(kept, SPARK)), seen=seen,
    )  # fmt: skip


def _scaled(spark: SparkCosts, factor: float) -> SparkCosts:
    return replace(spark, **{name: factor * getattr(spark, name) for name in FIXED})


def keep(measured: ProcessCosts | SparkCosts) -> Path:
    """Write measured constants beside those of the other part, for this process and all later ones."""
    part = PROCESS if isinstance(measured, ProcessCosts) else SPARK
    with _alone():
        kept = _kept()
        if part == SPARK:
            kept.pop(QUERIES, None)  # relative to what was kept before
        dates = kept.get(CALIBRATED)
        today = {**(dates if isinstance(dates, dict) else {}), part: datetime.now(UTC).date().isoformat()}
        return _write({**kept, part: asdict(measured), CALIBRATED: today})


def keep_seen(change: Callable[[Costs], SeenBatches]) -> Path:
    """Write what queries have shown beside what was measured, given the constants as they are by now."""
    with _alone():
        costs.cache_clear()  # another process may have written
        return _write({**_kept(), QUERIES: asdict(change(costs()))})


@contextmanager
def _alone() -> Iterator[None]:
    """No other process changes the file between what is read of it here and what is written."""
    with path().with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is closed
        yield


def _write(content: Mapping[str, object]) -> Path:
    """As a whole or not at all: other processes read it at any time."""
    handle, temporary = tempfile.mkstemp(dir=path().parent, prefix=path().stem, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(json.dumps(content, indent=2) + "\n")
        Path(temporary).replace(path())
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    costs.cache_clear()
    return path()


def _kept() -> dict[str, object]:
    # A file that cannot be read is like one that is not there: it costs a worse plan, never an answer.
    with suppress(OSError, ValueError):
        found = json.loads(path().read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return {part: found[part] for part in (PROCESS, SPARK, CALIBRATED, QUERIES) if part in found}
    return {}


def _seen(kept: object) -> SeenBatches:
    """Nothing where this is not what queries have shown."""
    with suppress(TypeError, ValueError):
        seen = SeenBatches(**kept) if isinstance(kept, dict) else SeenBatches()
        if (
            seen.factor > 0
            and isfinite(seen.factor)
            and isinstance(seen.batches, int)
            and seen.batches >= 0
        ):
            return seen
    return SeenBatches()


def _date(kept: Mapping[str, object], part: str) -> str:
    dates = kept.get(CALIBRATED)
    return str(dates.get(part, "")) if isinstance(dates, dict) else ""


def _numbers(of: type[Constants], kept: object) -> Constants | None:
    """None where these are not the constants of this version."""
    if not isinstance(kept, dict) or kept.keys() != {field.name for field in fields(of)}:
        return None
    if not all(isinstance(value, int | float) and value > 0 for value in kept.values()):
        return None
    return of(**kept)
