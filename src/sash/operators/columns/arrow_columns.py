"""Arrow columns as kernels want them, and results as Arrow columns.

Timestamps, dates, times and durations are integers underneath, so their minimum, first or last is computed
on integers and comes out as what it was.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.aggregation.monoid import Kind
from sash.arrays import Array, Bytes, Ints, Mask
from sash.errors import Unsupported


def kind_of_type(type_: pa.DataType) -> Kind:
    """What a column of this type holds, as far as algebra cares."""
    if pa.types.is_boolean(type_):
        return "bool"
    if pa.types.is_integer(type_) or _counts_units(type_):
        return "int"
    if pa.types.is_floating(type_):
        return "float"
    return "object"


def to_numpy(column: pa.ChunkedArray) -> tuple[Array, Mask | None]:
    """The values, and where they are not null (None: everywhere). Where they are null the value is 0."""
    valid = None
    if column.null_count:
        valid = column.is_valid().to_numpy()
        column = column.fill_null(_zero(column.type))
    if _counts_units(column.type):
        column = column.cast(_storage(column.type)).cast(pa.int64())
    return column.to_numpy(), valid


def from_numpy(values: Array | tuple[Array, ...], valid: Mask, type_: pa.DataType) -> pa.Array:
    """Results as a column of their type; a tuple of results is a struct by position, or a list."""
    if isinstance(values, tuple) and pa.types.is_list(type_):
        flat = from_numpy(np.column_stack(values).reshape(-1), np.ones(1, np.bool_), type_.value_type)
        ends = np.arange(len(valid) + 1) * len(values)
        return pa.ListArray.from_arrays(
            pa.array(ends, pa.int32(), mask=np.append(~valid, False)), flat, type=type_
        )
    if isinstance(values, tuple):
        parts = [
            from_numpy(part, valid, field.type) for part, field in zip(values, list(type_), strict=True)
        ]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=pa.array(~valid))
    if pa.types.is_nested(type_) and not valid.any():
        return pa.nulls(len(values), type_)  # it is not known how many parts a result would have
    if values.dtype == object:
        return pa.array(values.tolist(), type_, mask=~valid)
    # Without a mask nothing is copied.
    column = pa.array(values, mask=None if valid.all() else ~valid)
    if _counts_units(type_):
        column = column.cast(_storage(type_))
    return column if column.type == type_ else column.cast(type_)


def raw_values(array: pa.Array) -> Array | None:
    """The numbers in an array without nulls as they lie in memory, not copied, as signed integers of their
    width; None where they are not of 1, 2, 4 or 8 bytes."""
    if array.null_count or not pa.types.is_primitive(array.type):
        return None
    width, bits = divmod(array.type.bit_width, 8)
    if bits or width > 8:
        return None
    data = array.buffers()[1]
    if data is None:
        return np.empty(0, f"i{width}")
    return np.frombuffer(data, f"i{width}", len(array), array.offset * width)


def raw_integers(array: pa.Array) -> Ints | None:
    """Whole numbers without nulls, and times as their units, in 64 bits; None for what is none of them."""
    type_ = array.type
    if not (pa.types.is_integer(type_) or _counts_units(type_)) or type_ == pa.uint64():
        return None
    raw = raw_values(array)
    if raw is None:
        return None
    signed = raw.view(f"u{raw.dtype.itemsize}") if pa.types.is_unsigned_integer(type_) else raw
    return signed.astype(np.int64, copy=False)


def raw_texts(array: pa.Array) -> tuple[Ints, Bytes] | None:
    """Where the texts of an array without nulls begin and end, and their bytes, not copied; None for what
    has no texts one after the other."""
    type_ = array.type
    large = pa.types.is_large_string(type_) or pa.types.is_large_binary(type_)
    if array.null_count or not (large or pa.types.is_string(type_) or pa.types.is_binary(type_)):
        return None
    _, ends, data = array.buffers()
    if ends is None or data is None or data.address % 8:
        return None
    width = 8 if large else 4
    offsets = np.frombuffer(ends, f"i{width}", len(array) + 1, array.offset * width)
    return offsets, np.frombuffer(data, np.uint8)


def _counts_units(type_: pa.DataType) -> bool:
    """Timestamps, dates, times and durations; not calendar intervals, which are not one number."""
    return bool(pa.types.is_temporal(type_) and not pa.types.is_interval(type_))


def _storage(type_: pa.DataType) -> pa.DataType:
    return pa.int32() if type_.bit_width == 32 else pa.int64()


def _zero(type_: pa.DataType) -> pa.Scalar:
    if _counts_units(type_):
        return pa.scalar(0, _storage(type_)).cast(type_)
    return pa.scalar(False if pa.types.is_boolean(type_) else 0, type_)


def require_key_type(key: str, type_: pa.DataType) -> None:
    """Unsupported unless values of this type can be keys."""
    if pa.types.is_nested(type_):
        raise Unsupported("key", key, "a column of a simple type, not a struct, list or map")
