"""How the jobs of a micro-batch are planned: rows that several readers want are kept, stages run at once.

The session of a micro-batch is the stream's own: what is set here changes nothing of the user's.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from sash.runtimes.spark.requirements import PARTITIONS, task_slots

OFF = (
    "spark.sql.sources.bucketing.autoBucketedScan.enabled",
    "spark.sql.adaptive.applyFinalStageShuffleOptimizations",
)


def kept(rows: DataFrame) -> DataFrame:
    """`rows.persist()`, without a copy of the session.

    Spark plans what it keeps with these settings off, and copies the session where they are on. Copies
    stay alive with the plans and the shuffle files of their batches.
    """
    for name in OFF:
        rows.sparkSession.conf.set(name, "false")
    return rows.persist()


def plan_whole_jobs(spark: SparkSession, *, most: int) -> None:
    """One job for all stages of a plan, with a task per core that is there now, and `most` at the most.

    Adaptive execution makes a job of each stage and plans the rest again after it, which takes longer than
    the stages of a small batch. Without it nobody puts 200 small partitions together.
    """
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set(PARTITIONS, str(min(most, task_slots(spark))))
