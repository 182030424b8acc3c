"""A folder of files as a sink, and what is published in it as a DataFrame.

`manifests.py` beside it commits a batch exactly once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike, fspath
from uuid import uuid4

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import DataFrame, Observation, SparkSession, functions as F

from sash.errors import ArgumentError, StoreError
from sash.runtimes.folder_paths import resolved
from sash.runtimes.spark.files.same_place import same_place
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.session import require_session
from sash.runtimes.spark.sinks import manifest_runs
from sash.runtimes.spark.sinks.manifests import Manifest, Manifests, folder_of
from sash.runtimes.spark.sinks.protocol import BATCH, Reads, writer_of
from sash.runtimes.spark.sinks.task_files import TaskFiles, WrittenFile, as_spark_writes, codec_of
from sash.semantics.durations import whole_number

ROWS = "rows"
CODEC = "spark.sql.parquet.compression.codec"
TIMES = "spark.sql.parquet.outputTimestampType"
ENCRYPTED = "spark.hadoop.parquet.crypto.factory.class"


@dataclass
class FolderSink:
    """A folder of batches; see `manifests`. Batches without rows leave nothing."""

    path: str
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)
    _own: str = field(default="", init=False, repr=False, compare=False)
    """The query of which the folder is known to be: it has no batches of another one."""
    _by_tasks: bool | None = field(default=None, init=False, repr=False, compare=False)
    """Whether tasks can write to the place; None: not tried yet."""
    _together: int = field(default=-1, init=False, repr=False, compare=False)
    """Up to which of them runs of manifests were made."""
    _again: bool = field(default=True, init=False, repr=False, compare=False)
    """Whether the next batch may have been executed before."""
    _opened: tuple[SparkContext, Manifests] | None = field(
        default=None, init=False, repr=False, compare=False
    )
    """Those of the folder, and the context in which they were opened."""

    reads = Reads.COUNTED
    adds = (BATCH,)

    @property
    def holds_no_lists(self) -> str:
        return "a csv file" if self.format == "csv" else ""

    @property
    def _is_plain(self) -> bool:
        """Whether tasks may write some batches of it, where their rows and the place allow it."""
        return self.format == "parquet" and not self.options

    @property
    def identity(self) -> tuple[str, ...]:
        return "folder", resolved(self.path)

    def has(self, spark: SparkSession, batch: int) -> bool:
        manifests = self._manifests(spark)
        writer = writer_of(spark)
        if self._own != writer:
            manifests.take(writer)
            self._own = writer
        self._again = True
        found = manifests.read(batch)
        if found is not None:
            self._remove_others(manifests.root, batch, found.execution)
        return found is not None

    def write(self, rows: DataFrame, batch: int) -> None:
        spark, seen, execution = rows.sparkSession, Observation(), uuid4().hex[:12]
        place = f"{self.path}/{folder_of(batch)}/{execution}"
        counted = rows.observe(seen, F.count(F.lit(1)).alias(ROWS))
        if self._is_plain:
            # As tasks write them. Readers that are not Spark refuse a folder with two types of one column.
            spark.conf.set(TIMES, "TIMESTAMP_MICROS")
        counted.write.format(self.format).options(**self.options).save(place)
        folder = self._manifests(spark).root.within(f"{folder_of(batch)}/{execution}")
        files = {name: size for name, size in folder.sizes().items() if not name.startswith(("_", "."))}
        self._publish(spark, Manifest(batch, int(seen.get[ROWS]), writer_of(spark), execution, files))

    def task_files(self, spark: SparkSession, batch: int, schema: pa.Schema) -> TaskFiles | None:
        """Where tasks write a batch of these rows, below a name of its own; None where Spark must write it:
        other formats than plain parquet, encrypted files, file systems that Python cannot open."""
        if not self._is_plain:
            return None
        if self._by_tasks is None:
            root = self._manifests(spark).root
            self._by_tasks = same_place(root) and not spark.conf.get(ENCRYPTED, None)
        codec = codec_of(str(spark.conf.get(CODEC, "snappy")))
        if not self._by_tasks or codec is None or not as_spark_writes(schema):
            return None
        return TaskFiles(self._manifests(spark).root.url, folder_of(batch), uuid4().hex[:12], codec)

    def publish(
        self, spark: SparkSession, batch: int, given: TaskFiles, written: Sequence[WrittenFile]
    ) -> None:
        """What tasks have written there is the batch. Files of attempts that failed are removed."""
        files = {file.name: file.size for file in written}
        folder = self._manifests(spark).root.within(given.place)
        found = folder.sizes()
        for name, size in files.items():
            if found.get(name) != size:
                raise StoreError(
                    f"a task has written {name} of {size:,} bytes to {folder.url}, where the driver finds "
                    f"{found.get(name, 'no such file')}: do all hosts share this folder?"
                )
        for name in found.keys() - files.keys():
            folder.remove(name)
        count = sum(file.rows for file in written)
        self._publish(spark, Manifest(batch, count, writer_of(spark), given.execution, files))

    def _publish(self, spark: SparkSession, manifest: Manifest) -> None:
        manifests, batch, execution = self._manifests(spark), manifest.batch, manifest.execution
        if not manifest.rows:
            manifests.root.remove(folder_of(batch))
        elif manifests.publish(manifest):
            if self._again:
                self._remove_others(manifests.root, batch, execution)
            self._put_together(manifests, batch)
        else:
            manifests.root.within(f"{folder_of(batch)}/{execution}").remove()
        self._again = False

    def _manifests(self, spark: SparkSession) -> Manifests:
        context = spark.sparkContext
        if self._opened is None or self._opened[0] is not context:
            self._opened = context, Manifests(spark, self.path)
        return self._opened[1]

    def _put_together(self, manifests: Manifests, batch: int) -> None:
        run = batch // manifest_runs.FAN
        if run > self._together and manifests.put_together(batch):
            self._together = run

    def _remove_others(self, root: HadoopFolder, batch: int, execution: str) -> None:
        """What other executions of the batch have left: readers who do not know the manifests see it."""
        folder = root.within(folder_of(batch))
        for name in folder.names():
            if name != execution:
                folder.remove(name)


def published(
    path: str | PathLike[str],
    *,
    since: int = 0,
    format: str = "parquet",
    spark: SparkSession | None = None,
) -> DataFrame:
    """The rows of all batches that a query has published in a folder, with their batch number in `batch`.

    Output that was written but not published (still running, or failed) is left out; a reader that ignores
    the manifests would see it. A batch whose files have changed since they were published raises
    `CorruptValue`, a folder with batches of two queries `DifferentQuery`, one without any rows yet
    `ArgumentError`, since nothing there has their columns. A column that was added later is
    null in earlier rows.

    since: the first batch that is read. Those before it are not looked at, so that a program that follows a
        query pays for what is new alone: `sash.published("out", since=last + 1)`. Where nothing is new, no
        row is returned, under the columns of the newest batch. Without `since` the folder of every batch
        is listed; a query with a batch per second has 2.6 million of them after a month.
    """
    first = whole_number(since)
    if first is None or first < 0:
        raise ArgumentError("since", since, "the number of a batch, 0 or more")
    session, root = require_session(spark), fspath(path)
    manifests = Manifests(session, root)
    found = manifests.published(first)
    # Where there are none, the newest batch has the columns.
    shown = found or [one for one in [manifests.newest()] if one is not None]
    for one in shown:
        manifests.require_writer(one, shown[0].writer)
    manifests.require_whole(shown)
    files = [f"{root}/{one.folder}/{name}" for one in shown for name in one.files]
    if not files:
        raise ArgumentError(
            "path", root, "a folder in which a query has published rows", hint=manifests.why_nothing()
        )
    # An aggregate may be younger than the first batch, and Spark would read the columns of that one only.
    reading = session.read.format(format).option("basePath", root).option("mergeSchema", "true")
    rows = reading.load(files)
    return rows if found else rows.limit(0)
