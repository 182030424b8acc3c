"""The Spark of a command: its log goes to a file, not between our lines.

A JVM and the Python workers that it starts write to the standard error that it was born with. So that is
a file, or nothing, while the JVM is born, and ours again afterwards.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import sash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CHATTY = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""Loggers that print the whole stack of every error that PySpark raises."""


@contextmanager
def spark_session(
    *, app: str, debug: bool, master: str = "local[*]", settings: Mapping[str, str] | None = None,
    log: Path | None = None, announced: bool = False,
) -> Iterator[SparkSession]:  # fmt: skip
    """The session of this process, or one that ends with the block.

    debug: let Spark write to the terminal.
    log:   where it writes otherwise; nowhere when not given.
    announced: print that one is started, unless SASH_PROGRESS=0.
    """
    from sash.runtimes.spark.compat import existing_session
    from sash.runtimes.spark.failures import in_one_sentence
    from sash.runtimes.spark.session import require_java

    found = existing_session()
    if found is not None:
        yield found
        return
    require_java()
    if announced and os.environ.get("SASH_PROGRESS") != "0":
        print("starting Spark, a few seconds …", file=sys.stderr, flush=True)
    level = {} if debug else {"spark.log.level": "OFF" if log is None else "ERROR"}
    with in_one_sentence(), nullcontext() if debug else _standard_error_to(log or Path(os.devnull)):
        spark = sash.spark_session(master=master, app=app, **level, **(settings or {}))
    if not debug:
        from pyspark.logger import PySparkLogger

        for name in _CHATTY:
            PySparkLogger.getLogger(name).disabled = True
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    sys.stderr.flush()
    kept = os.dup(2)
    with path.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
