"""What a Spark session must have for windows over streams. A wrong setting is said, never changed."""

from __future__ import annotations

from importlib.util import find_spec

from pyspark.sql import SparkSession

from sash.errors import MissingDependency, SettingError

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
SEVERAL_STATEFUL = "spark.sql.streaming.statefulOperator.allowMultiple"


def require_streaming(spark: SparkSession, *, chained: bool) -> None:
    """SettingError or MissingDependency where this session cannot run stateful Python."""
    _require(spark, PROVIDER, ROCKSDB, "the only state store that Spark's transformWithState works with")
    if chained:
        _require(spark, SEVERAL_STATEFUL, "true", "which windows over the windows of a stream need")
    if find_spec("google") is None or find_spec("google.protobuf") is None:
        raise MissingDependency(
            "windows over a stream need the package protobuf, which Spark talks to its state store with; "
            "install it with: pip install 'protobuf>=6.33.5'"
        )


def task_slots(spark: SparkSession) -> int:
    """How many tasks run at a time; over Spark Connect, which does not say, how many are asked for."""
    context = None if type(spark).__module__.startswith("pyspark.sql.connect") else spark.sparkContext
    return shuffle_partitions(spark) if context is None else context.defaultParallelism


def shuffle_partitions(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 200)


def _require(spark: SparkSession, setting: str, works: str, why: str) -> None:
    given = spark.conf.get(setting)
    if given != works:
        raise SettingError(
            setting, given, f"{works!r}, {why}",
            hint=f"Set it before the query is built: spark.conf.set({setting!r}, {works!r}); "
            "sash.session() sets it too.",
        )  # fmt: skip
