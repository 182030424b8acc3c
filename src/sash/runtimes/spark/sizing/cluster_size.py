"""What a cluster must have for a load: sums of terms, each with its arithmetic.

    cores    ( rate · seconds per event  +  seconds of a batch and of its tasks / seconds per batch ) / 0.7
    bytes    keys · bytes of a key,  rate · bytes of an event,  as counted in a trial,  and what Spark keeps

Constants of Spark are in `planner.costs.constants`, those of a bucket come from its trial.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil

from sash.errors import ArgumentError
from sash.operators.bound_query import BoundQuery
from sash.planner.costs.constants import costs
from sash.runtimes.spark.epochs import one_task
from sash.runtimes.spark.sizing.bucket_trial import EVENTS, Trial, tried
from sash.runtimes.spark.sizing.load import ExpectedLoad

BUSY = 0.7
"""The part of its time that a core should work: the rest is for peaks, and to catch up after a failure."""
BATCH = 0.44
"""Seconds of a core for a micro-batch, whatever it brings: the driver plans it, writes down what it reads
and that it is done, and delivers. After some dozens of batches; less when Java has compiled all of it.
Fitted, together with the next two, to two loads (decision 40)."""
CALL = 0.3
"""The same for each partition of a batch that is shuffled: a task of each stage, with its Python."""
ALONE = 0.12
"""The same for the only task of a small batch."""
WORKER = 240_000_000
"""Bytes of a Python worker before it holds anything; there is one for each core."""
ON_DISK = 1.4
"""Bytes of arenas in files for each byte of a trial's, which lie in memory: 1.37 to 1.43 at three loads."""
LOGS, FILES, BLOCK = 3, 40, 4_096
"""Files of a micro-batch in Spark's own logs, files of a bucket in the journal, and bytes that the last of
a file takes on a disk."""
JVM = 1_000_000_000
"""Bytes of an executor's heap for each of its cores."""
COPIES = 4
"""A row of a micro-batch in memory: as Arrow in the JVM and in Python, sorted, and as events that wait."""
CLEANED = 1_800
"""Seconds after which Spark removes the files of a shuffle at the latest, where it does not collect garbage
earlier: spark.cleaner.periodicGC.interval."""
RETAINED = 100
"""Micro-batches whose changes Spark keeps in the checkpoint: spark.sql.streaming.minBatchesToRetain."""


SHUFFLES = "shuffle files"


@dataclass(frozen=True)
class Term:
    """A part of a sum."""

    name: str
    amount: float
    how: str


@dataclass(frozen=True)
class Quantity:
    """What there must be of one thing."""

    name: str
    unit: str
    terms: tuple[Term, ...]
    divisor: float = 1.0

    @property
    def amount(self) -> float:
        return sum(term.amount for term in self.terms) / self.divisor


@dataclass(frozen=True)
class ClusterSize:
    """All that a cluster must have."""

    load: ExpectedLoad
    partitions: int
    trials: Mapping[str, Trial]
    quantities: tuple[Quantity, ...]

    def __getitem__(self, name: str) -> Quantity:
        return next(one for one in self.quantities if one.name == name)

    def as_data(self) -> dict[str, object]:
        return {
            "load": asdict(self.load), "partitions": self.partitions,
            "trials": {name: asdict(trial) for name, trial in self.trials.items()},
            **{
                one.name: {"amount": one.amount, "unit": one.unit, "terms": [asdict(t) for t in one.terms]}
                for one in self.quantities
            },
        }  # fmt: skip


def cluster_size(
    bounds: Mapping[str, BoundQuery],
    load: ExpectedLoad,
    *,
    partitions: int | None = None,
    limit: int = EVENTS,
) -> ClusterSize:
    """For the queries of one stream, by name."""
    if load.seconds <= CALL / BUSY:
        raise ArgumentError("every", load.seconds, f"more than {CALL / BUSY:.2g} s from batch to batch")
    if partitions is None:
        first = _trials(bounds, load, ceil(load.rate * 4e-6 / BUSY), limit)
        busy = sum(term.amount for term in _work(first, load))
        partitions = max(1, ceil(busy / (BUSY - CALL / load.seconds)))
    trials = _trials(bounds, load, partitions, limit)
    calls = Term(
        "tasks", partitions * CALL / load.seconds,
        f"{partitions:,} partitions · {CALL:g} s / {load.seconds:g} s",
    )  # fmt: skip
    if _is_small(load):
        calls = Term(
            "tasks", ALONE / load.seconds, f"one of a small batch · {ALONE:g} s / {load.seconds:g} s"
        )
    cores = Quantity("cores", "", (*_work(trials, load), calls), BUSY)
    stored = _stored(trials, load, ceil(cores.amount), partitions=partitions)
    return ClusterSize(load, partitions, trials, (cores, *stored))


