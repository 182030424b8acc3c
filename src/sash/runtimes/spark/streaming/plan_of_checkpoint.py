"""Under which pattern a query begins, and how it finds it again: a pattern is a part of the state.

    a new checkpoint       as the planner has it now, by the constants of this machine
    one that has begun     as it began, which is in the description of the query that it keeps
    one that is silent     as the constants that are committed have it: those of an older version, and those
                           that this process cannot read

Whoever measures constants later, or goes on with another number of cores, changes no query that has begun.
A pattern that the user names is not left to anybody, and compared with the checkpoint elsewhere.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from sash.operators.bound_query import BoundQuery
from sash.operators.patterns.allowed import refusal
from sash.operators.patterns.written_pattern import pattern_written
from sash.planner.auto_declaration import Auto
from sash.planner.plans.candidates import Choice
from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.state.fingerprint import PATTERN
from sash.runtimes.spark.state.queries_of_checkpoint import Register
from sash.runtimes.spark.streaming.epochs_or_state_store import keeps_epochs
from sash.runtimes.spark.streaming.streaming_source import StreamingSource


def settled(
    source: StreamingSource, bound: BoundQuery, checkpoint: str, *, elastic: bool
) -> StreamingSource:
    """The same stream with the pattern of its checkpoint, where that was left to the planner."""
    if not isinstance(source.parallelism, Auto):
        return source
    if elastic:  # it chooses its workers for each batch, whatever the events are like
        return source.computed_by(None)
    spark = source.df.sparkSession
    if is_connect(spark):
        return source.planned_anywhere(bound)
    if keeps_epochs(spark, checkpoint):  # no pattern has its state there
        return source.computed_by(None)
    kept = Register(spark, checkpoint).described()
    if kept is not None:
        choice = None if kept.get(PATTERN) is None else pattern_written(str(kept[PATTERN]))
        if choice is None or _is_possible(choice, source, bound):
            return source.computed_by(choice)
    if _has_begun(spark, checkpoint):
        return source.planned_anywhere(bound)
    return source.computed_by(source.plan(bound).pattern)


def _is_possible(choice: Choice, source: StreamingSource, bound: BoundQuery) -> bool:
    """Whether this query can be computed so: another one is compared with the checkpoint elsewhere."""
    return choice is None or (refusal(choice, bound) or source.refusal(choice, bound)) is None


def _has_begun(spark: SparkSession, checkpoint: str) -> bool:
    return bool(HadoopFolder(spark, f"{checkpoint}/commits").sizes())
