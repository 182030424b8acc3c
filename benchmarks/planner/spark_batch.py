"""Twenty workloads on Spark over files, written to nowhere.

Rows and keys are sampled, as `sash.Auto(sample=True)` does it; the sample is not in any time. Beside the
candidates of the plan stand other degrees of all of them, and, where Spark folds, the same without that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import sash
from benchmarks.planner.contest import Contest, other_degrees
from benchmarks.planner.spark_workloads import drawn
from benchmarks.spark.inputs import written
from benchmarks.spark.runs import finish
from sash.operators.bound_query import BoundQuery
from sash.planner.plans.cheapest_pattern import Plan
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
        runs = {
            each.name: _run(df, query.bound, replace(plan, pattern=each.pattern))
            for each in plan.candidates
        }
        if plan.facts.folded_by_spark:
            in_python = replace(plan, pattern=None, facts=replace(plan.facts, spark=None))
            runs[IN_PYTHON] = _run(df, query.bound, in_python)
        others = {
            name: (of, _run(df, query.bound, replace(plan, pattern=pattern)))
            for name, (of, pattern) in other_degrees(plan).items()
        }
        yield Contest(one.name, plan.chosen.name, runs, others)


def _run(df: DataFrame, bound: BoundQuery, plan: Plan) -> Callable[[], None]:
    source = WithPlan(df, fixed=plan)
    return lambda: finish(source.dataframe(bound))
