"""A slide policy as machine code computes it: a condition over the results of the tracked aggregates.

    policy      lambda total, old: total.s - old.s + old.last > 10
    condition   ((total[0] - old[0]) + old[1]) > policy[1]

As with the predicates of rows (`row_predicates`), a policy that uses `and`, `or`, `if`, methods or other
functions has no tree, and is interpreted; so is one where 64 bits may not compute what Python does.
Constants stay outside of the text, so that policies which differ in a limit share their machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sash.aggregation.kernels.joins.predicates import plain, text_of
from sash.aggregation.monoid import Monoid
from sash.errors import SashError
from sash.operators.bound_query import result_type
from sash.operators.folding.fold_ranges import compiles
from sash.operators.predicates.predicate_kinds import ValueKind, kind_of_column, kind_of_part, plain_limit
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

if TYPE_CHECKING:
    from sash.aggregation.kernels.compiler.python_calls import PythonFunction

Types = Mapping[str, pa.DataType | None]
"""Of the results of tracked aggregates; None where that is not known."""

_KINDS: tuple[ValueKind, ...] = ("bool", "int", "float", "time", "local time", "span")


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
    """The body of `leaves` (see `kernels.compiler.template_words`), and what comes with each call of it."""

    body: str
    numbers: tuple[int | float, ...]
    """Up to which magnitude 64 bits compute what Python does; then the constants."""
    kinds: tuple[ValueKind, ...]
    """Of the results."""

    def called(self) -> AbstractContextManager[tuple[int | float, ...]]:
        """What comes with a call of a kernel."""
        return nullcontext(self.numbers)

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
        moved = [
            p for p in parts_of(tree) if isinstance(p, Operation) and _is_time(kind_of_part(p, schemas))
        ]
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


def _kind(type_: pa.DataType) -> ValueKind | None:
    if pa.types.is_timestamp(type_) and (type_.unit != "us" or type_.tz not in (None, "UTC")):
        return None  # Python's days in other zones may have 25 hours
    return kind_of_column(type_)


def _is_time(kind: ValueKind | None) -> bool:
    return kind in ("time", "local time")


class InterpretedPolicy:
    """The policy itself, called with tuples of elements: first of a whole window, then of its prefixes.

    What it raises is kept until the kernel has returned (`python_calls` has the reason); until then it is
    not called any more, and nothing leaves.
    """

    def __init__(self, window: PolicyWindow, types: Types, lowers: Sequence[Callable[[Any], Any]]) -> None:
        objects = [
            _as_objects(lower, type_) if type_ is not None and _is_temporal(type_) else lower
            for lower, type_ in zip(lowers, types.values(), strict=True)
        ]
        self._window = window
        self._parts = [(at, name, objects[at]) for at, name in enumerate(window.track)]
        self._total = SimpleNamespace()
        self._raised: BaseException | None = None

    @contextmanager
    def called(self) -> Iterator[tuple[PythonFunction, PythonFunction]]:
        """As `kernels.compiler.side_by_side_source.CallingSource` has it, for one call of a kernel."""
        # Imported where a policy is interpreted: it loads Numba's compiler.
        from sash.aggregation.kernels.compiler.python_calls import PythonFunction

        try:
            yield PythonFunction(self._see), PythonFunction(self._leaves)
        finally:
            raised, self._raised = self._raised, None
        try:
            if raised is not None:
                raise raised
        finally:
            del raised  # its traceback has this frame: a cycle

    def _see(self, total: tuple[Any, ...]) -> None:
        if self._raised is None:
            try:
                self._total = self._named(total)
            except BaseException as error:
                self._raised = error

    def _leaves(self, old: tuple[Any, ...]) -> bool:
        if self._raised is None:
            try:
                return self._window.evicts(self._total, self._named(old))
            except BaseException as error:
                self._raised = error
        return False

    def _named(self, elements: tuple[Any, ...]) -> SimpleNamespace:
        results = {}
        for at, name, lower in self._parts:  # twice as fast as one expression with `zip`
            results[name] = lower(elements[at])
        return SimpleNamespace(**results)


def are_numbers(type_: pa.DataType | None) -> bool:
    """Whether such results are what the monoid computes, or a time that is one number."""
    return type_ is None or not pa.types.is_nested(type_) or not any(map(_is_temporal, _leaves(type_)))


def _is_temporal(type_: pa.DataType | None) -> bool:
    return type_ is not None and bool(pa.types.is_temporal(type_))


def _leaves(type_: pa.DataType) -> list[pa.DataType]:
    if not pa.types.is_nested(type_):
        return [type_]
    return [leaf for at in range(type_.num_fields) for leaf in _leaves(type_.field(at).type)]


def _as_objects(lower: Callable[[Any], Any], type_: pa.DataType) -> Callable[[Any], Any]:
    """Times are numbers to kernels, and objects to Python."""
    storage = pa.int32() if type_.bit_width == 32 else pa.int64()
    return lambda element: pa.scalar(lower(element), storage).cast(type_).as_py()
