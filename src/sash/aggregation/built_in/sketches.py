"""Small summaries of large windows, by Apache DataSketches: approximate, of bounded size, mergeable.

    distinct          ≈ |{x}|, by HyperLogLog             error ≈ 1.04 / √2^lg_k  (1.6 % by default)
    frequent_items    ≈ the most frequent x               counts within 3.5 / 2^lg_size · n  (none lost)

A sketch is an object that updates itself in place, so every `combine` starts from a new one, and elements
are written to stores in DataSketches' own binary format. Items are hashed by value (see `sketch_key`):
all NaNs are one item, and 0.0 is −0.0, as in Spark's approx_count_distinct.

Quantiles have a module of their own. The Bloom filter is in `membership`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pyarrow as pa
from datasketches import HLL_8, frequent_items_error_type, frequent_strings_sketch, hll_sketch, hll_union

from sash.aggregation.built_in.column_types import always, of_values, positive_integer
from sash.aggregation.built_in.sketch_bytes import hll_of, items_of
from sash.aggregation.encoding import decode, encode, one_of_equals, sketch_key
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, CorruptValue
from sash.semantics.condition import RowCondition


def distinct(column: str, *, lg_k: int = 12, where: RowCondition | None = None) -> Monoid:
    """About how many different x there are, by HyperLogLog with 2^lg_k registers; 0 when there are none.

    The result depends only on the set of values: not on their order, nor on how elements were grouped.

    >>> from sash.semantics.monoid import fold
    >>> fold(distinct("x"), [{"x": "a"}, {"x": "b"}, {"x": None}, {"x": "a"}])
    2
    """
    if lg_k not in range(7, 22):
        raise ArgumentError("lg_k", lg_k, "an integer from 7 to 21")

    return of_values(
        "distinct", column, partial(_no_registers, lg_k), partial(_registers, lg_k), partial(_union, lg_k),
        partial(_estimate, lg_k), commutative=True, idempotent=True, encode=_encode_registers,
        decode=_decode_registers, nothing=0, result=always(pa.int64()), where=where,
    )  # fmt: skip


def frequent_items(
    column: str, *, k: int = 10, lg_size: int = 10, where: RowCondition | None = None
) -> Monoid:
    """The k most frequent x with about how often each occurs, as (item, count), most frequent first.

    Counts are exact while there are at most ¾ · 2^lg_size different items; beyond that an item that occurs
    less often than the error may be missing, and a count may be too large by that error (the algorithm is
    that of Anderson et al., 'A high-performance algorithm for identifying frequent items in data
    streams', IMC 2017). Items that occur equally often are in the order of their encoding.

    >>> from sash.semantics.monoid import fold
    >>> fold(frequent_items("x", k=1), [{"x": "a"}, {"x": "b"}, {"x": None}, {"x": "a"}])
    [('a', 2)]
    """
    positive_integer("k", k)
    if lg_size not in range(3, 27):
        raise ArgumentError("lg_size", lg_size, "an integer from 3 to 26")

    return of_values(
        "frequent_items", column, partial(_no_items, lg_size), partial(_item, lg_size),
        partial(_merge, lg_size), partial(_most_frequent, k), commutative=True, encode=_encode_items,
        decode=partial(_decode_items, lg_size), nothing=[],
        result=lambda types: pa.list_(pa.struct([("item", types[0]), ("count", pa.int64())])),
        approximate=True, where=where,
    )  # fmt: skip


# Module-level functions with their constants bound by `partial` travel to other processes by name; closures
# would carry the module's globals along, and DataSketches' constants cannot be pickled.


def _no_registers(lg_k: int) -> Any:
    return hll_sketch(lg_k, HLL_8)


def _registers(lg_k: int, x: Any) -> Any:
    sketch = hll_sketch(lg_k, HLL_8)
    sketch.update(sketch_key(x))
    return sketch


def _union(lg_k: int, a: Any, b: Any) -> Any:
    both = hll_union(lg_k)
    both.update(a)
    both.update(b)
    return both.get_result(HLL_8)


def _estimate(lg_k: int, sketch: Any) -> int:
    # A sketch that was only ever updated estimates from the order of its updates as well. Joined with
    # itself it has the same registers, and estimates from those alone.
    about: float = _union(lg_k, sketch, sketch).get_estimate()
    return round(about)


def _encode_registers(sketch: Any) -> bytes:
    return bytes(sketch.serialize_compact())


def _decode_registers(data: bytes) -> Any:
    return hll_of(bytes(data))


def _no_items(lg_size: int) -> Any:
    return frequent_strings_sketch(lg_size)


def _item(lg_size: int, x: Any) -> Any:
    sketch = frequent_strings_sketch(lg_size)
    # Strings hash the same in every process, Python objects do not: so an item is its bytes, as text.
    sketch.update(encode(one_of_equals(x)).decode("latin-1"))
    return sketch


def _merge(lg_size: int, a: Any, b: Any) -> Any:
    both = frequent_strings_sketch(lg_size)
    both.merge(a)
    both.merge(b)
    return both


def _most_frequent(k: int, sketch: Any) -> list[tuple[Any, int]]:
    try:
        found = sketch.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES)
        ranked = sorted((-count, item.encode("latin-1")) for item, count, *_ in found)[:k]
    except (RuntimeError, UnicodeError) as error:
        raise CorruptValue(f"a sketch of frequent items has one that was not encoded: {error}") from error
    return [(decode(item), -negative) for negative, item in ranked]


def _encode_items(sketch: Any) -> bytes:
    return bytes(sketch.serialize())


def _decode_items(lg_size: int, data: bytes) -> Any:
    return items_of(bytes(data), lg_size)
