"""What a Spark session must have for windows over streams. A wrong setting is an error, never changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import lru_cache

from pyspark.sql import SparkSession

from sash.errors import MissingDependency, SettingError
from sash.runtimes.spark.compat import is_connect, state_store_failure

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
PARTITIONS = "spark.sql.shuffle.partitions"
SEVERAL_STATEFUL = "spark.sql.streaming.statefulOperator.allowMultiple"


def require_streaming(spark: SparkSession, *, chained: bool) -> None:
    """SettingError or MissingDependency where this session cannot run stateful Python."""
    _require(spark, PROVIDER, ROCKSDB, "the only state store that Spark's transformWithState works with")
    if chained:
        _require(spark, SEVERAL_STATEFUL, "true", "which windows over the windows of a stream need")
    failure = state_store_failure()
    if failure:
        raise MissingDependency(
            "windows over a stream need the package protobuf, which Spark talks to its state store with; "
            f"install it with: pip install 'protobuf>=6.33.5' ({failure})",
            name="protobuf",
        )


def require_workers(spark: SparkSession) -> None:
    """SettingError where Spark would start its workers, on this machine, with a Python without Sash."""
    if is_connect(spark) or not str(spark.sparkContext.master).startswith("local"):
        return
    program = spark.sparkContext.pythonExec
    if not _has_sash(program):
        raise SettingError(
            "PYSPARK_PYTHON", program, f"a Python that has sash, such as {sys.executable!r}",
            hint="Spark starts its workers with it: set os.environ['PYSPARK_PYTHON'] = sys.executable "
            "before the session is built; sash.spark_session() does that too.",
        )  # fmt: skip


@lru_cache
def _has_sash(program: str) -> bool:
    """A run of the program finds out, unless it is this one: several environments may link to one file."""
    found = shutil.which(program)
    if found is None or found == sys.executable:
        return found is not None
    return subprocess.run([found, "-c", "import sash"], capture_output=True, check=False).returncode == 0


def task_slots(spark: SparkSession) -> int:
    """How many tasks run at a time; over Spark Connect, where that is unknown, how many are configured."""
    context = None if is_connect(spark) else spark.sparkContext
    return shuffle_partitions(spark) if context is None else context.defaultParallelism


def shuffle_partitions(spark: SparkSession) -> int:
    return int(spark.conf.get(PARTITIONS) or 200)


def _require(spark: SparkSession, setting: str, works: str, why: str) -> None:
    given = spark.conf.get(setting)
    if given != works:
        raise SettingError(
            setting, given, f"{works!r}, {why}",
            hint=f"Set it before the query is built: spark.conf.set({setting!r}, {works!r}); "
            "sash.spark_session() sets it too.",
        )  # fmt: skip
