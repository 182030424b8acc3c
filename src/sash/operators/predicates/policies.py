"""A slide policy as machine code computes it: a condition over the results of the tracked aggregates.

    policy      lambda total, old: total.s - old.s + old.last > 10
    condition   ((total[0] - old[0]) + old[1]) > policy[1]

As with the predicates of rows (`row_predicates`), a policy that uses `and`, `or`, `if`, methods or other
functions has no tree, and is interpreted; so is one where 64 bits may not compute what Python does.
Constants stay outside of the text, so that policies which differ in a limit share their machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pyarrow as pa

from sash.aggregation.kernels.joins.predicates import plain, text_of
from sash.aggregation.monoid import Monoid
from sash.errors import SashError
from sash.operators.bound_query import result_type
from sash.operators.folding.range_folder import compiles
from sash.operators.predicates.predicate_kinds import Kind, kind_of, kind_of_column, plain_limit
from sash.semantics.expression import (
    Column,
    Constant,
    Operation,
    Side,
    Untraceable,
    columns_of,
    parts_of,
    trace_folds,
)
from sash.semantics.windows import PolicyWindow

Types = Mapping[str, pa.DataType | None]
"""Of the results of tracked aggregates; None where that is not known."""

_KINDS: tuple[Kind, ...] = ("bool", "int", "float", "time", "local time", "span")


def types_of(window: PolicyWindow, schema: pa.Schema) -> dict[str, pa.DataType | None]:
    """What the policy sees of each tracked aggregate, over columns of this schema."""
    found: dict[str, pa.DataType | None] = {}
    for name, monoid in window.track.items():
        assert isinstance(monoid, Monoid)
        try:
            found[name] = result_type(monoid, tuple(schema.field(column).type for column in monoid.columns))
        except SashError:
            found[name] = None
    return found


def on_columns(window: PolicyWindow, schema: pa.Schema) -> bool:
    """Whether the policy is machine code over such columns."""
    numbers = all(compiles(m, schema) for m in window.track.values() if isinstance(m, Monoid))
    return numbers and PolicyCondition.of(window, types_of(window, schema)) is not None


@dataclass(frozen=True)
class PolicyCondition:
    """The body of `leaves` (see `kernels.compiler.vocabulary`), and what comes with each call of it."""

    body: str
    numbers: tuple[int | float, ...]
    """Up to which magnitude 64 bits compute what Python does; then the constants."""
    kinds: tuple[Kind, ...]
    """Of the results."""

    @classmethod
    def of(cls, window: PolicyWindow, types: Types) -> PolicyCondition | None:
        kinds = {name: None if type_ is None else _kind(type_) for name, type_ in types.items()}
        if None in kinds.values():
            return None
        try:
            tree = trace_folds(window.wsp, list(window.track))
        except Untraceable:
            return None
        schema = pa.schema(list(types.items()))
        schemas = {Side.LEFT: schema, Side.RIGHT: schema}
        limit = plain_limit(tree, schemas, kinds=_KINDS, constants=(int, float, timedelta))
        moved = [p for p in parts_of(tree) if isinstance(p, Operation) and _is_time(kind_of(p, schemas))]
        if limit < 0 or moved:  # the calendar of Python ends
            return None
        places = {name: place for place, name in enumerate(window.track)}
        numbers: list[int | float] = [limit]

        def leaf(part: Column | Constant) -> str:
            if isinstance(part, Column):
                return f"{'total' if part.side is Side.LEFT else 'old'}[{places[part.name]}]"
            numbers.append(plain(part.value))
            return f"policy[{len(numbers) - 1}]"

        whole = [leaf(column) for column in columns_of(tree) if kinds[column.name] not in ("bool", "float")]
        lines = [
            f"    if not -policy[0] <= {cell} <= policy[0]:\n        raise OverflowError" for cell in whole
        ]
        lines.append(f"    return {text_of(tree, leaf)}")
        return cls("\n".join(lines), tuple(numbers), tuple(kinds.values()))  # type: ignore[arg-type]


def _kind(type_: pa.DataType) -> Kind | None:
    if pa.types.is_timestamp(type_) and (type_.unit != "us" or type_.tz not in (None, "UTC")):
        return None  # Python's days in other zones may have 25 hours
    return kind_of_column(type_)


def _is_time(kind: Kind | None) -> bool:
    return kind in ("time", "local time")


class Asked:
    """The policy itself, about tuples of results as the monoids compute them."""

    def __init__(self, window: PolicyWindow, types: Types) -> None:
        self._window, self._names = window, tuple(window.track)
        self._readers = [
            (place, _reader(type_)) for place, type_ in enumerate(types.values()) if _is_temporal(type_)
        ]
        self._last: tuple[Any, ...] | None = None
        self._total = SimpleNamespace()

    def __call__(self, total: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
        if total is not self._last:
            self._last, self._total = total, self._named(total)
        return self._window.evicts(self._total, self._named(old))

    def _named(self, results: tuple[Any, ...]) -> SimpleNamespace:
        values = dict(zip(self._names, results, strict=True))
        for place, reader in self._readers:
            values[self._names[place]] = reader(results[place])
        return SimpleNamespace(**values)


def are_numbers(type_: pa.DataType | None) -> bool:
    """Whether such results are what the monoid computes, or a time that is one number."""
    return type_ is None or not pa.types.is_nested(type_) or not any(map(_is_temporal, _leaves(type_)))


def _is_temporal(type_: pa.DataType | None) -> bool:
    return type_ is not None and bool(pa.types.is_temporal(type_))


def _leaves(type_: pa.DataType) -> list[pa.DataType]:
    if not pa.types.is_nested(type_):
        return [type_]
    return [leaf for at in range(type_.num_fields) for leaf in _leaves(type_.field(at).type)]


def _reader(type_: pa.DataType) -> Callable[[Any], Any]:
    """Times are numbers to kernels, and objects to Python."""
    storage = pa.int32() if type_.bit_width == 32 else pa.int64()
    return lambda value: pa.scalar(value, storage).cast(type_).as_py()
