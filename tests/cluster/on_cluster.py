"""A program for the tests of clusters: queries, one after the other, and where executors have Sash from.

    python -m tests.cluster.on_cluster <master> <archive> <what> <folder>

`what` is one or several of RUNS. A stream reads a file of the folder for each batch until all are read, and
goes on from its checkpoint when it is started again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sash
from sash.runtimes.spark.compat import ExecutorPool, struct_of
from tests.cluster.standalone import PATIENCE
from tests.cluster.trades import QUERIES, SCHEMA

RUNS = {
    "batch": ("windows",), "stream": ("windows",), "elastic": ("windows",), "join": ("pairs",),
    "together": ("windows", "bars"), "executors": ("windows",),
}  # fmt: skip
"""What runs, and of which queries it writes the rows."""


def main(master: str, archive: str, what: str, folder: str) -> None:
    spark = sash.spark_session(
        master=master, app=f"sash {what}", spark_sql_shuffle_partitions="2", spark_submit_pyFiles=archive,
        spark_executor_memory="600m", spark_executor_cores="1", spark_cores_max="2",
        # State draws tasks to the host that has it; a new host is to get some, too.
        spark_locality_wait="0s",
    )  # fmt: skip
    spark.sparkContext.setLogLevel("ERROR")
    place = Path(folder)
    (place / "from").write_text("\n".join(set(_places(spark))))
    for each in what.split(","):
        reader = spark.read if each == "batch" else spark.readStream.option("maxFilesPerTrigger", 1)
        rows = reader.schema(struct_of(SCHEMA)).parquet(str(place / "in"))
        queries = {name: QUERIES[name](rows) for name in RUNS[each]}
        _run(each, queries, place / each)


def _run(what: str, queries: dict[str, Any], place: Path) -> None:
    sinks = {name: place / "out" / name for name in queries}
    options: dict[str, Any] = {"checkpoint": place / "checkpoint", "trigger": "available now"}
    if what == "together":
        running = sash.together(**queries).start(sinks, **options)
    else:
        ((name, query),) = queries.items()
        if what == "batch":
            query.dataframe().write.parquet(str(sinks[name]))
            return
        if what in ("elastic", "executors"):
            controller = _Recorded(place / "numbers") if what == "executors" else _in_turn
            options["elastic"] = sash.Elastic(
                max=2, store="files", controller=controller, executors=what == "executors"
            )
        running = query.start(sinks[name], **options)
    running.awaitTermination()


def _in_turn(samples: Sequence[Any]) -> int:
    return 1 + len(samples) % 2


class _Recorded:
    """A controller that needs one executor, then two, then one. It waits until those of the batch before
    are there, and writes down how many there are."""

    def __init__(self, file: Path) -> None:
        self._file = file
        file.parent.mkdir(parents=True, exist_ok=True)

    def __call__(self, samples: Sequence[Any]) -> int:
        if samples:
            pool, end = ExecutorPool(sash.spark_session()), time.monotonic() + PATIENCE
            while len(pool.tasks()) != samples[-1].degree and time.monotonic() < end:
                time.sleep(0.2)
            with self._file.open("a") as numbers:
                numbers.write(f"{len(pool.tasks())}\n")
        return 2 if 3 <= len(samples) < 7 else 1


def _places(spark: Any) -> list[str]:
    def here(_: Any) -> Any:
        import sash

        yield str(sash.__file__)

    return list(spark.sparkContext.parallelize(range(2), 2).mapPartitions(here).collect())


if __name__ == "__main__":
    main(*sys.argv[1:])
