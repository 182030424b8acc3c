"""Streams of Sash on Spark against Flink SQL, which is Java from its source to its sink.

    python -m benchmarks.flink_sql [--quick] [--json PATH] [--rounds 3] [--rows 1000000]

Tumbling 10 s and sliding 60 s every 1 s, count, sum and max of 1,000 keys, from parquet files to parquet
files on both sides, on two cores. `start()` on ours, window TVFs in streaming execution on theirs
(`peers/flink_sql.py` has its settings). A sink that drops rows would spare Flink the writing and not us, so
both write. Sash keeps its journal and its checkpoint; Flink takes no checkpoints, which is in its favour.

input       The same rows, with milliseconds, the finest that Flink has windows over. Ours are 8 files in
            order, two a micro-batch. Flink hands files out in no order, and would drop the rows of a file
            that comes too late, so it gets two files, one for each of its readers, each in order. Another
            row has Sash over those two, in one micro-batch.
clock       Whole runs, from the submission of a query to its end, in processes that are warm: a stream runs
            for days, and Java has compiled it by then. Each job of Flink's starts a cluster inside its JVM,
            and each query of ours its threads and files: what ten rows take is shown apart, for both, and
            the ratio without it. The first runs of both, which Java still compiles, are shown too.
answers     All rows of the first runs are compared, and the number of rows of every other one. Flink closes
            all windows when its input ends, and a query of ours waits for more: windows that end after the
            last watermark are Flink's alone, a few in a hundred at most, and are not compared. Should one
            reader of Flink's have taken both files, it has dropped rows; that run is done again.

Wanted: 5 times as fast where windows overlap, 0.9 of its time where they do not. Needs `make peers`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import sash
from benchmarks.harness import Opponent, Table, Times, finish, options
from benchmarks.spark.inputs import events, written
from benchmarks.spark.runs import stream
from benchmarks.spark.streaming import three, worded
from sash.engines.peers import python_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DRIVER = Path(__file__).parent / "peers" / "flink_sql.py"
KEYS, SECONDS, ROWS = 1_000, 3_600, 1_000_000
TEN = 10
"""Rows of a run that only starts and ends."""
COMPARISONS = {"TUMBLE": (("10 seconds", None), 0.9), "HOP": (("60 seconds", "1 second"), 0.2)}
"""Of Flink's windows: ours, and the largest part of its time that is wanted."""
DELAY = 1_000
"""Milliseconds that the watermark is behind on both sides: see `streaming.three` and the driver."""
TRIES = 5
MILLISECONDS = pa.timestamp("ms")
COLUMNS = ("k", "start", "n", "s", "hi")


@dataclass(frozen=True)
class Inputs:
    """The same rows, cut for each side."""

    batches: Path
    """Eight files in order."""
    lanes: Path
    """Two files, each with every other row."""
    until: int
    """The last watermark, in milliseconds."""

    @classmethod
    def of(cls, table: pa.Table, folder: Path) -> Inputs:
        lanes = folder / "lanes"
        lanes.mkdir(parents=True)
        for lane in range(2):
            pq.write_table(table.take(pa.array(range(lane, len(table), 2))), lanes / f"{lane}.parquet")
        batches = written(folder / "batches", table, files=min(8, len(table)))
        return cls(batches, lanes, table["ts"][-1].value - DELAY)


class Flink:
    """The process that runs Flink's jobs."""

    def __init__(self, python: Path, jars: list[Path], errors: Path) -> None:
        # PyFlink starts more Pythons by name: its own must be the first on the path, and ours in none.
        path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self._errors = errors
        with errors.open("w") as log:
            self._process = subprocess.Popen(
                [python, DRIVER, *jars], env=environment | {"PATH": path}, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip
        self.engine = str(self._answer()["engine"])

    def seconds(self, window: str, rows: Path, to: Path) -> float:
        assert self._process.stdin is not None
        request = {"window": window, "rows": str(rows), "to": str(to)}
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return float(self._answer()["seconds"])

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):  # Java logs to the same place
                message: dict[str, Any] = json.loads(line)
                return message
        raise RuntimeError(f"Flink has ended: {self._errors.read_text()[-2000:]}")


