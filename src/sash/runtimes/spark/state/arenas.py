"""Where the arenas of a query lie on Spark, and when they go.

They are named after the query, in the local folder of the executor: Spark removes that folder when the
application ends. Those of a query that was started here, in local mode, go when it ends; those of an
application that was killed, when the next one uses its first arena; all others when nobody has used them
for an hour and another query runs.
"""

from __future__ import annotations

import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

from pyspark import TaskContext

from sash.operators.arena import ArenaHome
from sash.runtimes.spark.compat import is_connect

PAUSES = (0.5, 2.0, 10.0, 30.0)
"""Seconds between two attempts to remove what is still in use when its query ends."""
QUERY_ID = "sql.streaming.queryId"
"""The property of a stream's thread that holds the identifier in its checkpoint."""


def arena_name(bucket: bytes) -> str:
    """Of the bucket with this own name, in the query that this task works for."""
    task = TaskContext.get()
    query = None if task is None else task.getLocalProperty(QUERY_ID)
    return f"{query or 'none'}.{bucket.hex()}"


def local_folders(spark: Any) -> list[str]:
    """Where Spark writes what it need not keep, in local mode."""
    setting = spark.sparkContext.getConf().get("spark.local.dir")
    folders = os.environ.get("SPARK_LOCAL_DIRS") or setting or tempfile.gettempdir()
    return [folder.strip() for folder in folders.split(",")]


def remove_when_ended(query: Any, spark: Any) -> None:
    """Remove the arenas of a streaming query when it ends, if they are on this machine."""
    if is_connect(spark) or not str(spark.sparkContext.master).startswith("local"):
        return
    folders, name = local_folders(spark), f"{query.id}."

    def wait() -> None:
        with suppress(Exception):  # the one who started the query gets its failure
            query.awaitTermination()
        for pause in PAUSES:  # a task that was cancelled may work on its arena for a while
            homes = [home for folder in folders for home in ArenaHome.on_this_machine(Path(folder))]
            if not sum(home.remove_all(name) for home in homes):
                return
            time.sleep(pause)

    Thread(target=wait, name="sash arenas", daemon=True).start()
