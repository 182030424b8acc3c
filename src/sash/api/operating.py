"""`sash.operate(operator, *data)`: O+ over tables in process and over DataFrames of Spark."""

from __future__ import annotations

from typing import Any

from sash.errors import ArgumentError
from sash.operators.stateful.declaration import Stateful
from sash.semantics import durations
from sash.semantics.durations import DurationLike


def operate(operator: Stateful, *data: Any, delay: DurationLike = 0) -> Any:
    """What a stateful operator says about its inputs, one of `data` for each.

    Arrow tables, or columns by name, that are sorted by time: an Arrow table, in the order of time.
    Static PySpark DataFrames: a DataFrame. A tuple goes once to each bucket that owns one of its keys.
    Streaming PySpark DataFrames: `.start(sink, checkpoint=…, elastic=sash.Elastic(…))` runs it; `delay` is
    how far behind the newest tuple another may come and still be on time. Of several inputs the one that is
    furthest behind counts, and one that has brought nothing yet holds back the others. Tuples of one time
    are taken in the order of the inputs.
    """
    if not isinstance(operator, Stateful):
        raise ArgumentError("operator", operator, "a sash.operators.Stateful")
    on_spark = [type(each).__module__.startswith(("pyspark.", "sash.runtimes.spark.")) for each in data]
    if not any(on_spark):
        return operator.over(*data)
    if not all(on_spark):
        raise ArgumentError("data", [type(each).__name__ for each in data], "all DataFrames, or all tables")
    from sash.operators.stateful.streaming import BoundOperator
    from sash.runtimes.spark.stateful import operator_stages as operating

    frames = tuple(map(operating.frame_of, data))
    operating.require_fitting(operator, frames)
    if not any(df.isStreaming for df in frames):
        return operating.static(operator, frames)
    if not all(df.isStreaming for df in frames):
        kinds = ["streaming" if df.isStreaming else "static" for df in frames]
        raise ArgumentError("data", kinds, "all streaming DataFrames, or all static ones")
    bound = BoundOperator(operator, durations.not_negative(delay, "delay"))
    return operating.StreamingOperator(bound, frames)