@dataclass
class Race:
    """The runs of one kind of window, by contender."""

    spark: SparkSession
    flink: Flink
    window: str
    whole: Inputs
    ten: Inputs
    expected: int = 0
    """Rows of the answer, once the first run has it."""
    taken: dict[str, list[float]] = field(default_factory=dict)

    def first(self) -> dict[str, float]:
        """Seconds of the first run of each side, whose answers are compared."""
        with tempfile.TemporaryDirectory(prefix="sash-bench-") as home:
            ours = self._sash(self.whole.batches, Path(home))
            found = reports(Path(home) / "out", self.whole.until)
            self.expected = len(found)
            theirs, answer = self._flink(Path(home))
        for name in COLUMNS:
            assert found[name].equals(answer[name]), f"{name} differs from Flink's"
        return {"Sash": ours, self.flink.engine: theirs}

    def round(self) -> None:
        inputs = {"sash": self.whole.batches, "lanes": self.whole.lanes, "ten": self.ten.lanes}
        for name, rows in inputs.items():
            with tempfile.TemporaryDirectory(prefix="sash-bench-") as home:
                self._note(name, self._sash(rows, Path(home)))
                if name != "ten":
                    assert len(reports(Path(home) / "out", self.whole.until)) == self.expected
        with tempfile.TemporaryDirectory(prefix="sash-bench-") as home:
            self._note("flink", self._flink(Path(home))[0])
            self._note("flink, ten", self.flink.seconds(self.window, self.ten.lanes, Path(home) / "ten"))

    def times(self, name: str) -> Times:
        return Times(tuple(self.taken[name]))

    def _note(self, name: str, seconds: float) -> None:
        self.taken.setdefault(name, []).append(seconds)

    def _sash(self, rows: Path, home: Path) -> float:
        lengths, _ = COMPARISONS[self.window]
        begin = time.perf_counter()
        query = three(stream(self.spark, rows), *lengths)
        running = query.start(home / "out", checkpoint=home / "c", trigger="available now")
        running.awaitTermination()
        return time.perf_counter() - begin

    def _flink(self, home: Path) -> tuple[float, pa.Table]:
        """Seconds and answer of a run in which each reader had its file."""
        for number in range(TRIES):
            to = home / f"flink-{number}"
            seconds = self.flink.seconds(self.window, self.whole.lanes, to)
            answer = reports(to, self.whole.until)
            if len(answer) == self.expected:
                return seconds, answer
        raise AssertionError(f"Flink has {len(answer)} windows, not {self.expected}")


def reports(folder: Path, until: int) -> pa.Table:
    """Windows that have ended then, in milliseconds: in one order, with the same names for both sides."""
    table = ds.dataset(folder, format="parquet").to_table()
    if "window" in table.column_names:
        window = table["window"].combine_chunks()
        start, end = window.field("start"), window.field("end")
    else:
        start, end = table["window_start"], table["window_end"]
    for name, column in (("start", start), ("end", end)):
        table = table.append_column(name, pc.cast(pc.cast(column, MILLISECONDS, safe=False), pa.int64()))
    closed = table.filter(pc.less_equal(table["end"], until)).select(COLUMNS)
    return closed.sort_by([("k", "ascending"), ("start", "ascending")]).combine_chunks()


def compare(spark: SparkSession, flink: Flink, folder: Path, *, rows: int, rounds: int) -> Iterator[Table]:
    whole, ten = (Inputs.of(_rows(size), folder / str(size)) for size in (rows, TEN))
    for window, (lengths, limit) in COMPARISONS.items():
        race = Race(spark, flink, window, whole, ten)
        first = race.first()
        for _ in range(rounds):
            race.round()
        ours, theirs, start, their_start = map(race.times, ("sash", "flink", "ten", "flink, ten"))
        table = Table(f"stream to files: {worded(*lengths)}, 1,000 keys, count, sum and max", "opponent")
        table.start()
        table.against(Opponent(f"{flink.engine}, whole run", rows, ours, theirs), limit=limit)
        lanes = race.times("lanes")
        table.add("Sash over Flink's two files", lanes.best, lanes.best / theirs.best, times=lanes)
        table.add(f"Sash, {TEN} rows: start and end", start.best, start.best / theirs.best, times=start)
        table.add(f"{flink.engine}, {TEN} rows", their_start.best, their_start.best / theirs.best)
        net, their_net = ours.best - start.best, max(theirs.best - their_start.best, 1e-3)
        table.add("Sash, both without start and end", net, net / their_net)
        for name, seconds in first.items():
            table.add(f"{name}, the first run", seconds, seconds / first[flink.engine])
        yield table


def _rows(size: int) -> pa.Table:
    table = events(size, KEYS, SECONDS)
    return table.set_column(0, "ts", table["ts"].cast(pa.timestamp("ms", "UTC"), safe=False))


def jars_of(python: Path) -> list[Path]:
    """Parquet for Flink, and the classes of Hadoop that it needs, which are part of Spark."""
    import pyspark

    parquet = list((python.parents[1] / "jars").glob("flink-sql-parquet-*.jar"))
    if not parquet:
        raise sash.errors.MissingDependency(f"no parquet format in {python.parents[1]}: run `make peers`")
    return parquet + sorted((Path(pyspark.__file__).parent / "jars").glob("hadoop-client-*.jar"))


@contextmanager
def started(python: Path, jars: list[Path], folder: Path) -> Iterator[tuple[SparkSession, Flink]]:
    flink = Flink(python, jars, folder / "flink.log")
    spark = sash.spark_session(app="sash benchmarks", spark_sql_shuffle_partitions="2")
    try:
        yield spark, flink
    finally:
        flink.close()
        spark.stop()


def main() -> int:
    chosen = options("Streams against Flink SQL.", rows=ROWS)
    try:
        python = python_of("pyflink")
        jars = jars_of(python)
    except sash.errors.MissingDependency as missing:
        print(f"Flink SQL is left out: {missing}")
        return 0
    rows, rounds = (20_000, 1) if chosen.quick else (chosen.rows, chosen.rounds)
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as home:
        folder = Path(home)
        with started(python, jars, folder) as (spark, flink):
            tables = list(compare(spark, flink, folder, rows=rows, rounds=rounds))
    return finish(tables, chosen)


if __name__ == "__main__":
    sys.exit(main())
