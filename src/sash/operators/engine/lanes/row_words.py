"""Arrow columns as rows of 64-bit words, and back: how keys and rows lie in an arena.

    numbers, booleans, dates and times      one word, and a bit in a word of validity at the beginning
    text, bytes, and everything else        two words: where its bytes begin, and how many; −1 for null

The bytes lie in a heap beside the words. Text and bytes lie there as they are; other values (decimals,
lists) as `aggregation.encoding` writes them. Nothing is pickled.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.encoding import decode, encode
from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.state.key_index import gather_bytes, hash_keys
from sash.arrays import Array, Bytes, Ints, Mask, as_words
from sash.operators.columns.arrow_columns import from_numpy, kind_of_type, to_numpy

BITS = 62
"""How many columns share a word of validity."""


@dataclass(frozen=True)
class Words:
    """The columns of a schema as words."""

    schema: pa.Schema

    @cached_property
    def _numbers(self) -> list[int]:
        return [at for at, field in enumerate(self.schema) if kind_of_type(field.type) != "object"]

    @cached_property
    def _places(self) -> list[int]:
        """The first word of each column, and the number of all words."""
        places, at = [], -(-len(self.schema) // BITS)
        for field in self.schema:
            places.append(at)
            at += 1 if kind_of_type(field.type) != "object" else 2
        return [*places, at]

    @property
    def places(self) -> list[int]:
        """The first word of each column."""
        return self._places[:-1]

    @property
    def width(self) -> int:
        return self._places[-1]

    @cached_property
    def variable(self) -> Mask:
        """Which words are the first of a pair."""
        marks = np.zeros(self.width, np.bool_)
        for number, place in enumerate(self._places[:-1]):
            marks[place] = number not in self._numbers
        return marks

    def encode(self, rows: pa.Table) -> tuple[Ints, Bytes]:
        """The words of each row, and the bytes that they point into."""
        words, heap, used = np.zeros((rows.num_rows, self.width), np.int64), [], 0
        for number, field in enumerate(self.schema):
            column, place = rows.column(number), self._places[number]
            if number in self._numbers:
                values, valid = to_numpy(column)
                words[:, place] = as_words(values)
                known = np.ones(len(values), np.bool_) if valid is None else valid
                words[:, place][~known] = 0
                words[:, number // BITS] |= known.astype(np.int64) << number % BITS
                continue
            begins, lengths, data = _runs(column, field.type)
            words[:, place] = np.where(lengths >= 0, begins + used, 0)
            words[:, place + 1] = lengths
            heap.append(data)
            used += len(data)
        return words, np.concatenate(heap) if heap else np.empty(0, np.uint8)

    def hashed(self, rows: pa.Table) -> tuple[Ints, Ints, Bytes]:
        """A hash of each row, its words, and the bytes that they point into. Rows are equal if Spark groups
        them together: there is one zero and one NaN."""
        words, data = self.encode(_grouped(rows))
        hashes = np.empty(len(words), np.int64)
        kernel_of(hash_keys)(words, self.variable, data, hashes)
        return hashes, words, data

    def decode(self, words: Ints, heap: Bytes) -> pa.Table:
        """The rows of these words."""
        columns = [self._column(number, words, heap) for number in range(len(self.schema))]
        if not columns:
            return pa.table({"": pa.nulls(len(words))}).select([])
        return pa.Table.from_arrays(columns, schema=self.schema)

    def _column(self, number: int, words: Ints, heap: Bytes) -> pa.Array:
        type_, place = self.schema.field(number).type, self._places[number]
        if number in self._numbers:
            known = (words[:, number // BITS] >> number % BITS & 1).astype(np.bool_)
            bits = np.ascontiguousarray(words[:, place])
            kind = kind_of_type(type_)
            values: Array = bits.view(np.float64) if kind == "float" else bits
            if pa.types.is_uint64(type_):
                values = bits.view(np.uint64)
            return from_numpy(values.astype(np.bool_) if kind == "bool" else values, known, type_)
        lengths = words[:, place + 1]
        data, offsets = gathered(heap, words[:, place], np.maximum(lengths, 0))
        if _is_plain(type_):
            plain = pa.LargeBinaryArray.from_buffers(
                pa.large_binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            )
            column = pc.if_else(pa.array(lengths >= 0), plain, pa.scalar(None, pa.large_binary()))
            wide = (
                pa.large_string() if pa.types.is_string(type_) or pa.types.is_large_string(type_) else None
            )
            return (column if wide is None else column.cast(wide)).cast(type_)
        raw = data.tobytes()
        return pa.array(
            [
                None if length < 0 else decode(raw[at : at + length])
                for at, length in zip(offsets[:-1].tolist(), lengths.tolist(), strict=True)
            ],
            type_,
        )


def _grouped(rows: pa.Table) -> pa.Table:
    """With one zero and one NaN, as Spark groups rows."""
    for at, field in enumerate(rows.schema):
        if pa.types.is_floating(field.type):
            column = rows.column(at)
            column = pc.if_else(pc.equal(column, 0.0), pa.scalar(0.0, field.type), column)
            nan = pa.scalar(float("nan"), field.type)
            rows = rows.set_column(at, field, pc.if_else(pc.is_nan(column), nan, column))
    return rows


def gathered(heap: Bytes, begins: Ints, lengths: Ints) -> tuple[Bytes, Ints]:
    """Runs of bytes one after the other, and where each begins and ends."""
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    data = np.empty(int(offsets[-1]), np.uint8)
    kernel_of(gather_bytes)(
        heap, np.ascontiguousarray(begins), np.ascontiguousarray(lengths), offsets[:-1], data
    )
    return data, offsets


def packed(words: Ints, pointers: Ints, heap: Bytes) -> Bytes:
    """The bytes that words point to, one after the other; the words then point to these."""
    found, used = [], 0
    for pointer in pointers.tolist():
        lengths = np.maximum(words[:, pointer + 1], 0)
        data, offsets = gathered(heap, words[:, pointer], lengths)
        words[:, pointer] = offsets[:-1] + used
        used += len(data)
        found.append(data)
    return np.concatenate(found) if found else np.empty(0, np.uint8)


def _is_plain(type_: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_binary(type_)
        or pa.types.is_large_binary(type_)
    )


def _runs(column: pa.ChunkedArray, type_: pa.DataType) -> tuple[Ints, Ints, Bytes]:
    """Where the bytes of each value begin, how many they are (−1: null), and the bytes."""
    if _is_plain(type_):
        binary = column.cast(pa.large_string()) if pa.types.is_string(type_) else column
        wide = binary.cast(pa.large_binary()).combine_chunks()
        if isinstance(wide, pa.ChunkedArray):
            wide = pa.concat_arrays(wide.chunks) if wide.num_chunks else pa.array([], pa.large_binary())
        _, offsets_buffer, data_buffer = wide.buffers()
        if not len(wide):
            return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8)
        offsets = np.frombuffer(offsets_buffer, np.int64)[wide.offset : wide.offset + len(wide) + 1]
        data = np.empty(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, np.uint8)
        known = wide.is_valid().to_numpy(zero_copy_only=False)
        begin, end = int(offsets[0]), int(offsets[-1])
        return offsets[:-1] - begin, np.where(known, np.diff(offsets), -1), data[begin:end]
    parts = [None if value is None else encode(value) for value in column.to_pylist()]
    lengths = np.array([-1 if part is None else len(part) for part in parts], np.int64)
    begins = np.concatenate(([0], np.cumsum(np.maximum(lengths, 0))))[:-1].astype(np.int64)
    return begins, lengths, np.frombuffer(b"".join(part or b"" for part in parts), np.uint8)
