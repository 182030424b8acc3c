"""How many different values there are, exactly.

    count_distinct(x)  =  |{x}|            a ⊕ b  =  a ∪ b

All NaNs are one value, and 0.0 is −0.0, as in Spark. An element is the set itself and grows with it:
`distinct` is the estimate in a size that does not.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sash.aggregation.built_in.column_types import of_values
from sash.aggregation.encoding import decode, encode, one_of_equals
from sash.aggregation.monoid import Monoid
from sash.errors import Unsupported
from sash.semantics.condition import RowCondition


def count_distinct(column: str, *, where: RowCondition | None = None) -> Monoid:
    """How many different x there are, exactly; 0 when there are none.

    Elements grow with the number of different values; for large windows use `distinct`, an estimate.

    >>> from sash.semantics.monoid import fold
    >>> fold(count_distinct("x"), [{"x": "a"}, {"x": "b"}, {"x": None}, {"x": "a"}])
    2
    """
    return of_values(
        "count_distinct", column, frozenset, _alone, _union, len, commutative=True, idempotent=True,
        encode=_encode, decode=_decode, nothing=0, result=_result, where=where,
    )  # fmt: skip


def _alone(x: Any) -> frozenset[Any]:
    return frozenset((one_of_equals(x),))


def _union(a: frozenset[Any], b: frozenset[Any]) -> frozenset[Any]:
    return a | b


def _encode(values: frozenset[Any]) -> bytes:
    # In the order of their bytes: equal sets are written alike.
    return encode(tuple(sorted(map(encode, values))))


def _decode(data: bytes) -> frozenset[Any]:
    # A set finds a NaN by identity, so it has to be the one again.
    return frozenset(one_of_equals(decode(value)) for value in decode(data))


def _result(types: tuple[pa.DataType, ...]) -> pa.DataType:
    if pa.types.is_nested(types[0]):
        raise Unsupported(
            "the input of count_distinct",
            str(types[0]),
            "a column of a simple type, not a struct, list or map",
        )
    return pa.int64()
