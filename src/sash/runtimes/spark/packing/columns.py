"""Columns of a DataFrame as Spark's Python stages want them: by position.

All in SQL, for `selectExpr`: one call of the JVM for any number of columns, where each function on a
`Column` is one or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import StructType

from sash.runtimes.flat_window_columns import plain_names
from sash.runtimes.spark.compat import arrow_of

BUCKET, ORDINAL = "__sash_bucket", "__sash_ordinal"
HASH, HORIZON = "__sash_hash", "__sash_horizon"
ORIGINAL = "__sash_original"


def arrow_schema(df: DataFrame) -> pa.Schema:
    """The schema of a DataFrame as its rows will come in Arrow."""
    zone = df.sparkSession.conf.get("spark.sql.session.timeZone")
    return arrow_of(df.schema, zone=zone or "UTC")


def places(columns: Sequence[str]) -> list[str]:
    """Positional names: Spark's Python stages look columns up by name and trip over dots and backticks."""
    return [f"c{position}" for position in range(len(columns))]


def placed(columns: Sequence[str]) -> list[str]:
    """
    >>> placed(["user id", "x"])
    ['`user id` AS c0', '`x` AS c1']
    """
    return [f"{quoted(name)} AS {place}" for name, place in zip(columns, places(columns), strict=True)]


def quoted(name: str) -> str:
    """A column's name as Spark's expressions want it: a dot in it is not a field access."""
    return "`" + name.replace("`", "``") + "`"


def flat(df: DataFrame, *columns: str) -> DataFrame:
    """The same rows, with the fields of these struct columns (all, if none is named) in their place."""
    chosen = columns or [one.name for one in df.schema if isinstance(one.dataType, StructType)]
    shown: list[Column] = []
    for one in df.schema:
        if one.name in chosen:
            names = plain_names(one.name, cast(StructType, one.dataType).names)
            shown += [
                F.col(f"{quoted(one.name)}.{quoted(name)}").alias(plain) for name, plain in names.items()
            ]
        else:
            shown.append(F.col(quoted(one.name)))
    return df.select(*shown)
