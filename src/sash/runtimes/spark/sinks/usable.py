"""Whether a sink can be written at all, by this query: before the first batch, which would fail."""

from __future__ import annotations

import json

from pyspark.sql import SparkSession

from sash.errors import MissingDependency
from sash.runtimes.connector_packages import PACKAGES
from sash.runtimes.spark.compat import knows_format
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.sinks.folder import FolderSink
from sash.runtimes.spark.sinks.kafka import KafkaSink
from sash.runtimes.spark.sinks.manifests import Manifests
from sash.runtimes.spark.sinks.protocol import BatchSink, writer_named
from sash.runtimes.spark.sinks.tables import TableSink

_IN_PYTHON = 'sash.spark_session(spark_jars_packages="{package}:…"), before anything else starts a session'


def require_usable(sink: BatchSink, spark: SparkSession, checkpoint: HadoopFolder) -> None:
    """MissingDependency where Spark cannot write the format, DifferentQuery where a folder has batches of
    another query than that of the checkpoint."""
    if isinstance(sink, KafkaSink):
        require_connector(spark, "kafka")
    elif isinstance(sink, TableSink):
        require_connector(spark, sink.format)
    elif isinstance(sink, FolderSink):
        manifests = Manifests(spark, sink.path)
        writer = _writer_of_checkpoint(checkpoint)
        if writer is not None:
            manifests.require_writer(manifests.newest(), writer)


def require_connector(spark: SparkSession, name: str, *, how: str = _IN_PYTHON) -> None:
    """MissingDependency unless Spark has classes for the format. `how`: to add the package."""
    package = PACKAGES.get(name)
    if package is not None and not knows_format(spark, name):
        raise MissingDependency(
            f"{name} needs the package {package} for Spark {spark.version}, which this session does not "
            f"have; name it with its version: {how.format(package=package)}"
        )


def _writer_of_checkpoint(checkpoint: HadoopFolder) -> str | None:
    """As its batches name it; empty while it has none. None where it is damaged, which Spark finds."""
    kept = checkpoint.read("metadata")
    try:
        return "" if kept is None else writer_named(json.loads(kept)["id"])
    except (ValueError, KeyError, TypeError):
        return None
