"""A warning before gigabytes are brought to the driver, by what Spark estimates without running it."""

from __future__ import annotations

import warnings

from pyspark.sql import DataFrame

from sash.errors import SashWarning
from sash.runtimes.spark.compat import estimated_bytes

MANY = 2 << 30
"""Bytes of a DataFrame, as Spark estimates them."""


def warn_of_many(rows: DataFrame, what: str, instead: str) -> None:
    """`rows` are about as many bytes as what is brought here."""
    size = estimated_bytes(rows)
    if size is not None and size > MANY:
        warnings.warn(
            f"{what} brings about {size / 2**30:,.0f} GB to this process, as Spark estimates; {instead}",
            SashWarning,
            stacklevel=5,
        )
