"""Where the state of a query that `start` begins is kept, and so which runtime it has.

    files of the checkpoint    epochs (see `elastic`): one job per batch, panes folded by Spark's generated
                               code, and as many tasks as there are cores in each batch
    Spark's state store        what needs Spark's own watermark or several stateful steps, what has no
                               driver in this process, and every checkpoint that has its state there

A checkpoint stays where it began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

from pyarrow import fs
from pyspark.sql import SparkSession

from sash.errors import Unsupported
from sash.operators.bound import BoundQuery
from sash.operators.elastic.declaration import Elastic
from sash.runtimes.spark.compat import HadoopFolder
from sash.runtimes.spark.elastic.epoch_journal import QUERY
from sash.runtimes.spark.elastic.run import BUCKET_COUNT
from sash.runtimes.spark.elastic.state_location import FOLDER, JOURNAL, StateLocation
from sash.runtimes.spark.files.open_files import located
from sash.runtimes.spark.requirements import task_slots
from sash.runtimes.spark.streaming.streaming_source import StreamingSource

STORE = "files"


def epochs_for(source: StreamingSource, bound: BoundQuery, checkpoint: str) -> Elastic | None:
    """How the query runs in epochs; None where its state is in Spark's state store."""
    if source.why_state_store(bound) is not None:
        return None
    return epochs_in(source.df.sparkSession, checkpoint, source.epoch_buckets(bound))


def epochs_together(
    source: StreamingSource, bounds: Iterable[BoundQuery], checkpoint: str
) -> Elastic | None:
    """The same for several queries over one stream."""
    if source.why_spark_time() is not None:
        return None
    buckets = max(source.epoch_buckets(bound) for bound in bounds)
    return epochs_in(source.df.sparkSession, checkpoint, buckets)


def epochs_in(spark: SparkSession, checkpoint: str, buckets: int) -> Elastic | None:
    """Epochs with the buckets that a checkpoint has, or so many if it is new; None where its state is in
    Spark's state store, or Python cannot open it."""
    folder = HadoopFolder(spark, checkpoint)
    if not _opens(folder.url) or folder.within("state").names():
        return None
    kept = _kept_buckets(folder)
    if kept is None and folder.within("commits").sizes():
        return None  # whoever looks for the state says what is missing
    buckets = kept or buckets
    return Elastic(max=buckets, buckets=buckets, store=STORE, controller=lambda samples: task_slots(spark))


def _opens(checkpoint: str) -> bool:
    """Whether Python can open the file system as well as Spark does."""
    try:
        file_system, path = located(checkpoint)
        local = isinstance(file_system, fs.LocalFileSystem)
        return local or file_system.get_file_info(path) is not None
    except (OSError, Unsupported):
        return False


def _kept_buckets(checkpoint: HadoopFolder) -> int | None:
    """How many a checkpoint has: the keys of a query are in the same ones for good."""
    if not checkpoint.within(f"{FOLDER}/{JOURNAL}").sizes():
        return None
    with StateLocation.of(STORE, checkpoint=checkpoint.url, query="").journal() as store:
        (kept,) = store.get_many([QUERY])
    return None if kept is None else json.loads(kept).get(BUCKET_COUNT)
