"""`sash.operate(operator, data)`: O+ over tables in process and over DataFrames of Spark."""

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
    A streaming PySpark DataFrame: `.start(sink, checkpoint=…, elastic=sash.Elastic(…))` runs it; `delay` is
    how far behind the newest tuple another may come and still be on time.
    """
    if not isinstance(operator, Stateful):
        raise ArgumentError("operator", operator, "a sash.operators.Stateful")
    on_spark = ("pyspark.", "sash.runtimes.spark.")
    if not data or not all(type(each).__module__.startswith(on_spark) for each in data):
        return operator.over(*data)
    from sash.operators.stateful.streaming import BoundOperator
    from sash.runtimes.spark import operating

    frames = tuple(map(operating.frame_of, data))
    if not any(df.isStreaming for df in frames):
        return operating.static(operator, frames)
    if len(frames) > 1:
        raise ArgumentError("data", f"{len(frames)} frames", "one streaming DataFrame, or static ones")
    bound = BoundOperator(operator, durations.not_negative(delay, "delay"))
    return operating.StreamingOperator(bound, frames[0])
