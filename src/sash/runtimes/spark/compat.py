"""What Sash needs of PySpark and has no public form: all of it, in one place.

    schemas      Spark ↔ Arrow, as the rows of a Python stage have them      pyspark.sql.pandas.types
    plans        the analysed plan of a DataFrame, as text                   the JVM's query execution
    rows         of a table, all of them                                      createDataFrame
                 as a table, counted while they come                     the JVM's socket, Connect's client
    caches       whether all of a DataFrame has been computed                the JVM's cache manager
    sessions     the one that this process has, if any                       the active SparkContext
    the JVM      whether a format is known, Hadoop, a database, Iceberg's snapshots   the JVM's session
    executors    which there are, more of them, fewer of them                      the JVM's SparkContext
    state        whether Python can open the state store                     the messages of both

PySpark 4.1, 4.2 and 4.3 differ here, and nowhere else that we use. Which versions are accepted: `OLDEST` in
`runtimes/spark/__init__.py`, and pyproject.toml.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import signature
from typing import Any, Self, cast

import pyarrow as pa
from pyspark import SparkContext
from pyspark.errors.exceptions.captured import unwrap_spark_exception
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_schema
from pyspark.sql.types import DataType, StructType
from pyspark.util import local_connect_and_auth

_UTC: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
"""PySpark 4.1 knows no other zone than UTC and has no argument for it."""


def arrow_of(struct: StructType, *, zone: str) -> pa.Schema:
    """A schema as the rows of a Python stage have it: timestamps are in the zone of the session."""
    found = to_arrow_schema(struct, **_UTC)
    return pa.schema([field.with_type(_in_zone(field.type, zone)) for field in found])


def struct_of(schema: pa.Schema) -> StructType:
    """The other way; a timestamp without a zone stays one, which PySpark 4.1 does only on request."""
    return from_arrow_schema(schema, prefer_timestamp_ntz=True)


def type_of(type_: pa.DataType) -> DataType:
    """The same for one type; a PySparkException for a type that Spark does not have."""
    return from_arrow_type(type_, prefer_timestamp_ntz=True)


def _in_zone(type_: pa.DataType, zone: str) -> pa.DataType:
    """
    >>> _in_zone(pa.struct([("at", pa.timestamp("us", "UTC")), ("n", pa.int64())]), "Asia/Tokyo")
    StructType(struct<at: timestamp[us, tz=Asia/Tokyo], n: int64>)
    """
    if pa.types.is_timestamp(type_) and type_.tz is not None:
        return pa.timestamp(type_.unit, zone)
    if pa.types.is_map(type_):
        key, item = (
            each.with_type(_in_zone(each.type, zone)) for each in (type_.key_field, type_.item_field)
        )
        return pa.map_(key, item)
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(_in_zone(type_.value_type, zone)))
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_in_zone(field.type, zone)) for field in type_])
    return type_


def is_connect(of: DataFrame | SparkSession) -> bool:
    """Whether the driver is another process, which has a JVM that is not ours."""
    return type(of).__module__.startswith("pyspark.sql.connect")


def counted_arrow(df: DataFrame, arrives: Callable[[int], None]) -> pa.Table:
    """`df.toArrow()`; `arrives` gets the bytes of each batch when it has come, and others may be computed
    still."""
    if is_connect(df):
        return _counted_over_connect(df, arrives)
    large = df.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes") == "true"
    schema = _schema_of_answer(df, large=large)
    port, secret, server = df._jdf.collectAsArrowToPython()
    try:
        stream, connection = local_connect_and_auth(port, secret)
        connection.settimeout(None)  # a job may take any time
        with connection, stream, pa.ipc.open_stream(stream) as reader:
            batches = []
            for batch in reader:
                batches.append(batch)
                arrives(batch.nbytes)
            # They come as their tasks end. Their order follows; -1 when the job has failed.
            count = max(0, int.from_bytes(stream.read(4), "big", signed=True))
            order = struct.unpack(f">{count}i", stream.read(4 * count))
    finally:
        with unwrap_spark_exception():
            server.getResult()  # raises what has failed
    return pa.Table.from_batches([batches[at] for at in order], reader.schema).cast(schema)


def _counted_over_connect(df: DataFrame, arrives: Callable[[int], None]) -> pa.Table:
    """By what `toLocalIterator` reads: a schema, then a table for each batch, in order. `toArrow` has them
    when all have come. An empty answer has an empty batch."""
    schema, remote = _schema_of_answer(df), cast(Any, df)
    client, plan, parts = remote.sparkSession.client, remote._plan, list[pa.Table]()
    for found in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
        if isinstance(found, pa.Table):
            parts.append(found)
            arrives(found.nbytes)
    return pa.concat_tables(parts).cast(schema)


def _schema_of_answer(df: DataFrame, *, large: bool = False) -> pa.Schema:
    return to_arrow_schema(
        df.schema, error_on_duplicated_field_names_in_struct=True, prefers_large_types=large, **_UTC
    )


def analysed_plan(df: DataFrame) -> str:
    """The plan with its names resolved, as text."""
    if is_connect(df):
        return _analysed(cast(Any, df)._explain_string(mode="extended"))
    return str(df._jdf.queryExecution().analyzed().treeString())


def _analysed(explained: str) -> str:
    """The analysed plan alone, of what Spark Connect returns: all plans, each under its title.

    >>> _analysed("== Parsed … ==\\na\\n== Analyzed Logical Plan ==\\nb\\n== Optimized … ==\\nc")
    '\\nb\\n'
    """
    return explained.partition("== Analyzed Logical Plan ==")[2].partition("== Optimized")[0]


def rows_in_spark(spark: SparkSession, table: pa.Table, struct: StructType | None = None) -> DataFrame:
    """`createDataFrame`, which stops at the first record batch that is empty and drops those after it."""
    return spark.createDataFrame(table.combine_chunks(), cast(StructType, struct))


def all_cached(df: DataFrame) -> bool:
    """Whether every partition of a DataFrame that is persisted has been computed, by whichever job; False
    where that is not known."""
    if is_connect(df):
        return False
    manager = cast(Any, df.sparkSession)._jsparkSession.sharedState().cacheManager()
    cached = manager.lookupCachedData(df._jdf)
    return cached.isDefined() and bool(
        cached.get().cachedRepresentation().cacheBuilder().isCachedColumnBuffersLoaded()
    )


def existing_session() -> SparkSession | None:
    """The session of this process, also in a thread where none is active yet; None before the first."""
    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:
        # Without settings there is nothing that it could change.
        return SparkSession.builder.getOrCreate()
    return active


def knows_format(spark: SparkSession, name: str) -> bool:
    """Whether Spark has classes for the format, without which it can neither read nor write it."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    sources = jvm_of(spark).org.apache.spark.sql.execution.datasources.DataSource
    try:
        sources.lookupDataSource(name, cast(Any, spark)._jsparkSession.sessionState().conf())
    except (PySparkException, Py4JError):
        return False
    return True


