"""Where the answers of a query on a stream go: once for each micro-batch, also when it is executed twice.

    a path      <path>/batch=<number>/…parquet   written aside, then renamed: there as a whole or not at all
    a function  function(DataFrame, number)      by the number it knows what it has written

A batch that is executed again has the same reports. So a batch that is there already is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TypeAlias

from pyspark.sql import DataFrame

from sash.errors import ArgumentError, StoreError
from sash.runtimes.spark.compat import HadoopFolder

Sink: TypeAlias = "str | PathLike[str] | Callable[[DataFrame, int], None]"


@dataclass(frozen=True)
class ParquetSink:
    """A folder of batches. On a file system whose rename is not atomic (an object store), a reader may see
    a part of a batch for a moment."""

    path: str

    def __call__(self, reports: DataFrame, batch: int) -> None:
        done, aside = f"{self.path}/batch={batch}", f"{self.path}/_batch={batch}"
        here, there = (HadoopFolder(reports.sparkSession, path) for path in (aside, done))
        if there.exists():
            return
        # A leading underscore hides a folder from Spark's readers.
        reports.write.mode("overwrite").parquet(aside)
        if not here.rename(there):
            raise StoreError(f"{aside} could not be renamed to {done}")


def sink_for(given: Sink) -> Callable[[DataFrame, int], None]:
    """What the caller gave as a sink, as a function."""
    if callable(given):
        return given
    if isinstance(given, str | PathLike):
        return ParquetSink(fspath(given))
    raise ArgumentError("sink", given, "a path, or a function of a DataFrame and the number of its batch")
