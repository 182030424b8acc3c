"""On Spark: the same windower and folder, run by Python workers on buckets of keys.

PySpark is not a dependency of `pip install sash`, since a cluster has its own. Whatever of Sash needs it
imports this package first, and so one sentence here is enough.

compat.py                what Sash needs of PySpark and has no public form: all of it, in one place
errors_in_workers.py     what Sash raises in a Python worker, without the way to it
failures.py              what went wrong in Spark, in one sentence
hadoop_folder.py         small files wherever Spark keeps files
malloc_arenas.py         how many arenas the C library gives the JVM
micro_batch_jobs.py      how the jobs of a micro-batch are planned
quiet_console.py         what the processes of Spark write to standard error, without noise
session.py               a SparkSession with the settings that matter to Sash
session_requirements.py  what a Spark session must have for windows over streams
"""

from sash.errors import MissingDependency

OLDEST = (4, 1)
"""`repartitionById` and `transformWithState` on rows came with it."""

PIP = "pip install 'pyspark>=4.1,<4.4' 'protobuf>=6.33.5'"
"""What the extra `spark` brings; protobuf is imported by transformWithState."""


def _require_pyspark() -> None:
    try:
        from pyspark import __version__ as found
    except ImportError:
        raise MissingDependency(
            f"Spark needs the package pyspark, which is not installed: {PIP}, or use "
            "the Python of a cluster that has it",
            name="pyspark",
        ) from None
    if tuple(int(part) for part in found.split(".")[:2]) < OLDEST:
        raise MissingDependency(
            f"Sash needs PySpark {'.'.join(map(str, OLDEST))} or later, and this is {found}", name="pyspark"
        )


_require_pyspark()
