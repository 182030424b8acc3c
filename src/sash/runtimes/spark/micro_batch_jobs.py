"""How the jobs of a micro-batch are planned: rows that several readers want are kept, stages run at once.

The session of a micro-batch is the stream's own: what is set here changes nothing of the user's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession

from sash.runtimes.spark.compat import is_connect
from sash.runtimes.spark.session_requirements import PARTITIONS, shuffle_partitions, task_slots

ADAPTIVE = "spark.sql.adaptive.enabled"
AT_ONCE = 4
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


def all_at_once(spark: SparkSession, jobs: Sequence[Callable[[], None]]) -> None:
    """Functions that run small jobs, in threads: most of their time the driver plans and commits. Their
    jobs are of this thread's group. The first that has failed raises its error when all have ended."""
    if len(jobs) < 2 or is_connect(spark):
        for job in jobs:
            job()
        return
    with ThreadPoolExecutor(min(len(jobs), AT_ONCE), "sash sinks") as pool:
        inherits = inheritable_thread_target(spark)
        running = [pool.submit(inherits(job)) for job in jobs]
    for each in running:
        each.result()


class WholeJobs:
    """The settings of a stream's session: ours for its own jobs, the user's for what their function does.

    Adaptive execution makes a job of each stage and plans the rest again after it, which takes longer than
    the stages of a small batch. Without it nobody puts 200 small partitions together, so that there is a
    task per core that is there now, and no more than the user has set.
    """

    def __init__(self) -> None:
        self._given: dict[str, str] = {}

    def plan(self, spark: SparkSession) -> None:
        """One job for all stages of the plans from now on."""
        if not self._given:
            self._given = {
                ADAPTIVE: str(spark.conf.get(ADAPTIVE)),
                PARTITIONS: str(shuffle_partitions(spark)),
            }
        spark.conf.set(ADAPTIVE, "false")
        spark.conf.set(PARTITIONS, str(min(int(self._given[PARTITIONS]), task_slots(spark))))

    def restore(self, spark: SparkSession) -> None:
        for name, value in self._given.items():
            spark.conf.set(name, value)
