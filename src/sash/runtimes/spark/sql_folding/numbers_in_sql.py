"""Columns as the numbers that elements are made of, and back, in SQL.

timestamps      microseconds since 1970, as a bigint; those without a zone as if it were UTC
dates           days since 1970
integers        bigint            floats      double            booleans    as they are
"""

from __future__ import annotations

import pyarrow as pa

from sash.runtimes.spark.compat import type_of

_EPOCH = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
_MICROSECOND = "INTERVAL '0.000001' SECOND"


def as_number(column: str, type_: pa.DataType) -> str | None:
    """The number that Python computes with for a column of this type; None where there is no SQL for it."""
    if pa.types.is_boolean(type_):
        return column
    if pa.types.is_integer(type_):
        return f"CAST({column} AS BIGINT)"
    if pa.types.is_floating(type_):
        return f"CAST({column} AS DOUBLE)"
    if pa.types.is_date32(type_):
        return f"CAST(unix_date({column}) AS BIGINT)"
    if pa.types.is_timestamp(type_):
        return f"unix_micros({column})" if type_.tz else f"(({column} - {_EPOCH}) div {_MICROSECOND})"
    return None


def from_number(number: str, type_: pa.DataType) -> str:
    """A number as a value of this type."""
    if pa.types.is_timestamp(type_):
        return f"timestamp_micros({number})" if type_.tz else f"({_EPOCH} + {number} * {_MICROSECOND})"
    if pa.types.is_date32(type_):
        return f"date_from_unix_date(CAST({number} AS INT))"
    return f"CAST({number} AS {type_of(type_).simpleString()})"
