"""Twenty workloads on Spark over files, written to nowhere.

Rows and keys are sampled, as `sash.Auto(sample=True)` does it. Beside the candidates of the plan stand the
chosen pattern with other degrees, and, where Spark folds, the same without that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from benchmarks.planner.contest import Contest
from benchmarks.planner.spark_workloads import drawn
from benchmarks.spark.inputs import written
from benchmarks.spark.runs import finish
from sash.operators.bound_query import BoundQuery
from sash.planner.plans.cheapest_pattern import Plan
from sash.planner.plans.degrees import degrees, of_all_degrees
from sash.runtimes.spark.batch.static_source import SparkSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = 400_000
IN_PYTHON = "buckets of keys, rows to Python"


@dataclass(frozen=True)
class WithPlan(SparkSource):
    """A source that does not plan."""

    fixed: Plan | None = None

    def plan(self, bound: BoundQuery) -> Plan:
        assert self.fixed is not None
        return self.fixed


def contests(spark: SparkSession, folder: Path, *, quick: bool) -> Iterator[Contest]:
    """Every candidate of each plan."""
    for number, one in enumerate(drawn(ROWS // 20 if quick else ROWS)):
        path = written(folder / str(number), one.table, files=2)
        df = spark.read.parquet(str(path))
        auto = sash.Auto(sample=True, rows=one.table.num_rows)
        query = one.query(df).parallel(auto)
        plan = query.source.plan(query.bound)
        yield Contest(one.name, plan.chosen.name, _contenders(df, query.bound, plan))


def _contenders(df: DataFrame, bound: BoundQuery, plan: Plan) -> dict[str, Callable[[], None]]:
    plans = {one.name: replace(plan, pattern=one.pattern) for one in plan.candidates}
    if plan.pattern is not None:
        others = of_all_degrees(plan.pattern, "spark batch", plan.facts.cores)
        plans |= {str(one): replace(plan, pattern=one) for one in others[: len(degrees("spark batch", 1))]}
    if plan.facts.folded_by_spark:
        plans[IN_PYTHON] = replace(plan, pattern=None, facts=replace(plan.facts, spark=None))
    return {name: _run(WithPlan(df, fixed=one), bound) for name, one in plans.items()}


def _run(source: WithPlan, bound: BoundQuery) -> Callable[[], None]:
    return lambda: finish(source.dataframe(bound))
