"""A+: the operator whose f_U is the combine of a monoid, and whose f_O lowers it.

    one row per window and key: time (the window's end), key, one column per aggregate

>>> import pyarrow as pa
>>> from sash.aggregation.built_in import count, max
>>> schema = pa.schema([("t", pa.int64()), ("tags", pa.list_(pa.string())), ("n", pa.int64())])
>>> tweets = Input(schema, time="t")
>>> longest = Aggregate(advance=30, size=60, inputs=tweets, keys="tags", n=count(), longest=max("n"))
>>> rows = {"t": [10, 40, 45], "tags": [["red"], ["red", "pink"], []], "n": [70, 50, 99]}
>>> for row in longest.over(rows).to_pylist():
...     print(*row.values())
30 red 1 70
60 red 2 70
60 pink 1 50
90 red 1 50
90 pink 1 50
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa

from sash.aggregation.encoding import decode, encode
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, UnknownColumn
from sash.operators.bound_query import at_time, result_type
from sash.operators.elastic.instance_of_share import Assignment, balanced
from sash.operators.folding.fold_ranges import ObjectFolder
from sash.operators.order.interleaved import Input
from sash.operators.stateful.compiled_aggregate import CompiledAggregate, fits_columns
from sash.operators.stateful.declaration import SHARES, EmittedRows, Stateful
from sash.operators.stateful.keys import Keys, key_function
from sash.operators.stateful.running_operator import Running
from sash.operators.stateful.windows import InputEvent, WindowSet
from sash.semantics.durations import DurationLike
from sash.semantics.monoid import inputs as inputs_of_row


class Aggregate(Stateful):
    """Monoids over sliding windows of every key: compiled where elements are numbers."""

    def __init__(
        self,
        *,
        advance: DurationLike,
        size: DurationLike,
        inputs: Input,
        keys: Keys = None,
        key: str = "key",
        mapping: Assignment = balanced,
        shares: int = SHARES,
        **aggregates: Monoid,
    ) -> None:
        if not isinstance(inputs, Input):
            raise ArgumentError("inputs", inputs, "one Input(schema, time=…): an aggregate has one input")
        if not aggregates:
            raise ArgumentError("aggregates", aggregates, "at least one, such as n=sash.count()")
        schema = inputs.schema
        aggregates = {name: at_time(monoid, schema, inputs.time) for name, monoid in aggregates.items()}
        for name, monoid in aggregates.items():
            for column in monoid.reads:
                if column not in schema.names:
                    raise UnknownColumn(name, column, schema.names)
        self.aggregates: Mapping[str, Monoid] = aggregates
        self.key = key
        type_ = key_function(keys, schema).type(schema)
        if type_ is None:
            raise ArgumentError(
                "keys", keys, "ByRow(function, keys=pa.string()), for results hold the keys"
            )
        values = [
            pa.field(
                name,
                result_type(
                    monoid, tuple(schema.field(column).type for column in monoid.columns), name=name
                ),
            )
            for name, monoid in aggregates.items()
        ]
        super().__init__(
            advance=advance, size=size, inputs=inputs, keys=keys, mapping=mapping, shares=shares,
            schema=pa.schema([pa.field(key, type_), *values]),
        )  # fmt: skip

    def state(self) -> Any:
        """For each aggregate the elements of the values that are not null, folded: one, or none yet."""
        return [[] for _ in self.aggregates]

    def update(self, windows: WindowSet, arrival: InputEvent) -> EmittedRows:
        for monoid, folded in zip(self.aggregates.values(), windows[0], strict=True):
            values = inputs_of_row(monoid, arrival.row)
            if values is not None:
                folded[:] = [reduce(monoid.combine, [*folded, monoid.lift(*values)])]
        return None

    def output(self, windows: WindowSet) -> EmittedRows:
        lowered = [
            monoid.lower(folded[0]) if folded else monoid.nothing
            for monoid, folded in zip(self.aggregates.values(), windows[0], strict=True)
        ]
        return {self.key: windows.key, **dict(zip(self.aggregates, lowered, strict=True))}

    def pack(self, states: list[Any]) -> bytes:
        (folds,), codecs = states, map(ObjectFolder, self.aggregates.values())
        return encode([[codec.encode(e) for e in own] for codec, own in zip(codecs, folds, strict=True)])

    def unpack(self, data: bytes) -> list[Any]:
        codecs = map(ObjectFolder, self.aggregates.values())
        return [[[codec.decode(e) for e in own] for codec, own in zip(codecs, decode(data), strict=True)]]

    def start(self) -> Running:
        schema = self.inputs[0].schema
        if all(fits_columns(monoid, schema) for monoid in self.aggregates.values()):
            return CompiledAggregate(self)
        return super().start()
