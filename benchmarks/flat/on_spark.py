"""The same on Spark, through the public API: one file per micro-batch, a large one and then small ones."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql.pandas.types import from_arrow_schema

from benchmarks.flat import queries
from benchmarks.harness import Table

BATCHES, ROUNDS = 16, 2
FLAT = 1.25


def flat(spark: Any, kinds: list[str], *, few: int, many: int) -> list[Table]:
    """Much held against little, in turns: addBatch, as Spark reports it, the better round of each."""
    table = Table(f"Spark: addBatch of 1,000 rows of 1,000 keys, {many:,} held (medians)", f"{few:,} held")
    first = Table(f"Spark: the first batch, of {many:,} rows", "a second")
    table.start()
    seconds = {}
    for kind in kinds:
        measured(spark, kind, few)  # loads the kernels in all workers
        rounds = [(measured(spark, kind, few), measured(spark, kind, many)) for _ in range(ROUNDS)]
        little = min(one for (one, _), _ in rounds)
        much, seconds[kind] = (min(each) for each in zip(*(large for _, large in rounds), strict=True))
        table.add(f"{kind} ({1e3 * little:.0f} ms)", much, much / little, limit=FLAT)
    first.start()
    for kind, took in seconds.items():
        first.add(kind, took, took)
    return [table, first]


def measured(spark: Any, kind: str, held: int) -> tuple[float, float]:
    """Seconds of addBatch: the median of the small batches, and of the first."""
    with tempfile.TemporaryDirectory(prefix="sash-flat-") as folder:
        place = Path(folder)
        source = place / "in"
        source.mkdir()
        _write(source, 0, queries.held(held))
        for number in range(BATCHES):
            _write(source, number + 1, queries.batch(number, after=held))
        reader = spark.readStream.schema(from_arrow_schema(queries.SCHEMA)).option("maxFilesPerTrigger", 1)
        query = queries.query(kind, reader.parquet(str(source)), held)
        running = query.start(
            str(place / "out"), checkpoint=str(place / "checkpoint"), trigger="available now"
        )
        running.awaitTermination()
        reports = [progress for progress in running.recentProgress if progress["numInputRows"]]
    times = [progress["durationMs"]["addBatch"] / 1e3 for progress in reports]
    small = sorted(times[4:])
    return small[len(small) // 2], times[0]


def _write(folder: Path, number: int, table: Any) -> None:
    path = folder / f"{number:04}.parquet"
    pq.write_table(table, path)
    os.utime(path, (1_000 + number, 1_000 + number))  # the file source takes them by their times