def _is_small(load: ExpectedLoad) -> bool:
    """Whether one task has a batch, without a shuffle."""
    return load.rate * load.seconds <= one_task.EVENTS


def _trials(
    bounds: Mapping[str, BoundQuery], load: ExpectedLoad, partitions: int, limit: int
) -> dict[str, Trial]:
    return {name: tried(bound, load, buckets=partitions, limit=limit) for name, bound in bounds.items()}


def _work(trials: Mapping[str, Trial], load: ExpectedLoad) -> list[Term]:
    """Seconds of cores per second."""
    spark, rate = costs().spark, load.rate
    packed = spark.python + spark.shuffle / 4  # a row in a block costs a quarter of one alone
    terms = [
        Term("micro-batches", BATCH / load.seconds, f"{BATCH:g} s / {load.seconds:g} s"),
        Term("scan", rate * spark.scan / 1e9, f"{rate:,.0f} events/s · {spark.scan / 1e3:.3g} µs"),
    ]
    for name, trial in trials.items():
        seconds = trial.seconds + packed / 1e9 + trial.reports * spark.python / 1e9
        how = (
            f"{rate:,.0f} events/s · ({trial.seconds * 1e6:.3g} µs, timed here + {packed / 1e3:.3g} µs to "
            f"pack and send + {trial.reports:.3g} reports · {spark.python / 1e3:.3g} µs)"
        )
        terms.append(Term(f"windows{_of(name)}", rate * seconds, how))
    return terms


def _stored(
    trials: Mapping[str, Trial], load: ExpectedLoad, cores: int, *, partitions: int
) -> list[Quantity]:
    """Bytes, and bytes per second. The state of queries in epochs is in files of the checkpoint."""
    batch = load.rate * load.seconds
    row = max(trial.block for trial in trials.values())
    rows = f"{batch:,.0f} events · {row:.3g} bytes"
    shuffled = {name: trial.shuffled for name, trial in trials.items()}
    sent = 0.0 if _is_small(load) else sum(shuffled.values())
    tables = {name: ON_DISK * trial.arena_of_a_key for name, trial in trials.items()}
    arenas = _by_key("arenas", tables, trials, load)
    kept = _by_key("journal", {name: trial.kept_of_a_key for name, trial in trials.items()}, trials, load)
    written = _by_event("state", {name: trial.written for name, trial in trials.items()}, load)
    traffic = [
        *_by_event("source, as a block has it", {"": row}, load),
        *(() if _is_small(load) else _by_event("shuffle", shuffled, load)),
        *written,
        *_by_event("reports", {name: trial.report_bytes for name, trial in trials.items()}, load),
    ]
    outside = [
        Term("Python workers", cores * WORKER, f"{cores:,} cores · {WORKER / 1e6:.0f} MB"),
        Term("a micro-batch", batch * row * COPIES, f"{rows} · {COPIES} copies"),
        *arenas,
    ]
    local = [
        *arenas,
        Term(
            SHUFFLES, load.rate * CLEANED * sent,
            f"{CLEANED:,} s until they are removed · {load.rate:,.0f} events/s · {sent:.3g} bytes, counted",
        ),
    ]  # fmt: skip
    logs = Term(
        f"{RETAINED} batches of Spark's logs", RETAINED * LOGS * BLOCK,
        f"{RETAINED} · {LOGS} files · {BLOCK:,} bytes",
    )  # fmt: skip
    files = Term(
        "ends of files", partitions * FILES * BLOCK,
        f"{partitions:,} buckets · {FILES} files · {BLOCK:,} bytes",
    )  # fmt: skip
    heaps = Term("heaps", cores * JVM, f"{cores:,} cores · {JVM / 1e9:g} GB")
    return [
        Quantity("memory in the JVM", "bytes", (heaps,)),
        Quantity("memory outside of the JVM", "bytes", tuple(outside)),
        Quantity("local disk", "bytes", tuple(local)),
        Quantity("durable", "bytes", (*kept, logs, files)),
        Quantity("network", "bytes/s", tuple(traffic)),
    ]


def _by_key(
    what: str, sizes: Mapping[str, float], trials: Mapping[str, Trial], load: ExpectedLoad
) -> list[Term]:
    held = {name: load.keys if trials[name].keyed else 1 for name in sizes}
    return [
        Term(f"{what}{_of(name)}", held[name] * size, f"{held[name]:,} keys · {size:,.0f} bytes, counted")
        for name, size in sizes.items()
    ]


def _by_event(what: str, sizes: Mapping[str, float], load: ExpectedLoad) -> list[Term]:
    return [
        Term(
            f"{what}{_of(name)}", load.rate * size, f"{load.rate:,.0f} events/s · {size:.3g} bytes, counted"
        )
        for name, size in sizes.items()
    ]


def _of(name: str) -> str:
    return f" of {name}" if name else ""
