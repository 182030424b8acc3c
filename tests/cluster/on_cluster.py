"""A program for test_cluster.py: windows on a cluster, and where executors have Sash from.

    python -m tests.cluster.on_cluster <master> <archive> <what> <folder>

`what` is batch, stream or elastic. A stream reads a file of the folder for each batch until all are read,
and goes on from its checkpoint when it is started again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import sash
from sash.runtimes.spark.compat import struct_of
from tests.cluster.trades import SCHEMA, query_over


def main(master: str, archive: str, what: str, folder: str) -> None:
    spark = sash.spark_session(
        master=master, app=f"sash {what}", spark_sql_shuffle_partitions="2", spark_submit_pyFiles=archive,
        spark_executor_memory="600m", spark_executor_cores="1", spark_cores_max="2",
    )  # fmt: skip
    spark.sparkContext.setLogLevel("ERROR")
    place = Path(folder)
    (place / "from").write_text("\n".join(set(_places(spark))))
    rows = spark.read if what == "batch" else spark.readStream.option("maxFilesPerTrigger", 1)
    query = query_over(rows.schema(struct_of(SCHEMA)).parquet(str(place / "in")))
    if what == "batch":
        query.dataframe().write.parquet(str(place / "out"))
        return
    options = {"elastic": sash.Elastic(max=2, store="files")} if what == "elastic" else {}
    running = query.start(
        place / "out", checkpoint=place / "checkpoint", trigger="available now", **options
    )
    running.awaitTermination()


def _places(spark: Any) -> list[str]:
    def here(_: Any) -> Any:
        import sash

        yield str(sash.__file__)

    return list(spark.sparkContext.parallelize(range(2), 2).mapPartitions(here).collect())


if __name__ == "__main__":
    main(*sys.argv[1:])
