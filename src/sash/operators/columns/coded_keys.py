"""Keys as dense numbers, equal exactly where all key columns are equal.

    column → blocks of rows → a dictionary for each, in a thread of its own → one dictionary of them all

The dictionary of a block is small where keys repeat, so that only codes are written row by row. Codes of a
block are its own: `ranks` has what each is among all keys, in the order in which columns are sorted. Null
is a key of its own, as in Spark's groupBy, and the last one; −0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.kernels.rows.numbering import Codes, dense_codes
from sash.aggregation.kernels.rows.text_numbering import numbered_texts
from sash.arrays import Ints
from sash.operators.columns.arrow_columns import raw_integers, raw_texts
from sash.operators.threads import in_threads

BLOCK = 2**16
"""Rows for which a thread is worth its start."""


@dataclass(frozen=True)
class CodedBlock:
    """The keys of neighbouring rows."""

    codes: Codes
    ranks: Ints
    """What each code is among the keys of all blocks."""

    @property
    def ranked(self) -> Ints:
        return self.ranks[self.codes]


@dataclass(frozen=True)
class CodedKeys:
    """The keys of all rows, block by block."""

    blocks: tuple[CodedBlock, ...]
    keys: int

    @property
    def ranked(self) -> Ints:
        """The number of each row's key."""
        return np.concatenate([block.ranked for block in self.blocks])


def coded_keys(rows: pa.Table, keys: Sequence[str], *, threads: int = 1) -> CodedKeys:
    """The keys of rows; without key columns all have the same."""
    blocks = max(1, min(threads, rows.num_rows // BLOCK))
    cuts = [rows.num_rows * block // blocks for block in range(blocks + 1)]
    found: CodedKeys | None = None
    for key in keys:
        column = rows[key]
        parts = [column.slice(a, b - a) for a, b in pairwise(cuts)]
        nulls = column.null_count > 0
        own = _merged(in_threads([partial(_coded, part, nulls=nulls) for part in parts]))
        found = own if found is None else _paired(found, own)
    if found is not None:
        return found
    alone = np.zeros(min(rows.num_rows, 1), np.int64)
    return CodedKeys(
        tuple(CodedBlock(np.zeros(b - a, np.int32), alone) for a, b in pairwise(cuts)), len(alone)
    )


def key_codes(rows: pa.Table, keys: Sequence[str]) -> Ints:
    """A dense number for every row, in no order."""
    found: tuple[Codes, Any] | None = None
    for key in keys:
        own = _coded(rows[key], nulls=rows[key].null_count > 0)
        found = own if found is None else dense_codes(found[0].astype(np.int64) * len(own[1]) + own[0])
    return np.zeros(rows.num_rows, np.int64) if found is None else found[0].astype(np.int64)


def _coded(column: pa.ChunkedArray, *, nulls: bool) -> tuple[Codes, Any]:
    """The codes of a block, and its dictionary: of whole numbers in a column without nulls numpy's, of
    others Arrow's."""
    values = column.combine_chunks()
    whole = None if nulls else raw_integers(values)
    if whole is not None:
        return dense_codes(whole)
    texts = raw_texts(values)
    found = None if texts is None else numbered_texts(*texts)
    if found is not None:
        return found[0], values.take(pa.array(found[1]))
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.equal(values, 0.0), pa.scalar(0.0, values.type), values)
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False), encoded.dictionary


def _merged(blocks: Sequence[tuple[Codes, Any]]) -> CodedKeys:
    """Blocks with dictionaries of their own, under one."""
    dictionaries = [dictionary for _, dictionary in blocks]
    if all(isinstance(dictionary, np.ndarray) for dictionary in dictionaries):
        distinct, ranks = np.unique(np.concatenate(dictionaries), return_inverse=True)
        keys = len(distinct)
    else:
        ranks, keys = _ranks(pa.concat_arrays([pa.array(dictionary) for dictionary in dictionaries]))
    ends = np.cumsum([len(dictionary) for dictionary in dictionaries])
    parts = np.split(ranks, ends[:-1])
    return CodedKeys(
        tuple(CodedBlock(codes, part) for (codes, _), part in zip(blocks, parts, strict=True)), keys
    )


def _ranks(values: Any) -> tuple[Ints, int]:
    """The rank of each value among the distinct ones, and how many these are."""
    encoded = pc.dictionary_encode(values, null_encoding="encode")
    ranks = np.empty(len(encoded.dictionary), np.int64)
    ranks[pc.sort_indices(encoded.dictionary).to_numpy()] = np.arange(len(ranks))
    return ranks[encoded.indices.to_numpy(zero_copy_only=False)], len(ranks)


def _paired(first: CodedKeys, then: CodedKeys) -> CodedKeys:
    """By one more column."""
    pairs = zip(first.blocks, then.blocks, strict=True)
    return _merged(in_threads([partial(_numbered_pairs, a, b, then.keys) for a, b in pairs]))


def _numbered_pairs(first: CodedBlock, then: CodedBlock, keys: int) -> tuple[Codes, Ints]:
    return dense_codes(first.ranked * keys + then.ranked)
