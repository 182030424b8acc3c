"""Time columns as integers, and back. Spark's timestamps are microseconds; integer columns are ticks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import DataError, Unsupported
from sash.operators.windows.ranges import MISSING

FARTHEST = 2**61
"""Times beyond ± this are refused: window arithmetic on them could leave 64 bits. As microseconds it is
73,000 years, far outside what a Spark timestamp can hold."""


def to_integers(column: pa.ChunkedArray) -> Ints:
    """The times of a column without nulls."""
    if pa.types.is_timestamp(column.type) and column.type.unit != "us":
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_integer(column.type) and column.type != pa.int64():
        column = column.cast(pa.int64())
    times: Ints = column.to_numpy().view(np.int64)
    if len(times) and (times.min() < -FARTHEST or times.max() > FARTHEST):
        raise DataError(f"times must lie within ±2**61; got {times.min()} to {times.max()}")
    return times


def from_integers(times: Ints, type_: pa.DataType) -> pa.Array:
    """Window bounds as a column of their type; MISSING is null."""
    missing = times == MISSING
    column = pa.array(times, mask=missing if missing.any() else None)
    if column.type == type_:
        return column
    return column.view(type_) if pa.types.is_timestamp(type_) and type_.unit == "us" else column.cast(type_)


def require_time_type(time: str, type_: pa.DataType) -> None:
    """Unsupported unless these are times, with the cast that makes times of them."""
    if pa.types.is_timestamp(type_) or pa.types.is_integer(type_):
        return
    in_spark = f"F.to_timestamp({time!r})" if _is_text(type_) else f"F.col({time!r}).cast('timestamp')"
    in_pandas = (
        f"pd.to_datetime(df[{time!r}]{', unit=' + repr('s') if pa.types.is_floating(type_) else ''})"
    )
    hint = f"Make it one first: df.withColumn({time!r}, {in_spark}) in Spark, {in_pandas} in pandas."
    castable = _is_text(type_) or pa.types.is_floating(type_) or pa.types.is_date(type_)
    raise Unsupported(
        "time", f"{time}: {type_}", "a timestamp or an integer column", hint=hint if castable else ""
    )


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))
