"""A query bound to the columns of its input: what to read, what to check, what comes out.

Everything that can be refused is refused here, before any data moves. The result is frozen and travels to
executors as it is. What the columns of `.rolling` are called is here, too: `BoundRolling.feature`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc

from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, UnitError, UnknownColumn, Unsupported
from sash.operators.columns.arrow_columns import kind_of_type, require_key_type
from sash.operators.columns.times import require_time_type
from sash.operators.folding.whole_windows import WholeWindow
from sash.operators.late_rows import late_schema
from sash.semantics.durations import Unit
from sash.semantics.query import Query
from sash.semantics.window import PredicateWindow, Window

WINDOW, REVISION, UPDATED_AT = "window", "revision", "updated_at"


_OR_CONVERT = (
    ", or make timestamps of it: F.timestamp_seconds(…) in Spark, pd.to_datetime(…, unit='s') in pandas"
)
"""What else can be done about integers where durations were given."""


@dataclass(frozen=True)
class BoundQuery:
    """A query, the columns that it reads, and the types that it answers with."""

    query: Query
    schema: pa.Schema
    """Of the whole input."""
    time: str
    keys: tuple[str, ...]

    def __post_init__(self) -> None:
        self._check_column("time", self.time)
        timed = {name: at_time(one, self.schema, self.time) for name, one in self.aggregates.items()}
        if any(one.timed for one in self.aggregates.values()):
            # Frozen for its users; this is still construction.
            object.__setattr__(self, "query", replace(self.query, aggregates=timed))
        for key in self.keys:
            self._check_column("key", key)
            require_key_type(key, self.schema.field(key).type)
        self._check_time()
        for name, monoid in self.aggregates.items():
            require_inputs(name, monoid, self.schema)
        for window in self.query.windows:
            for column in window.columns:
                self._check_column(window.label, column)
                if window.over_numbers:
                    self._check_number(window.label, column)
        # An aggregate that cannot take its column's type is refused when the types are worked out.
        _require_different("agg", self.output.names)
        _require_different("data", self.late_output.names)

    def _check_column(self, argument: str, name: str) -> None:
        require_column(argument, name, self.schema)

    def _check_number(self, argument: str, name: str) -> None:
        type_ = self.schema.field(name).type
        if not (pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)):
            raise Unsupported(argument, f"{name}: {type_}", "over a column of numbers")

    def _check_time(self) -> None:
        unit = self.query.time_unit
        expected = Unit.MICROSECONDS if pa.types.is_timestamp(self.time_type) else Unit.TICKS
        require_time_type(self.time, self.time_type)
        if unit not in (Unit.EVENTS, expected):
            given, needed = unit.spelling, expected.spelling
            raise UnitError(
                "time", f"{self.time}: {self.time_type}", f"a column for {given}",
                message=f"windows and delays are {given}, and the time column {self.time!r} is "
                f"{self.time_type}",
                hint=f"For this column write {needed}{_OR_CONVERT if expected is Unit.TICKS else ''}.",
            )  # fmt: skip

    @property
    def aggregates(self) -> Mapping[str, Monoid]:
        """The query's, with their algebra: semantics knows them only from outside."""
        return cast(Mapping[str, Monoid], self.query.aggregates)

    @property
    def time_type(self) -> pa.DataType:
        return self.schema.field(self.time).type

    @property
    def columns(self) -> list[str]:
        """The input columns that the query reads. A predicate may look at any of them."""
        return self._read

    @property
    def _read(self) -> list[str]:
        if any(isinstance(window, PredicateWindow) for window in self.query.windows):
            return list(self.schema.names)
        wanted = {self.time, *self.keys}
        wanted.update(*(monoid.reads for monoid in self.aggregates.values()))
        wanted.update(*(window.columns for window in self.query.windows))
        return [name for name in self.schema.names if name in wanted]

    @property
    def keeps_reports(self) -> bool:
        """Whether a report is compared, by the content of its window, with the one before it."""
        return self.query.corrects or self.query.takes_late

    @property
    def takes_back(self) -> bool:
        """Whether windows are computed over events that are not final, and computed again later."""
        return self.query.corrects or self.query.takes_late

    @property
    def several_windows(self) -> bool:
        return len(self.query.windows) > 1

    @property
    def window_type(self) -> pa.StructType:
        name = [pa.field("name", pa.string())] if self.several_windows else []
        bound = self.bound_type
        return pa.struct([*name, ("id", pa.int64()), ("start", bound), ("end", bound)])

    @property
    def bound_type(self) -> pa.DataType:
        """Of a window's start and end: microseconds, or 64-bit ticks."""
        if pa.types.is_timestamp(self.time_type):
            return pa.timestamp("us", self.time_type.tz)
        return pa.int64()

    @cached_property
    def output(self) -> pa.Schema:
        """The keys, the window, the aggregates, and the revision where reports can be corrected."""
        fields = [self.schema.field(key) for key in self.keys]
        fields += [pa.field(WINDOW, self.window_type), *self.values]
        if self.query.revises:
            fields.append(pa.field(REVISION, pa.int64()))
        return pa.schema([field.remove_metadata() for field in fields])

    @cached_property
    def late_output(self) -> pa.Schema:
        """The input row, and why it is in no window."""
        return late_schema(self.schema, windows=True)

    @property
    def values(self) -> list[pa.Field]:
        """What is computed over each window."""
        return [pa.field(name, type_) for name, type_ in self._output_types.items()]

    def output_type(self, name: str) -> pa.DataType:
        """Of the values of an aggregate."""
        return self._output_types[name]

    @cached_property
    def _output_types(self) -> dict[str, pa.DataType]:
        return {name: self.result_type(monoid, name=name) for name, monoid in self.aggregates.items()}

    def result_type(self, monoid: Monoid, *, name: str = "") -> pa.DataType:
        """Of the monoid's values over this input; `name`: of its column, for errors."""
        types = tuple(self.schema.field(column).type for column in monoid.columns)
        return result_type(monoid, types, name=name)

    def ordered(self, reports: pa.Table) -> pa.Table:
        """Rows by key, then by window as the query names them, then by identifier and revision."""
        window = reports[WINDOW].combine_chunks()
        columns = [reports[key] for key in self.keys]
        if self.several_windows:
            names = pa.array([window.label for window in self.query.windows])
            columns.append(pc.index_in(window.field("name"), value_set=names))
        columns.append(window.field("id"))
        if self.query.revises:
            columns.append(reports[REVISION])
        return _sorted_by(columns, reports)


