"""Whether Spark folds: where it can, and where there are fewer panes than rows."""

from __future__ import annotations

from pyspark.sql.types import StructType

from sash.operators.bound_query import BoundQuery
from sash.operators.folding.panes import Panes
from sash.planner.facts import EventFacts, SparkFold, panes_left
from sash.runtimes.spark.sql_folding.pane_fold_sql import NativeFold

WORTH = 0.5
"""Panes for each row, from which on they cost as much as the rows."""


def spark_fold(bound: BoundQuery, schema: StructType, events: EventFacts) -> SparkFold:
    """What Spark folds of a query over such events, and why."""
    fold = NativeFold.of(bound, schema)
    if isinstance(fold, str):
        return SparkFold(None, fold)
    if fold.window is not None:
        return SparkFold("windows", "a window is one pane, and every aggregate has a form in SQL")
    if Panes.of(bound) is None:
        return SparkFold(None, "the elements of an aggregate do not fit columns of numbers")
    left = panes_left(bound, events)
    if left > events.rows * WORTH:
        return SparkFold(None, f"about {left:,.0f} panes of {events.rows:,} rows would not be fewer rows")
    return SparkFold("panes", "every aggregate has a form in SQL, so that only panes travel to Python")


def native_stages(fold: SparkFold, keys: str) -> list[str]:
    """The stages after the selection of columns, for people."""
    if fold.of == "windows":
        return ["fold and lower windows in generated code, before and after a shuffle by key and window"]
    return [
        "fold panes in generated code, before and after a shuffle by key and pane",
        f"shuffle panes by bucket of ({keys})",
        "window and fold in Arrow",
    ]
