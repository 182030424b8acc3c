"""All constants of Spark on the machine or the cluster of a session: about half a minute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession

from sash.planner.costs.constants import SparkCosts
from sash.runtimes.spark.calibration.generated_input import ROWS, generated_input
from sash.runtimes.spark.calibration.micro_batches import MicroBatches
from sash.runtimes.spark.calibration.static_jobs import StaticJobs
from sash.runtimes.spark.failures import in_one_sentence


def measured_costs(
    spark: SparkSession,
    *,
    folder: str | None = None,
    rows: int = ROWS,
    found: Callable[[str, float], object] = lambda name, cost: None,
) -> SparkCosts:
    """The constants of this session.

    folder: where events are written meanwhile, for executors that do not share a temporary folder.
    found:  is called with each constant, in nanoseconds, as soon as it is measured.

    A constant is a difference of two times. One that other work has hidden keeps its default.
    """
    defaults = SparkCosts()
    measured: dict[str, float] = {}
    with in_one_sentence(), generated_input(spark, folder, rows=rows) as given:
        for part in (StaticJobs(given), MicroBatches(given)):
            for name, cost in part.constants():
                if cost > 0:
                    measured[name] = cost
                found(name, cost)
    return replace(defaults, **measured)
