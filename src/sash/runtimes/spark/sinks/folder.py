"""A folder of files as a sink, and what is published in it as a DataFrame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from sash.errors import ArgumentError
from sash.runtimes.places import resolved
from sash.runtimes.spark.compat import HadoopFolder, existing_session
from sash.runtimes.spark.sinks.manifests import Manifest, Manifests, folder_of
from sash.runtimes.spark.sinks.protocol import BATCH

ROWS = "rows"


@dataclass(frozen=True)
class FolderSink:
    """A folder of batches; see `manifests`. Batches without rows leave nothing."""

    path: str
    format: str = "parquet"
    options: Mapping[str, str] = field(default_factory=dict)

    whole = True
    adds = (BATCH,)

    @property
    def identity(self) -> tuple[str, ...]:
        return "folder", resolved(self.path)

    def has(self, spark: SparkSession, batch: int) -> bool:
        return Manifests(spark, self.path).read(batch) is not None

    def write(self, rows: DataFrame, batch: int) -> None:
        spark, seen = rows.sparkSession, Observation()
        place = f"{self.path}/{folder_of(batch)}"
        counted = rows.observe(seen, F.count(F.lit(1)).alias(ROWS))
        # Takes the place of what a failed execution has left.
        counted.write.format(self.format).options(**self.options).mode("overwrite").save(place)
        folder, count = HadoopFolder(spark, place), int(seen.get[ROWS])
        if not count:
            folder.remove()
            return
        files = {name: size for name, size in folder.sizes().items() if not name.startswith(("_", "."))}
        Manifests(spark, self.path).write(Manifest(batch, count, files))


def published(
    path: str | PathLike[str], *, format: str = "parquet", spark: SparkSession | None = None
) -> DataFrame:
    """The rows of all batches that a query has published in a folder, with the number of their `batch`.

    What an execution has written and not published, because it still runs or because it failed, is not
    among them; a reader who does not know the manifests would see that too.
    """
    session, root = spark or existing_session(), fspath(path)
    if session is None:
        raise ArgumentError(
            "spark", None, "a SparkSession, since none is active", hint="sash.spark_session()"
        )
    found = Manifests(session, root).published()
    files = [f"{root}/{one.folder}/{name}" for one in found for name in one.files]
    if not files:
        raise ArgumentError("path", root, "a folder in which a query has published a batch")
    return session.read.format(format).option("basePath", root).load(files)
