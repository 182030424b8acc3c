"""The first hour: how long a new user waits for first answers, and how much of that is Sash.

    python -m benchmarks.first_hour [--quick] [--rounds 3] [--only …]

Every program runs in processes of its own. Beside the wall time, which depends on who else uses the
machine, stands the CPU time of all its processes: of the driver, of the daemon that Spark forks Python
workers from, of these workers, and of the JVM. A yardstick does the same kind of thing without Sash: what
it takes, no change of ours can save. Programs take turns, medians over the rounds count, and ratios are
between CPU times of one run.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
LOOK = 0.05
"""Seconds between two looks at the processes of a program."""

FLOOR = """
import numpy as np, pyarrow as pa
pa.table({"t": [0]})
import floor_kernel
floor_kernel.total(np.ones(3))
"""
KERNEL = """
from numba import njit

@njit(cache=True)
def total(values):
    answer = 0.0
    for value in values:
        answer += value
    return answer
"""
QUERY = """
import pyarrow as pa, sash
events = pa.table({"t": [0, 20, 50, 70], "card": ["x", "x", "y", "x"], "amount": [9.0, 25.0, 12.5, 3.0]})
features = sash.stream(events, time="t", key="card").rolling(60, 3600)
features.agg(n=sash.count(), mean=sash.mean("amount")).collect()
"""
BARE = """
from pyspark.sql import SparkSession
SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false").getOrCreate()
"""
BATCH = """
import os
from pyspark.sql import SparkSession, functions as F
spark = (
    SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", os.cpu_count()).getOrCreate()
)
payments = spark.range(100_000).selectExpr(
    "timestamp_micros(id * 3600000) AS ts", "concat('card', id % 500) AS card", "1.0D + id % 97 AS amount"
)
bars = payments.groupBy("card", F.window("ts", "1 hour")).agg(F.count("*"), F.mean("amount"))
bars.mapInArrow(lambda batches: batches, bars.schema).show(3)
"""
SPARK_STREAM = """
import os, sys
from pyspark.sql import SparkSession, functions as F
spark = (
    SparkSession.builder.master("local[*]").config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", os.cpu_count()).getOrCreate()
)
schema = "ts timestamp, symbol string, price double"
files = spark.readStream.schema(schema).parquet(sys.argv[1] + "/trades")
bars = (
    files.withWatermark("ts", "10 seconds").groupBy("symbol", F.window("ts", "1 minute"))
    .agg(F.count("*").alias("n"), F.max("price").alias("high"))
)
bars.writeStream.format("parquet").option("checkpointLocation", sys.argv[1] + "/spark-checkpoint").trigger(
    availableNow=True
).start(sys.argv[1] + "/spark-out").awaitTermination()
"""
STREAM = """
import sys, sash
spark = sash.spark_session()
schema = "ts timestamp, symbol string, price double"
files = spark.readStream.schema(schema).parquet(sys.argv[1] + "/trades")
query = sash.stream(files, time="ts", key="symbol", delay="10 seconds").window(sash.tumbling("1 minute"))
query.agg(n=sash.count(), high=sash.max("price")).start(
    sys.argv[1] + "/out", checkpoint=sys.argv[1] + "/checkpoint", trigger="available now"
).awaitTermination()
"""
PIPELINE = """
[source]
format = "parquet"
path = "trades"
[stream]
time = "ts"
key = "symbol"
delay = "10 seconds"
[query]
windows = "tumbling 1 minute"
[aggregates]
n = "count()"
high = "max(price)"
[sink]
format = "parquet"
path = "reports"
[run]
checkpoint = "progress"
trigger = "available now"
"""


@dataclass(frozen=True)
class Program:
    """What is run, and the program without Sash that it is compared with."""

    what: str
    arguments: list[str]
    yardstick: str | None = None
    cold: bool = False
    """Whether no kernel is compiled yet."""


@dataclass(frozen=True)
class Taken:
    """By one run, in seconds."""

    wall: float
    driver: float
    daemon: float
    workers: float
    jvm: float

    @property
    def cpu(self) -> float:
        return self.driver + self.daemon + self.workers + self.jvm


def programs(folder: Path) -> dict[str, Program]:
    (ten,) = re.findall(r"## Ten lines\n+```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    file, at = str(folder / "bars.toml"), str(folder)
    return {
        "floor": Program("yardstick: pyarrow, pandas, Numba, one cached kernel", ["-c", FLOOR]),
        "query": Program("first query in process, kernels cached", ["-c", QUERY], "floor"),
        "cold": Program("the same, nothing cached", ["-c", QUERY], "floor", cold=True),
        "check": Program("sash check", ["-m", "sash", "check", file], "floor"),
        "bare": Program("yardstick: a session of plain PySpark", ["-c", BARE]),
        "batch": Program("yardstick: F.window, one Python stage, show(3)", ["-c", BATCH]),
        "ten": Program("the ten lines of the README", ["-c", ten], "batch"),
        "spark": Program("yardstick: six rows through Spark's own aggregation", ["-c", SPARK_STREAM, at]),
        "stream": Program("six rows through a first stream", ["-c", STREAM, at], "spark"),
        "run": Program("sash run, the same", ["-m", "sash", "run", file], "spark"),
        "state": Program("sash state of its checkpoint", ["-m", "sash", "state", at + "/progress"], "bare"),
    }


def taken(program: Program, folder: Path) -> Taken:
    """Of one run: all processes of its session, as long as they live."""
    own = os.environ | {"PYSPARK_PYTHON": sys.executable, "SASH_PROGRESS": "0"}
    own["PYTHONPATH"] = f"{ROOT / 'src'}{os.pathsep}{folder}"
    own.pop("PYTHONDONTWRITEBYTECODE", None)
    if program.cold:
        own["SASH_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)
    began = time.perf_counter()
    running = subprocess.Popen(
        [sys.executable, *program.arguments], env=own, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    roles: dict[int, str] = {}
    seconds: dict[int, float] = {}
    while running.poll() is None:
        seconds |= _of_session(running.pid, roles)
        time.sleep(LOOK)
    wall = time.perf_counter() - began
    if running.returncode:
        raise SystemExit(f"{program.what}: {running.communicate()[1]}")
    by_role = dict.fromkeys(("driver", "daemon", "workers", "jvm"), 0.0)
    for process, each in seconds.items():
        by_role[roles[process]] += each
    return Taken(wall, **by_role)


def _of_session(session: int, roles: dict[int, str]) -> dict[int, float]:
    """CPU seconds of its processes so far. Their roles are added: by the parents that they had at first."""
    found, parents, names = {}, {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            matched = re.fullmatch(r"(\d+) \((.*)\) (.*)\n?", stat.read_text(), re.S)
        except OSError:  # it has ended
            continue
        assert matched is not None
        process, values = int(matched[1]), matched[3].split()
        if int(values[3]) == session:
            names[process], parents[process] = matched[2], int(values[1])
            found[process] = (int(values[11]) + int(values[12])) / TICKS
    for process in sorted(found, key=lambda each: (each != session, each)):
        before, parent = roles.get(process, "jvm"), roles.get(parents[process])
        if process == session:
            roles[process] = "driver"
        elif names[process] == "java":
            roles[process] = "jvm"
        elif before == "jvm":  # new, or a copy of the JVM that has become another program
            roles[process] = {"jvm": "daemon", "daemon": "workers"}.get(parent or "", "driver")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="in process only, one round")
    parser.add_argument("--rounds", type=int, default=3)
    known = list(programs(Path()))
    parser.add_argument("--only", nargs="+", choices=known, default=known, metavar="PROGRAM")
    options = parser.parse_args(arguments)
    chosen = ["floor", "query"] if options.quick else options.only
    runs: dict[str, list[Taken]] = {name: [] for name in chosen}
    if not {"stream", "run"}.isdisjoint(chosen):
        with tempfile.TemporaryDirectory(prefix="sash-first-") as name:
            _write_inputs(Path(name))
            taken(programs(Path(name))["stream"], Path(name))  # the first run compiles
    for _ in range(1 if options.quick else options.rounds):
        with tempfile.TemporaryDirectory(prefix="sash-first-") as name:
            folder = Path(name)
            _write_inputs(folder)
            all_programs = programs(folder)
            for each in ("floor", "query"):  # the first run compiles
                taken(all_programs[each], folder)
            for each in chosen:
                runs[each].append(taken(all_programs[each], folder))
                print(f"{each}: {runs[each][-1]}", file=sys.stderr, flush=True)
    print(f"| | wall s | CPU s: driver | daemon | workers | JVM | CPU, × yardstick |\n{'|---' * 7}|")
    for name, program in programs(Path()).items():
        if name in runs:
            print(_row(program, runs[name], runs.get(program.yardstick or "", [])))
    print(f"\nload average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


def _row(program: Program, runs: Sequence[Taken], against: Sequence[Taken]) -> str:
    parts = ("wall", "driver", "daemon", "workers", "jvm")
    wall, *seconds = (median(getattr(run, part) for run in runs) for part in parts)
    ratio = ""
    if against:
        ratio = f"{median(one.cpu / other.cpu for one, other in zip(runs, against, strict=True)):.1f}"
    return " | ".join(
        [f"| {program.what}", f"{wall:.1f}", *(f"{each:.2f}" for each in seconds), f"{ratio} |"]
    )


def _write_inputs(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    seconds = [1_767_607_200 + second for second in (0, 20, 50, 70, 95, 130)]
    columns = {
        "ts": pa.array([second * 1_000_000 for second in seconds], pa.timestamp("us", "UTC")),
        "symbol": ["SAP", "SAP", "BMW", "SAP", "BMW", "SAP"],
        "price": [10.0, 11.0, 50.0, 12.0, 49.0, 13.0],
    }
    (folder / "trades").mkdir()
    pq.write_table(pa.table(columns), folder / "trades" / "first.parquet")
    (folder / "bars.toml").write_text(PIPELINE)
    (folder / "floor_kernel.py").write_text(KERNEL)


if __name__ == "__main__":
    raise SystemExit(main())
