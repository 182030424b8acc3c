"""Tuples with sets of keys on their way to buckets of keys.

    buckets of a tuple  =  { bucket(k) : k ∈ f_MK(tuple) }

A tuple goes once to each bucket that owns at least one of its keys, whatever their number there, and the
operator of a bucket sees of its keys only those of the bucket. What is shuffled therefore grows with the
buckets that a tuple touches, not with its keys (Gulisano et al., STRETCH, IEEE TPDS 2022).

The bucket of a key is that of `packing/bucket_of_key_arrow.py`, or for keys that are no Arrow values that
of `_hash`. In process, keys have shares: `aggregation/kernels/rows/key_sets.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import compress
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.rows.key_sets import without_repeats
from sash.arrays import Ints
from sash.errors import DataError
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.keys import KeyFunction
from sash.operators.stateful.rows_of_all_inputs import CommonRows
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.blocks import Arrived, Packer, Sent
from sash.runtimes.spark.packing.bucket_of_key_arrow import hashes
from sash.runtimes.spark.packing.columns import ORDINAL


@dataclass(frozen=True)
class KeySetPacker:
    """Rows → blocks for buckets: the function of `mapInArrow` before the shuffle."""

    rows: CommonRows
    number: int
    """Of the input."""
    packer: Packer

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.packer(map(self._placed, batches))

    def _placed(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """As all inputs have them in common."""
        schema = self.rows.inputs[self.number].schema
        tuples = pa.Table.from_batches([batch]).rename_columns(schema.names).cast(schema)
        placed = self.rows.placed(self.number, tuples).combine_chunks()
        columns = [column.combine_chunks() for column in placed.columns]
        return pa.record_batch(columns, names=by_position.places(placed.column_names))


@dataclass(frozen=True)
class KeySetRoute:
    """Every tuple once to each bucket that owns a key of it; the first of these counts it."""

    keys: KeyFunction
    rows: CommonRows
    number: int
    count: int
    """Of the buckets."""

    def sent(self, arrived: Arrived) -> Sent:
        offsets, found = self.keys.sets(self.rows.tuples(self.number, arrived.rows.drop_columns(ORDINAL)))
        ends, buckets = without_repeats(np.asarray(offsets), buckets_of(found, self.count))
        rows = np.repeat(np.arange(arrived.rows.num_rows), np.diff(ends))
        return Sent(rows, buckets, np.diff(rows, prepend=-1) != 0)


@dataclass(frozen=True)
class OfBucket:
    """f_MK of one bucket: the keys that others own are left out."""

    keys: KeyFunction
    bucket: int
    count: int

    @property
    def distinct(self) -> bool:
        return self.keys.distinct

    def type(self, schema: pa.Schema) -> pa.DataType | None:
        return self.keys.type(schema)

    def sets(self, rows: pa.Table) -> tuple[Ints, Any]:
        offsets, found = self.keys.sets(rows)
        mine = buckets_of(found, self.count) == self.bucket
        kept = np.concatenate(([0], np.cumsum(mine)))[offsets]
        if isinstance(found, np.ndarray):
            return kept, found[mine]
        if isinstance(found, pa.Array | pa.ChunkedArray):
            return kept, found.filter(pa.array(mine))
        return kept, list(compress(found, mine))


def in_bucket(operator: Stateful, bucket: int, count: int) -> Stateful:
    """The operator for the keys of one bucket of `count`."""
    own = copy(operator)
    own.keys = [OfBucket(keys, bucket, count) for keys in operator.keys]
    return own


def buckets_of(keys: Any, count: int) -> Ints:
    """The bucket of each key: the same for equal keys, in every process and for every input.

    >>> buckets_of([1, "red", ("red", 2)], 8).tolist() == buckets_of([1.0, "red", ("red", 2.0)], 8).tolist()
    True
    """
    if isinstance(keys, pa.ChunkedArray):
        keys = keys.combine_chunks()
    if isinstance(keys, np.ndarray):
        keys = pa.array(keys)
    if not isinstance(keys, pa.Array):
        return np.fromiter((_hash(key) % count for key in keys), np.int64, len(keys))
    if pa.types.is_integer(keys.type):
        keys = keys.cast(pa.int64())
    if pa.types.is_large_string(keys.type):
        keys = keys.cast(pa.string())
    return hashes(pa.record_batch({"key": keys}), ["key"]).astype(np.int64) % count


def _hash(key: Any) -> int:
    """Python's own hash of a word differs from process to process; that of a number does not."""
    match key:
        case None:
            return 0
        case str():
            return crc32(key.encode())
        case bytes():
            return crc32(key)
        case int() | float():
            return hash(key)
        case tuple():
            return crc32(b"".join(b"%d," % _hash(part) for part in key))
    raise DataError(
        f"on Spark a key must be a number, a word, null, or a tuple of them; got {key!r}; for keys of "
        "another type give ByRow(function, keys=<their Arrow type>)"
    )