@dataclass(frozen=True)
class BoundToAllColumns(BoundQuery):
    """A query that keeps every column of its input, because rows leave it as they came: look-backs, rows
    for a function, and events that wait and may turn out to be in no window."""

    @property
    def columns(self) -> list[str]:
        return list(self.schema.names)


@dataclass(frozen=True)
class BoundWhole(BoundToAllColumns):
    """Every window as a whole, handed to a user's function."""

    computation: WholeWindow

    @property
    def values(self) -> list[pa.Field]:
        return list(self.computation.schema)


@dataclass(frozen=True)
class BoundRolling(BoundToAllColumns):
    """One row for every event: its own columns, every aggregate over every look-back, and the revision of
    a row that is emitted on arrival."""

    @property
    def keeps_reports(self) -> bool:
        """A row is known by its event, and not by the number of a window."""
        return False

    @cached_property
    def output(self) -> pa.Schema:
        fields = [*self.schema, *self.features]
        if self.query.revises:
            fields.append(pa.field(REVISION, pa.int64()))
        return pa.schema([field.remove_metadata() for field in fields])

    @property
    def features(self) -> list[pa.Field]:
        """Every aggregate over every look-back."""
        return [
            pa.field(self.feature(name, window), self.result_type(monoid, name=name))
            for window in self.query.windows
            for name, monoid in self.aggregates.items()
        ]

    def feature(self, name: str, window: Window) -> str:
        """The output column of an aggregate over a look-back: n_5_minutes."""
        return f"{name}_{window.label}"

    def ordered(self, reports: pa.Table) -> pa.Table:
        """Rows by key, then by time; events of one time in the order in which they came."""
        return _sorted_by([reports[name] for name in (*self.keys, self.time)], reports)


