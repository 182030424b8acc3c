"""Which bucket a row goes to, by its key, in SQL. Over Arrow: `bucket_of_key_arrow`.

Rows that do not go by key alone: `packing/blocks.py`, `patterns/row_routes.py`, `joins/join_routes.py`;
tuples with several keys (O+ operators): `stateful/key_sets.py`.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from sash.operators.bound_query import BoundQuery
from sash.runtimes.spark.packing.columns import quoted


@dataclass(frozen=True)
class Share:
    """A column with the place of each row's bucket, of `count`, by the keys of a query."""

    name: str
    bound: BoundQuery
    count: int

    @property
    def sql(self) -> str:
        return f"{bucket(self.bound, self.count)} AS {self.name}"


def bucket(bound: BoundQuery, count: int) -> str:
    """Which of `count` buckets the row's key belongs to; all rows are in one when there is no key."""
    return f"pmod({key_hash(bound)}, {count})" if bound.keys else "0"


def key_hash(bound: BoundQuery) -> str:
    """The same number for equal keys; 0 when there is no key."""
    if not bound.keys:
        return "0"
    return f"hash({', '.join(_hashable(quoted(key), bound.schema.field(key).type) for key in bound.keys)})"


def _hashable(column: str, type_: pa.DataType) -> str:
    """−0.0 and 0.0 are one key, so they must fall into one bucket."""
    return f"{column} + 0.0D" if pa.types.is_floating(type_) else column
