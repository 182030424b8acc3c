"""f_MK: which keys a tuple has. A tuple has a *set* of them: several, one, or none at all.

    "symbol"            the value of a column: one key a tuple (null is a key of its own, as in Spark)
    "hashtags"          the elements of a list column, each once; a null list has none
    lambda row: …       a plain function from a row to its keys
    InBulk(function)    a function from a table to (offsets, keys): the keys of row r are
                        keys[offsets[r] : offsets[r + 1]]; for compiled code. Instances may call it at
                        once, each with other rows of a run
    None                all tuples have the same key

>>> rows = pa.table({"tags": [["red", "pink", "red"], None]})
>>> offsets, keys = ByList("tags").sets(rows)
>>> offsets.tolist(), keys.to_pylist()
([0, 3, 3], ['red', 'pink', 'red'])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import ArgumentError, PredicateError, UnknownColumn
from sash.semantics.event import Row

RowKeys: TypeAlias = Callable[[Row], Iterable[Hashable]]


class KeyFunction(Protocol):
    """f_MK over columns. `distinct` means that no row names a key twice."""

    @property
    def distinct(self) -> bool: ...
    def type(self, schema: pa.Schema) -> pa.DataType | None: ...
    def sets(self, rows: pa.Table) -> tuple[Ints, Any]: ...


@dataclass(frozen=True)
class OneKey:
    """Every tuple has the key 0."""

    distinct: ClassVar[bool] = True

    def type(self, schema: pa.Schema) -> pa.DataType | None:
        return pa.int64()

    def sets(self, rows: pa.Table) -> tuple[Ints, Any]:
        return np.arange(rows.num_rows + 1), np.zeros(rows.num_rows, np.int64)


@dataclass(frozen=True)
class ByColumn:
    """The value of a column."""

    column: str
    distinct: ClassVar[bool] = True

    def type(self, schema: pa.Schema) -> pa.DataType | None:
        return schema.field(self.column).type

    def sets(self, rows: pa.Table) -> tuple[Ints, Any]:
        return np.arange(rows.num_rows + 1), rows[self.column].combine_chunks()


@dataclass(frozen=True)
class ByList:
    """The elements of a list column."""

    column: str
    distinct: ClassVar[bool] = False

    def type(self, schema: pa.Schema) -> pa.DataType | None:
        return schema.field(self.column).type.value_type

    def sets(self, rows: pa.Table) -> tuple[Ints, Any]:
        lists = rows[self.column].combine_chunks()
        counts = lists.value_lengths().fill_null(0).to_numpy()
        return np.concatenate(([0], np.cumsum(counts))), lists.flatten()


@dataclass(frozen=True)
class ByRow:
    """A plain function from a row to its keys; `keys` is their Arrow type, where results hold them."""

    function: RowKeys
    keys: pa.DataType | None = None
    distinct: ClassVar[bool] = True

    def type(self, schema: pa.Schema) -> pa.DataType | None:
        return self.keys

    def sets(self, rows: pa.Table) -> tuple[Ints, Any]:
        found = [self._of(Row(values)) for values in rows.to_pylist()]
        return np.concatenate(([0], np.cumsum([len(keys) for keys in found], dtype=np.int64))), list(
            chain.from_iterable(found)
        )

    def _of(self, row: Row) -> list[Hashable]:
        try:
            return list(dict.fromkeys(self.function(row)))
        except Exception as error:
            raise PredicateError(
                f"keys must return the keys of a row; it raised {type(error).__name__}: {error}; "
                f"called with {row}"
            ) from error


@dataclass(frozen=True)
class InBulk:
    """A function from a table to (offsets, keys), for compiled code; `distinct` if no row repeats a key."""

    function: Callable[[pa.Table], tuple[Ints, Any]]
    keys: pa.DataType = field(default_factory=pa.int64)
    distinct: bool = False

    def type(self, schema: pa.Schema) -> pa.DataType | None:
        return self.keys

    def sets(self, rows: pa.Table) -> tuple[Ints, Any]:
        offsets, keys = self.function(rows)
        if len(offsets) != rows.num_rows + 1 or (len(offsets) and offsets[-1] != len(keys)):
            raise PredicateError(
                f"keys in bulk must return {rows.num_rows + 1} offsets for {rows.num_rows} rows, the "
                f"last of them the number of keys; got {len(offsets)} offsets and {len(keys)} keys"
            )
        return np.asarray(offsets, np.int64), keys


Keys: TypeAlias = "str | RowKeys | ByColumn | ByList | ByRow | InBulk | OneKey | None"


def key_function(given: Keys, schema: pa.Schema) -> KeyFunction:
    """What the caller gave as f_MK, checked against the columns of its input."""
    if given is None:
        return OneKey()
    if isinstance(given, str):
        if given not in schema.names:
            raise UnknownColumn("keys", given, schema.names)
        type_ = schema.field(given).type
        return (
            ByList(given) if pa.types.is_list(type_) or pa.types.is_large_list(type_) else ByColumn(given)
        )
    if isinstance(given, ByColumn | ByList | ByRow | InBulk | OneKey):
        return given
    if callable(given):
        return ByRow(given)
    raise ArgumentError("keys", given, "a column's name, a function of a row, InBulk(function) or None")