def state_store_failure() -> str:
    """Why Python cannot open Spark's state store; empty when it can. The messages were generated by a
    version of protobuf, and no older one can load them."""
    try:
        import pyspark.sql.streaming.proto.StateMessage_pb2  # noqa: F401
    except Exception as failed:
        return str(failed)
    return ""


class ExecutorPool:
    """The executors of an application, whose cluster manager can start and end them one by one."""

    def __init__(self, spark: SparkSession) -> None:
        self._jvm, self._context = jvm_of(spark), spark.sparkContext._jsc.sc()

    def tasks(self) -> dict[str, int]:
        """How many tasks each of them has now, the newest first."""
        every = self._context.statusStore().executorList(True)
        found = [every.apply(at) for at in range(every.size())]
        tasks = {one.id(): int(one.activeTasks()) for one in found if one.id() != "driver"}
        return dict(sorted(tasks.items(), key=lambda item: (len(item[0]), item[0]), reverse=True))

    def want(self, number: int) -> None:
        """From now on so many: others are started as soon as there is a place for them."""
        self._context.requestTotalExecutors(number, 0, self._jvm.PythonUtils.toScalaMap({}))

    def end(self, names: Sequence[str]) -> None:
        """End these. Spark wants fewer by as many afterwards, so `want` comes after it."""
        self._context.killExecutors(self._jvm.PythonUtils.toSeq(list(names)))


class Database:
    """A connection of the driver to a database: one transaction, committed at the end of a `with` block."""

    def __init__(self, spark: SparkSession, url: str, options: Mapping[str, str]) -> None:
        jvm = jvm_of(spark)
        settings = jvm.java.util.Properties()
        for name, value in options.items():
            settings.setProperty(name, value)
        if "driver" in options:
            jvm.org.apache.spark.sql.execution.datasources.jdbc.DriverRegistry.register(options["driver"])
        self._connection = jvm.java.sql.DriverManager.getConnection(url, settings)
        self._connection.setAutoCommit(False)
        self._quote = self._connection.getMetaData().getIdentifierQuoteString().strip()

    def quoted(self, name: str) -> str:
        """A column by name, as Spark's writer quotes it."""
        return f"{self._quote}{name}{self._quote}"

    def run(self, statement: str) -> None:
        command = self._connection.createStatement()
        try:
            command.executeUpdate(statement)
        finally:
            command.close()

    def finds(self, query: str) -> bool:
        """Whether the query has a row."""
        command = self._connection.createStatement()
        try:
            return bool(command.executeQuery(query).next())
        finally:
            command.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        try:
            if kind is None:
                self._connection.commit()
            else:
                self._connection.rollback()
        finally:
            self._connection.close()


def snapshot_summaries(spark: SparkSession, *, table: str, path: str) -> Iterator[Mapping[str, str]]:
    """What is written in the snapshots of an Iceberg table, from the current one back to the first: those
    that its rows are made of, and none that was rolled back. Read one by one, as far as the caller goes."""
    iceberg, session = jvm_of(spark).org.apache.iceberg, cast(Any, spark)
    if table:
        found = iceberg.spark.Spark3Util.loadIcebergTable(session._jsparkSession, table)
    else:
        found = iceberg.hadoop.HadoopTables(session._jsc.hadoopConfiguration()).load(path)
    found.refresh()  # a catalog remembers tables for half a minute
    snapshot = found.currentSnapshot()
    while snapshot is not None:
        yield dict(snapshot.summary())
        parent = snapshot.parentId()
        snapshot = None if parent is None else found.snapshot(parent)


def hadoop_settings(spark: SparkSession) -> Any:
    """Of the file systems that the session reaches: see `hadoop_folder`."""
    return cast(Any, spark)._jsparkSession.sessionState().newHadoopConf()


def jvm_of(spark: SparkSession) -> Any:
    return cast(Any, spark)._jvm
