"""Which bucket the key of a row belongs to, for rows that Spark has not seen: its `hash`, on Arrow columns.

    bucket of a row  =  pmod(hash(keys), count)          as Spark computes it for `bucket_of_key_sql.bucket`

One hash for both ways: a checkpoint that was made over `spark.readStream.parquet` goes on over
`sash.read_stream_parquet`, and back. The keys of O+ operators, of which a tuple may have several, have
buckets in `stateful/key_sets.py`; those that are no Arrow values have another hash there.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sash.aggregation.kernels.rows.murmur3 import (
    NO_NULLS,
    SEED,
    HashStates,
    hash_integers,
    hash_longs,
    hash_strings,
)
from sash.errors import Unsupported


def buckets(rows: pa.RecordBatch, keys: Sequence[str], count: int) -> NDArray[np.int32]:
    """For each row one of 0 … count − 1; all are 0 when there is no key.

    >>> rows = pa.record_batch({"k": ["a", "b", None, "a"]})
    >>> buckets(rows, ["k"], 8).tolist()
    [2, 1, 2, 2]
    """
    if not keys:
        return np.zeros(rows.num_rows, np.int32)
    return hashes(rows, keys) % np.int32(count)


def require_hashable(schema: pa.Schema, keys: Sequence[str]) -> None:
    """Unsupported for a key whose hash only Spark can compute."""
    nulls = [pa.nulls(1, schema.field(key).type) for key in keys]
    hashes(pa.record_batch(nulls, names=list(keys)), keys)


def hashes(rows: pa.RecordBatch, keys: Sequence[str]) -> NDArray[np.int32]:
    """Spark's `hash(keys…)` of each row. −0.0 counts as 0.0, because they are one key."""
    state = np.full(rows.num_rows, SEED, np.uint32)
    for key in keys if rows.num_rows else ():
        _mix(key, rows.column(key), state)
    return state.view(np.int32)


def _mix(key: str, column: pa.Array, state: HashStates) -> None:
    types, type_ = pa.types, column.type
    valid = column.is_valid().to_numpy(zero_copy_only=False) if column.null_count else NO_NULLS
    if types.is_decimal(type_) and type_.precision > 18:
        column, type_ = _big_integers(column), pa.binary()
    if types.is_string(type_) or types.is_binary(type_):
        _, offsets, data = column.buffers()
        cuts = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
        hash_strings(cuts, np.frombuffer(data or b"", np.uint8), valid, state)
    elif types.is_floating(type_):
        # Adding 0.0 turns −0.0 into 0.0; there are many NaNs, and Spark hashes them all as one.
        values = column.fill_null(0).to_numpy() + type_.to_pandas_dtype()(0)
        values[np.isnan(values)] = np.nan
        wide = type_.bit_width == 64
        (hash_longs if wide else hash_integers)(values.view(np.uint64 if wide else np.uint32), valid, state)
    elif types.is_decimal128(type_):
        hash_longs(_words(column, np.uint64)[::2].copy(), valid, state)
    elif types.is_boolean(type_) or (types.is_integer(type_) and type_.bit_width < 32):
        hash_integers(_words(column.cast(pa.int32()), np.uint32), valid, state)
    elif types.is_integer(type_) or types.is_temporal(type_):
        wide = type_.bit_width == 64
        hash_ = hash_longs if wide else hash_integers
        hash_(_words(column, np.uint64 if wide else np.uint32), valid, state)
    else:
        raise Unsupported("key", f"{key}: {type_}", "a column of numbers, words, dates or timestamps")


def _words(column: pa.Array, word: type[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """The memory of a column of a fixed width, as words."""
    per_value = column.type.bit_width // np.dtype(word).itemsize // 8
    begin, end = column.offset * per_value, (column.offset + len(column)) * per_value
    return np.frombuffer(column.buffers()[1], word)[begin:end]


def _big_integers(column: pa.Array) -> pa.Array:
    """Decimals of more than 18 digits as Java's BigInteger writes them: unscaled, the big end first."""
    distinct = column.dictionary_encode()
    return pa.array(map(_written, distinct.dictionary.to_pylist()), pa.binary()).take(distinct.indices)


def _written(value: Decimal | None) -> bytes | None:
    if value is None:
        return None
    sign, digits, _ = value.as_tuple()
    number = int("".join(map(str, digits)))
    bits = (number - 1 if sign and number else number).bit_length()
    return (-number if sign else number).to_bytes(bits // 8 + 1, "big", signed=True)
