"""A program for test_full_disk.py: one operator, whose folders lie on small disks of their own.

    python run_on_full_disks.py <home> <operator> <files> <seed> <small disk> …

Each disk in turn has no room left. The query must fail with one sentence that names a folder on that disk
and its room. Then there is room again, and it is started again. At the end it has emitted what it must.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import sash
from sash.errors import QueryFailed
from sash.runtimes.spark.compat import struct_of
from tests.faults.full_disks import full
from tests.faults.operator_events import SCHEMA, files_of
from tests.faults.operators import OPERATORS
from tests.runtimes.micro_batches import write_batches

TRIES = 4
"""Files within which a query must have written to all of its disks."""


class Program:
    """A query that is started again and again."""

    def __init__(self, home: Path, name: str, files: int, seed: int) -> None:
        self.home, self.name, self.written = home, name, 0
        self.batches = list(files_of(files, seed=seed))
        self.spark = sash.spark_session(
            master="local[2]", app="full disks", spark_sql_shuffle_partitions="1",
            spark_sql_streaming_verifyCheckpointDirectoryEmptyOnStart="false",
        )  # fmt: skip
        self.spark.sparkContext.setLogLevel("OFF")
        (home / "files").mkdir()

    def started(self) -> Any:
        arriving = self.spark.readStream.schema(struct_of(SCHEMA)).option("maxFilesPerTrigger", 1)
        data = arriving.parquet(str(self.home / "files"))
        return OPERATORS[self.name].start(data, self.home / self.name, redis="")

    def bring(self, count: int) -> None:
        write_batches(
            self.home / "files", self.batches[self.written : self.written + count], first=self.written
        )
        self.written += count

    def fails_on(self, disk: Path) -> str:
        """It runs when the disk becomes full, unless it has to start again to write there."""
        query = self.started()
        self.bring(1)
        query.processAllAvailable()
        with full(disk):
            for _ in range(TRIES):
                self.bring(1)
                try:
                    query.processAllAvailable()
                except Exception:
                    break
            else:
                query.stop()
                query = self.started()
            try:
                ended = query.awaitTermination(60)
            except QueryFailed as error:
                return str(error)
        raise AssertionError(f"it has not failed: {ended}")

    def ends(self) -> None:
        query = self.started()
        self.bring(len(self.batches) - self.written)
        query.processAllAvailable()
        query.stop()
        OPERATORS[self.name].check(self.home / self.name, self.batches)


def main(home: Path, name: str, files: int, seed: int, *disks: str) -> None:
    program = Program(home, name, files, seed)
    for disk in disks:
        words = program.fails_on(home / disk)
        print(f"{disk}: {words}")
        assert str(home / disk) in words, words
        assert "bytes are free" in words, words
        assert "\n" not in words, words
    program.ends()
    program.spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
