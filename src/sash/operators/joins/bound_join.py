"""A join bound to the columns of its two inputs: what to read, what to check, what comes out.

    output  =  the keys once, under the left's names · `time` · the left's other columns · the right's

Of an outer join the keys of a row are those of the event that it has, and the columns of the other side are
null where it stays alone.

A name that both sides use, or that is `time`, gets the suffix of its side; where there are prefixes, as in
J+, every name gets the one of its side. Everything that can be refused is refused here, before any data
moves. The result is frozen and travels to executors as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from sash.aggregation.kernels.compiler.function_source import carry_source
from sash.errors import ArgumentError, PredicateError, UnitError, UnknownColumn
from sash.operators.columns.arrow_columns import require_key_type
from sash.operators.columns.times import FARTHEST, require_time_type
from sash.operators.joins.hash_band_or_matrix import Equality, Strategy, choose, equality
from sash.operators.late_rows import LATE_REASON, late_schema
from sash.operators.predicates.predicate_kinds import kind_of_part
from sash.semantics.durations import Unit
from sash.semantics.expression import TRUE, Constant, ExpressionNode, Side, Untraceable, conjuncts, trace
from sash.semantics.join import IntervalJoin, TwoStreams
from sash.semantics.predicate import truth

TIME = "time"
LEFT_PLACE, RIGHT_PLACE = "__sash_left", "__sash_right"
"""Where the two rows of a pair stood in the arrival order of their sides."""


@dataclass(frozen=True)
class BoundSide:
    """One input of a join."""

    side: Side
    schema: pa.Schema
    time: str
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        for argument, names in (("time", (self.time,)), ("key", self.keys)):
            for name in names:
                if name not in self.schema.names:
                    whose = f"{argument} of the {self.side.value} stream"
                    raise UnknownColumn(whose, name, self.schema.names)
        for key in self.keys:
            require_key_type(key, self.schema.field(key).type)
        require_time_type(self.time, self.time_type)
        if LATE_REASON in self.schema.names:
            raise ArgumentError("data", LATE_REASON, "a name that the late output does not use itself")

    @property
    def time_type(self) -> pa.DataType:
        return self.schema.field(self.time).type

    @property
    def ticks(self) -> bool:
        return bool(pa.types.is_integer(self.time_type))

    @property
    def others(self) -> list[str]:
        """The columns that are not keys."""
        return [name for name in self.schema.names if name not in self.keys]

    @property
    def late_output(self) -> pa.Schema:
        return late_schema(self.schema, windows=False)


@dataclass(frozen=True)
class BoundSides:
    """Two inputs whose rows are compared by time, and by keys where they have some."""

    join: TwoStreams
    left: BoundSide
    right: BoundSide

    def __post_init__(self) -> None:
        if self.left.ticks != self.right.ticks or self._zoned(Side.LEFT) != self._zoned(Side.RIGHT):
            raise ArgumentError(
                "time", [f"{side.time}: {side.time_type}" for side in (self.left, self.right)],
                "of one kind on both sides: integers, timestamps, or timestamps without a zone",
            )  # fmt: skip
        self._check_unit()
        self._check_keys()

    def _zoned(self, side: Side) -> bool:
        return getattr(self.of(side).time_type, "tz", None) is not None

    def _check_unit(self) -> None:
        unit, expected = self.join.time_unit, Unit.TICKS if self.left.ticks else Unit.MICROSECONDS
        if unit not in (Unit.EVENTS, expected):
            name, length = next(iter(self.join.lengths.items()))
            raise UnitError(
                name, str(length), f"in the unit of {self.left.time}: {self.left.time_type}",
                message=f"{name} is {length}, and the time column {self.left.time!r} is "
                f"{self.left.time_type}",
                hint=f"For this column write {expected.spelling}, for `{name}` and for delays.",
            )  # fmt: skip

    def _check_keys(self) -> None:
        if len(self.left.keys) != len(self.right.keys):
            raise ArgumentError(
                "key", [self.left.keys, self.right.keys], "as many columns on the left as on the right",
                hint="They are compared one by one; leave both out to join all with all.",
            )  # fmt: skip
        for left, right in zip(self.left.keys, self.right.keys, strict=True):
            if equality(left, right, self.schemas) is None:
                types = [str(self.left.schema.field(left).type), str(self.right.schema.field(right).type)]
                raise ArgumentError("key", types, f"columns of one type for {left} = {right}")

    def of(self, side: Side) -> BoundSide:
        return self.left if side is Side.LEFT else self.right

    @property
    def schemas(self) -> dict[Side, pa.Schema]:
        return {side: self.of(side).schema for side in Side}

    @property
    def keys(self) -> list[Equality]:
        pairs = zip(self.left.keys, self.right.keys, strict=True)
        return [found for pair in pairs if (found := equality(*pair, self.schemas)) is not None]


@dataclass(frozen=True)
class BoundJoin(BoundSides):
    """A join, the inputs that it reads, and the columns that it answers with."""

    join: IntervalJoin
    suffixes: tuple[str, str] = ("_left", "_right")
    prefixes: tuple[str, str] | None = None
    after: int = 0
    """How much later the output has a pair than the definition: one tick for J+."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.join.kept and self.join.within.length > FARTHEST:
            raise ArgumentError("within", str(self.join.within), "at most 2**61 for an outer join")
        carry_source(self.join.where)
        self._check_answer()
        names = self.output.names
        for name in names:
            if names.count(name) > 1:
                affixes = {"suffixes": self.suffixes, "prefixes": self.prefixes}
                argument = "suffixes" if self.prefixes is None else "prefixes"
                raise ArgumentError(
                    argument, affixes[argument], f"such that {name!r} names one column only"
                )

    def _check_answer(self) -> None:
        rows = f"rows with the columns left {self.left.schema.names} and right {self.right.schema.names}"
        if isinstance(self.tree, Constant):
            truth(self.tree.value, owner="the join", about=rows)
        for part in conjuncts(self.tree or TRUE):
            kind = kind_of_part(part, self.schemas)
            if kind not in (None, "bool"):
                raise PredicateError(
                    f"the predicate of the join must return True or False; {part} is of kind {kind!r}, "
                    f"for {rows}"
                )

    @cached_property
    def _traced(self) -> tuple[ExpressionNode | None, str]:
        if self.join.where is None:
            return TRUE, ""
        try:
            tree = trace(self.join.where, self.left.schema.names, self.right.schema.names)
        except Untraceable as reason:
            return None, str(reason)
        return tree, ""

    @property
    def tree(self) -> ExpressionNode | None:
        """The tree of the predicate; None where it cannot be traced."""
        return self._traced[0]

    @property
    def why_untraced(self) -> str:
        return self._traced[1]

    @cached_property
    def strategy(self) -> Strategy:
        return choose(self.keys, list(conjuncts(self.tree or TRUE)), self.schemas)

    @property
    def time_type(self) -> pa.DataType:
        """Of a pair's time: microseconds, or 64-bit ticks."""
        return pa.int64() if self.left.ticks else pa.timestamp("us", self.left.time_type.tz)

    def output_name(self, side: Side, name: str) -> str:
        if self.prefixes is not None:
            return self.prefixes[side is Side.RIGHT] + name
        taken = {TIME, *self.left.keys, *self.of(side.other).others}
        return name + self.suffixes[side is Side.RIGHT] if name in taken else name

    @cached_property
    def output(self) -> pa.Schema:
        fields = [self._key_field(key) for key in self.keys]
        fields.append(pa.field(TIME, self.time_type))
        for side in Side:
            schema, optional = self.schemas[side], side.other in self.join.kept
            for name in self.of(side).others:
                field = schema.field(name).with_name(self.output_name(side, name))
                fields.append(field.with_nullable(field.nullable or optional))
        return pa.schema([field.remove_metadata() for field in fields])

    def _key_field(self, key: Equality) -> pa.Field:
        fields = [self.schemas[side].field(key.name(side)) for side in Side]
        if Side.RIGHT not in self.join.kept:
            return fields[0]
        # It may be the key of either side.
        type_ = fields[0].type if fields[0].type == fields[1].type else key.type
        return pa.field(key.left, type_, nullable=any(field.nullable for field in fields))

    @property
    def kept(self) -> tuple[Side, ...]:
        """The sides whose rows are emitted also when they are in no pair."""
        return self.join.kept

    @property
    def placed_output(self) -> pa.Schema:
        """The output with the places of both rows, by which it can be put in order."""
        return with_places(self.output)

    order = (TIME, LEFT_PLACE, RIGHT_PLACE)
    """The columns that the placed output is sorted by, nulls last."""


def with_places(output: pa.Schema) -> pa.Schema:
    for name in (LEFT_PLACE, RIGHT_PLACE):
        output = output.append(pa.field(name, pa.int64()))
    return output
