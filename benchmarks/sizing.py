"""`sash size` against Spark: cores, memory, disk, durable bytes and network of a stream at two loads.

    python -m benchmarks.sizing [--quick] [--to FILE]

Each load is a stream of generated events, one file per micro-batch, on two cores in local mode, in a
process of its own. CPU and bytes per event are of the second half of the batches, when windows are full and
Java has compiled what they run; the rest is what there was at most.

    cores       CPU seconds of the JVM and of all Python workers, for a batch       /proc
    memory      of all Python workers, pages that they share once: PSS              /proc
    local disk  arenas, and files of shuffles as long as Spark may keep them        the folder, and REST
    durable     the checkpoint, at its largest                                      the folder
    network     shuffle                                                             Spark's REST interface
                state                                                               the query's progress
                source and reports, as Arrow has them                               the files

CPU of the driver is counted too: a cluster has it beside its executors.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import sash
from sash.runtimes.spark.compat import struct_of
from sash.runtimes.spark.sizing.cluster_size import (
    CLEANED,
    RETAINED,
    SHUFFLES,
    WORKER,
    ClusterSize,
    cluster_size,
)
from sash.runtimes.spark.sizing.load import ExpectedLoad, SampleEvents

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("user", pa.string()), ("amount", pa.float64())])
PARTITIONS = 2
CLOSE = 0.3
LOADS = (
    ExpectedLoad(rate=2_000, keys=4_000, seconds=5),  # the constants of cores are fitted to these two
    ExpectedLoad(rate=20_000, keys=40_000, seconds=5),
    ExpectedLoad(rate=500, keys=1_000, seconds=5),
    ExpectedLoad(rate=60_000, keys=120_000, seconds=5),
)
QUICK = (ExpectedLoad(rate=100, keys=200, seconds=10),)
TICKS = os.sysconf("SC_CLK_TCK")


def query_over(data: Any) -> Any:
    stream = sash.stream(data, time="ts", key="user", delay="10 seconds")
    values = {"n": sash.count(), "spent": sash.sum("amount"), "most": sash.max("amount")}
    return stream.window(sash.sliding("1 minute", every="10 seconds"), flush=False).agg(**values)


@dataclass
class Measured:
    """Of one run; what is `of` events is of the batches that count."""

    batches: int = 0
    cpu: float = 0.0
    """Seconds per batch."""
    memory: int = 0
    disk: int = 0
    durable: int = 0
    network: float = 0.0
    """Bytes per event."""


@dataclass(frozen=True)
class Comparison:
    """A quantity, predicted and measured."""

    what: str
    unit: str
    predicted: float
    measured: float

    @property
    def close(self) -> bool:
        return abs(self.predicted / self.measured - 1) <= CLOSE

    def __str__(self) -> str:
        numbers = f"{self.predicted:,.3g} | {self.measured:,.3g} | {self.predicted / self.measured:.2f}"
        return f"| {self.what}, {self.unit} | {numbers} |"


def compared(size: ClusterSize, found: Measured) -> list[Comparison]:
    load, cores = size.load, size["cores"]
    busy = cores.amount * cores.divisor * load.seconds
    outside = {term.name: term.amount for term in size["memory outside of the JVM"].terms}
    memory = sum(outside.values()) - outside["Python workers"] + PARTITIONS * WORKER
    # A run is shorter than the time for which Spark keeps things.
    history = sum(term.amount for term in size["durable"].terms if "batches" in term.name)
    durable = size["durable"].amount - history * (1 - min(1, found.batches / RETAINED))
    shuffles = sum(term.amount for term in size["local disk"].terms if term.name == SHUFFLES)
    disk = size["local disk"].amount - shuffles * (1 - min(1, found.batches * load.seconds / CLEANED))
    return [
        Comparison("cores", "CPU seconds per batch", busy, found.cpu),
        Comparison("memory outside of the JVM", "MB", memory / 1e6, found.memory / 1e6),
        Comparison("local disk", "MB", disk / 1e6, found.disk / 1e6),
        Comparison("durable", "MB", durable / 1e6, found.durable / 1e6),
        Comparison("network", "bytes per event", size["network"].amount / load.rate, found.network),
    ]


def measured(load: ExpectedLoad, seconds: float, folder: Path) -> Measured:
    """A stream with as much event time."""
    source, out, local = folder / "in", folder / "out", folder / "local"
    for each in (source, local):
        each.mkdir(parents=True)
    batches = 2 * ceil(seconds / load.seconds / 2)
    arrived = write(source, load, batches)
    os.environ |= {"SPARK_LOCAL_DIRS": str(local), "SASH_ARENA_DIR": str(local)}
    spark = sash.spark_session(
        master=f"local[{PARTITIONS}]", app="sizing", spark_sql_shuffle_partitions=str(PARTITIONS),
        spark_ui_enabled="true", spark_ui_port="0",
    )  # fmt: skip
    rows = spark.readStream.schema(struct_of(SCHEMA)).option("maxFilesPerTrigger", 1).parquet(str(source))
    checkpoint, first = folder / "checkpoint", batches // 2
    running = query_over(rows).start(out, checkpoint=checkpoint, trigger="available now")
    found, since, arenas = Measured(batches), None, 0
    while running.isActive:
        arenas = max(arenas, *map(bytes_below, local.glob("sash-arenas-*")), 0)
        found.durable = max(found.durable, bytes_below(checkpoint))
        found.memory = max(found.memory, sum(map(shared_size, workers())))
        if since is None and (checkpoint / "commits" / str(first - 1)).exists():
            since = cpu_seconds(), shuffled(spark)
        time.sleep(0.1)
    running.awaitTermination()
    assert since is not None
    progress = [one for one in running.recentProgress if one.batchId >= first]
    events = sum(one.numInputRows for one in progress)
    counts = [row.asDict() for one in progress for row in one.observedMetrics.values()]
    # With the micro-batch without events, in which the last windows close.
    found.cpu = (cpu_seconds() - since[0]) / (batches - first)
    reports = ds.dataset(out, format="parquet", partitioning="hive").to_table()
    by_state = sum(count.get("written", 0) for count in counts) + shuffled(spark) - since[1]
    found.network = by_state / events + (arrived + reports.nbytes) / (load.rate * load.seconds * batches)
    # Spark removes shuffles when it collects garbage, at the latest after longer than this run lasts.
    found.disk = arenas + shuffled(spark)
    spark.stop()
    return found


def write(folder: Path, load: ExpectedLoad, batches: int) -> int:
    """A file for each batch; their bytes as Arrow has them."""
    events, total = SampleEvents(query_over(SCHEMA.empty_table()).bound, keys=load.keys), 0
    for number in range(batches):
        begin = 1e6 + number * load.seconds
        rows = events.between(begin, begin + load.seconds, round(load.rate * load.seconds))
        path = folder / f"{number:05}.parquet"
        pq.write_table(rows.select(SCHEMA.names), path)
        os.utime(path, (10**9 + number, 10**9 + number))
        total += rows.nbytes
    return total


def cpu_seconds() -> float:
    """Of all processes below this one, and of those of theirs that have ended; not of this one, which only
    watches."""
    return sum(sum(map(int, stat[11:15])) for _, stat in below()) / TICKS


def workers() -> Iterator[int]:
    """The processes below this one that run Python."""
    for pid, _ in below():
        with suppress(OSError):
            if b"daemon\0pyspark.worker\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid


def below() -> Iterator[tuple[int, list[str]]]:
    """Processes, each with the fields of its `stat` after the name."""
    children: dict[int, list[tuple[int, list[str]]]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            stat = entry.read_text().rpartition(")")[2].split()
            children.setdefault(int(stat[1]), []).append((int(entry.parent.name), stat))
    waiting = [os.getpid()]
    while waiting:
        mine = children.get(waiting.pop(), [])
        waiting += [pid for pid, _ in mine]
        yield from mine


def shared_size(pid: int) -> int:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def shuffled(spark: Any) -> int:
    context = spark.sparkContext
    address = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages?status=complete"
    with urllib.request.urlopen(address) as answer:
        return sum(stage["shuffleWriteBytes"] for stage in json.load(answer))


def bytes_below(folder: Path) -> int:
    """On the disk: mapped files have holes."""
    total = 0
    # Not rglob, which fails where a folder goes while it is listed.
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(parent, name).stat().st_blocks * 512
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare `sash size` with Spark.")
    parser.add_argument("--quick", action="store_true", help="a small load, and nothing is judged")
    parser.add_argument("--to", type=Path, metavar="FILE", help="append the tables there as well")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sash-sizing-") as home:
        tables = list(compare(QUICK if chosen.quick else LOADS, Path(home), to=chosen.to))
    return 0 if chosen.quick or all(row.close for rows in tables for row in rows) else 1


def compare(loads: Iterable[ExpectedLoad], home: Path, *, to: Path | None) -> Iterator[list[Comparison]]:
    bound = query_over(SCHEMA.empty_table()).bound
    for number, load in enumerate(loads):
        size = cluster_size({"": bound}, load, partitions=PARTITIONS)
        (trial,) = size.trials.values()
        # Java and the workers it starts keep the folders of their beginning.
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
            found = process.submit(measured, load, trial.span, home / str(number)).result()
        rows = compared(size, found)
        what = f"{load.rate:,.0f} events/s, {load.keys:,} keys, every {load.seconds:g} s"
        head = [f"| {what} | predicted | measured | predicted / measured |", "|---|---|---|---|"]
        text = "\n".join([*head, *map(str, rows)])
        print(f"\n{text}", flush=True)
        if to is not None:
            with to.open("a", encoding="utf-8") as file:
                file.write(f"\n{text}\n")
        yield rows


if __name__ == "__main__":
    sys.exit(main())