@dataclass(frozen=True)
class BoundLatest(BoundRolling):
    """One row for every key whose row has changed: every aggregate over every look-back, and the instant
    that it holds for."""

    @property
    def columns(self) -> list[str]:
        return self._read

    @property
    def takes_back(self) -> bool:
        return self.query.allowed_lateness.length > 0

    @cached_property
    def output(self) -> pa.Schema:
        keys = [self.schema.field(key) for key in self.keys]
        fields = [*keys, *self.features, pa.field(UPDATED_AT, self.bound_type)]
        return pa.schema([field.remove_metadata() for field in fields])

    def ordered(self, reports: pa.Table) -> pa.Table:
        """Rows by key."""
        return _sorted_by([reports[name] for name in self.keys], reports) if self.keys else reports


def at_time(monoid: Monoid, schema: pa.Schema, time: str) -> Monoid:
    """An aggregate that reads the time of events, over this time column; any other as it is."""
    type_ = schema.field(time).type
    if pa.types.is_timestamp(type_):
        return monoid.at(time, _PER_SECOND[type_.unit])
    # Any other column is no time, and refused as such.
    return monoid.at(time, None) if pa.types.is_integer(type_) else monoid


_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _sorted_by(columns: list[Any], table: pa.Table) -> pa.Table:
    if _are_sorted(columns):
        return table
    names = [f"by{position}" for position in range(len(columns))]
    order = pc.sort_indices(pa.table(columns, names), [(name, "ascending") for name in names])
    return table.take(order)


def _are_sorted(columns: list[Any]) -> bool:
    """Whether rows stand in the order of these columns, which have no nulls. Far cheaper than to sort."""
    tied: Any = None
    for column in columns:
        if column.null_count:
            return False
        before, after = column.slice(0, max(len(column) - 1, 0)), column.slice(1)
        right = pc.less_equal(before, after)
        if not pc.all(right if tied is None else pc.or_(pc.invert(tied), right)).as_py():
            return False
        equal = pc.equal(before, after)
        tied = equal if tied is None else pc.and_(tied, equal)
    return True


def require_column(argument: str, name: str, schema: pa.Schema, *, use: str = "") -> None:
    """UnknownColumn unless the input has it; `use`: what reads it."""
    if name not in schema.names:
        raise UnknownColumn(argument, name, schema.names, use=use)


def require_inputs(name: str, monoid: Monoid, schema: pa.Schema) -> None:
    """UnknownColumn unless the input has all columns that the aggregate of this name reads."""
    for column in monoid.reads:
        require_column(name, column, schema, use=as_written(name, monoid))


def as_written(name: str, monoid: Monoid) -> str:
    """An aggregate with the name of its column, as it is in a pipeline file, or about so in Python."""
    condition = [] if monoid.where is None else [f"where={str(monoid.where)!r}"]
    inputs = ", ".join([*map(repr, monoid.columns), *condition])
    return f"{name} = {monoid.written!r}" if monoid.written else f"{name} = {monoid.name}({inputs})"


def _require_different(argument: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ArgumentError(
                argument, name, "a name that no other output column has",
                message=f"{argument}: the output already has a column {name!r}; choose another name",
            )  # fmt: skip


def result_type(monoid: Monoid, types: tuple[pa.DataType, ...], *, name: str = "") -> pa.DataType:
    """The Arrow type of an aggregate's values: what the monoid declares, or what it answers for ones. An
    error begins with the aggregate as it was written, where it has a name."""
    try:
        return _result_type(monoid, types)
    except ArgumentError as error:
        if name:
            error.args = (f"{as_written(name, monoid)}: {error}",)
        raise


def _result_type(monoid: Monoid, types: tuple[pa.DataType, ...]) -> pa.DataType:
    if monoid.result is not None:
        return monoid.result(types)
    ones = [_ONE.get(kind_of_type(type_)) for type_ in types]
    if None in ones:
        raise Unsupported(
            monoid.name, [str(type_) for type_ in types], "given numbers, or a result type",
            hint="Declare what it returns: @sash.monoid(result=pa.string()).",
        )  # fmt: skip
    return pa.array([monoid.lower(monoid.lift(*ones))]).type


_ONE = {"int": 1, "float": 1.0, "bool": True}
