"""Where the state of a query that `start` begins is kept, and so which runtime it has.

    files of the checkpoint    epochs (see `epochs`): one job per batch, panes folded by Spark's generated
                               code, and as many tasks as there are cores in each batch
    Spark's state store        what needs Spark's own watermark or several stateful steps, what has no
                               driver in this process, and every checkpoint that has its state there

A checkpoint stays where it began.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from sash.operators.bound_query import BoundQuery
from sash.operators.elastic.declaration import Elastic
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.epochs.epoch_journal import QUERY
from sash.runtimes.spark.epochs.store_of_state import FOLDER, JOURNAL, StateLocation
from sash.runtimes.spark.files.same_place import same_place
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.session_requirements import task_slots
from sash.runtimes.spark.state.checkpoint_compatibility import refused
from sash.runtimes.spark.state.fingerprint import BUCKET_COUNT

if TYPE_CHECKING:
    from sash.runtimes.spark.streaming.streaming_source import StreamingSource

STORE = "files"


def why_state_store(source: StreamingSource, bound: BoundQuery) -> str | None:
    """Why a query that `start` begins has its state in Spark's state store, whatever its checkpoint; None
    where it runs in epochs."""
    why = why_spark_time(source)
    if why is not None:
        return why
    if source.plan(bound).pattern is not None:
        return "a pattern has several stateful steps"
    return None


def why_spark_time(source: StreamingSource) -> str | None:
    """Why no query over this stream runs in epochs; None where some may."""
    if source.idle is not None:
        return "time follows the clock"
    if source.upstream.columns:
        return "the stream has a watermark of its own"
    return source.why_session()


def why_session(spark: SparkSession) -> str | None:
    """Why no query of this session runs in epochs; None where some may."""
    if is_connect(spark):
        return "the driver of Spark Connect is another process"
    if spark.sparkContext.getConf().get("spark.speculation") == "true":
        return "with spark.speculation two tasks would write the state of one bucket"
    return None


def epochs_for(source: StreamingSource, bound: BoundQuery, checkpoint: str) -> Elastic | None:
    """How the query runs in epochs; None where its state is in Spark's state store."""
    why = why_state_store(source, bound)
    if why is not None:
        _require_none_kept(source.df.sparkSession, checkpoint, why)
        return None
    return epochs_in(source.df.sparkSession, checkpoint, source.epoch_buckets(bound))


def epochs_together(
    source: StreamingSource, bounds: Iterable[BoundQuery], checkpoint: str
) -> Elastic | None:
    """The same for several queries over one stream."""
    why = why_spark_time(source)
    if why is not None:
        _require_none_kept(source.df.sparkSession, checkpoint, why)
        return None
    buckets = max(source.epoch_buckets(bound) for bound in bounds)
    return epochs_in(source.df.sparkSession, checkpoint, buckets)


def epochs_in(spark: SparkSession, checkpoint: str, buckets: int) -> Elastic | None:
    """Epochs with the buckets that a checkpoint has, or so many if it is new; None where its state is in
    Spark's state store, or Python cannot open it."""
    folder = HadoopFolder(spark, checkpoint)
    if folder.within("state").names() or not same_place(folder):
        return None
    kept = _kept_buckets(folder)
    if kept is None and folder.within("commits").sizes():
        return None  # the error of whoever looks for the state names what is missing
    buckets = kept or buckets
    return Elastic(max=buckets, buckets=buckets, store=STORE, controller=lambda samples: task_slots(spark))


def keeps_epochs(spark: SparkSession, checkpoint: str) -> bool:
    """Whether a checkpoint has its state in files."""
    return bool(HadoopFolder(spark, checkpoint).within(f"{FOLDER}/{JOURNAL}").sizes())


def _require_none_kept(spark: SparkSession, checkpoint: str, why: str) -> None:
    """DifferentQuery where a checkpoint has its state in files, and this query cannot run over them."""
    if not is_connect(spark) and keeps_epochs(spark, checkpoint):
        raise refused(
            "by a query with its state in files of the checkpoint, and this one has its own in Spark's "
            f"state store: {why}"
        )


def _kept_buckets(checkpoint: HadoopFolder) -> int | None:
    """How many a checkpoint has: the keys of a query are in the same ones for good."""
    if not checkpoint.within(f"{FOLDER}/{JOURNAL}").sizes():
        return None
    with StateLocation.of(STORE, checkpoint=checkpoint.url, query="").journal() as store:
        (kept,) = store.get_many([QUERY])
    return None if kept is None else json.loads(kept).get(BUCKET_COUNT)
