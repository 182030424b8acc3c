"""Panes folded by Spark's generated code: a row of the input never reaches Python.

    rows ─▶ groupBy(keys, pane) with SQL aggregates ─▶ one row per key and pane: an element per aggregate

This is `Panes` with another fold: the rows that come out are those of `Panes.folded`, and whatever computes
a query over panes takes them. Where a pane is a window (tumbling), and every aggregate has its `lower` in
SQL, Spark computes the reports as well.

Panes are found by integer arithmetic, as in Python: start = τ − (τ − origin) mod length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F
from pyspark.sql.types import (
    ArrayType,
    AtomicType,
    DataType,
    DoubleType,
    FloatType,
    StringType,
    StructType,
    VariantType,
)

from sash.aggregation.monoid import Monoid
from sash.aggregation.sql_form import COUNT, SqlForm
from sash.operators.bound_query import REVISION, WINDOW, BoundQuery
from sash.operators.columns.arrow_columns import kind_of_type
from sash.operators.columns.times import FARTHEST
from sash.operators.folding.panes import Panes, clock_windows, pane_grid
from sash.runtimes.spark.packing import columns as by_position
from sash.runtimes.spark.packing.bucket_of_key_sql import key_hash
from sash.runtimes.spark.packing.columns import quoted
from sash.runtimes.spark.sql_folding.conditions_in_sql import condition_sql
from sash.runtimes.spark.sql_folding.numbers_in_sql import as_number, from_number
from sash.semantics.windows import TimeWindow

TIME, NEWEST, EVENTS = "__sash_time", "__sash_newest", "__sash_events"
LATE_ROW, LATE_NUMBER = "__sash_late", "__sash_late_number"


@dataclass(frozen=True)
class NativeFold:
    """A query whose panes Spark folds."""

    bound: BoundQuery
    length: int
    origin: int
    inputs: tuple[tuple[str, ...], ...]
    """What each aggregate's form is over: its input columns, null in rows that do not count."""

    @classmethod
    def of(cls, bound: BoundQuery, schema: StructType) -> NativeFold | str:
        """For a DataFrame of this schema; or the reason why Python folds."""
        grid = pane_grid(bound)
        if grid is None or not bound.aggregates:
            return "Spark's SQL folds only sliding, tumbling and cumulate windows"
        if as_number(bound.time, bound.time_type) is None:
            return f"{bound.time}: {bound.time_type} has no arithmetic in SQL"
        words = {
            *bound.keys,
            *(name for one in bound.aggregates.values() if one.where for name in one.where.columns),
        }
        for name in sorted(words):
            if (
                isinstance(schema[name].dataType, StringType)
                and schema[name].dataType.simpleString() != "string"
            ):
                return f"{name} is compared by a collation in SQL, and by its bytes in Python"
        inputs = []
        for name, monoid in bound.aggregates.items():
            found = _inputs(bound, monoid)
            if isinstance(found, str):
                return f"{name}: {found}"
            inputs.append(found)
        return cls(bound, *grid, tuple(inputs))

    @property
    def forms(self) -> list[SqlForm]:
        return [form for form in (_form(self.bound, one) for one in self.bound.aggregates.values()) if form]

    @property
    def window(self) -> TimeWindow | None:
        """The window that Spark computes wholly: the only one, which is a pane, of aggregates that SQL
        lowers, and reported only if it holds an event."""
        query = self.bound.query
        (window, *others) = clock_windows(self.bound)
        tumbling = isinstance(window, TimeWindow) and window.size == window.slide and not others
        if not tumbling or query.empty or not query.flush or any(form.lower is None for form in self.forms):
            return None
        return window if isinstance(window, TimeWindow) else None

    def windows(self, df: DataFrame, window: TimeWindow) -> DataFrame:
        """The reports of the query."""
        bound = self.bound
        since = f"({TIME} - {window.origin})"
        number = f"({since} - pmod({since}, {window.size})) div {window.size}"
        timed = df.where(F.expr(f"{quoted(bound.time)} IS NOT NULL"))
        grouped = self._grouped(timed, number)
        start = f"({window.origin} + pane * {window.size})"
        ends = [from_number(end, bound.bound_type) for end in (start, f"({start} + {window.size})")]
        output = [
            F.col(place).alias(key)
            for key, place in zip(bound.keys, by_position.places(bound.keys), strict=True)
        ]
        output.append(
            F.expr(f"named_struct('id', pane, 'start', {ends[0]}, 'end', {ends[1]})").alias(WINDOW)
        )
        for at, (name, form) in enumerate(zip(bound.aggregates, self.forms, strict=True)):
            value = form.lowered(_fields(at, form))
            output.append(F.expr(from_number(value, bound.output_type(name))).alias(name))
        if bound.query.revises:
            output.append(F.lit(0).cast("bigint").alias(REVISION))
        return grouped.select(*output)

    def panes(self, df: DataFrame, panes: Panes) -> DataFrame:
        """The rows of `panes.folded`; their time is a bigint."""
        timed = df.where(F.expr(f"{quoted(self.bound.time)} IS NOT NULL"))
        return self._elements(self._grouped(timed, self._start), panes, "pane")

    def arrived(
        self, df: DataFrame, panes: Panes, watermark: int, late_columns: Sequence[str] | None = None
    ) -> DataFrame:
        """The rows of `panes.folded` of a micro-batch, and how many events each holds (`EVENTS`).

        Their time is that of the newest event in them, a bigint: no earlier than the watermark, and in the
        pane. Events without a time, or behind the watermark, are in rows without a time. With
        `late_columns` each of these is a row of its own, with those columns of it (`LATE_ROW`) and its
        number (`LATE_NUMBER`): the stream is read once, and a row that is on time carries two nulls."""
        pane = f"CASE WHEN {TIME} >= {watermark} THEN {self._start} END"
        newest = F.expr(f"max(CASE WHEN {TIME} >= {watermark} THEN {TIME} END)").alias(NEWEST)
        carried = {}
        if late_columns is not None:
            late = f"NOT coalesce({self.time} >= {watermark}, false)"
            carried = {
                LATE_ROW: f"CASE WHEN {late} THEN {_late_row(df.schema, late_columns)} END",
                LATE_NUMBER: f"CASE WHEN {late} THEN monotonically_increasing_id() END",
            }
        grouped = self._grouped(df, pane, newest, F.count(F.lit(1)).alias(EVENTS), carried=carried)
        return self._elements(grouped, panes, NEWEST, EVENTS, *carried)

    def keys_and_times(self, df: DataFrame) -> DataFrame:
        """Of each row a number for its key, and its time: both bigint."""
        return df.selectExpr(f"bigint({key_hash(self.bound)})", self.time)

    @property
    def time(self) -> str:
        """Of a row of the input, as a number."""
        return str(as_number(quoted(self.bound.time), self.bound.time_type))

    @property
    def _start(self) -> str:
        return f"{TIME} - pmod({TIME} - {self.origin}, {self.length})"

    def _elements(self, grouped: DataFrame, panes: Panes, time: str, *others: str) -> DataFrame:
        fields = [field for at, form in enumerate(self.forms) for field in _fields(at, form)]
        typed = [from_number(field, part.type) for field, part in zip(fields, panes.parts, strict=True)]
        columns = zip(
            [*by_position.places(self.bound.keys), time, *typed], panes.folded.schema.names, strict=True
        )
        return grouped.selectExpr(*(f"{column} AS {quoted(name)}" for column, name in columns), *others)

    def _grouped(
        self, df: DataFrame, pane: str, *others: Column, carried: Mapping[str, str] | None = None
    ) -> DataFrame:
        """One row per key and pane: keys by position, `pane`, the fields of all elements, and `others`;
        one for each value of what is `carried`, by name, besides."""
        bound = self.bound
        rows = df.selectExpr(
            *by_position.placed(bound.keys),
            f"{_within_limits(self.time)} AS {TIME}",
            *(
                f"{column} AS {_input(at, n)}"
                for at, columns in enumerate(self.inputs)
                for n, column in enumerate(columns)
            ),
            *(f"{column} AS {name}" for name, column in (carried or {}).items()),
        )
        folds = [
            F.expr(fold).alias(field)
            for at, (form, columns) in enumerate(zip(self.forms, self.inputs, strict=True))
            for field, fold in zip(
                _fields(at, form), form.folded([_input(at, n) for n in range(len(columns))]), strict=True
            )
        ]
        keys = [F.col(place) for place in (*by_position.places(bound.keys), *(carried or ()))]
        return rows.groupBy(*keys, F.expr(pane).alias("pane")).agg(*folds, *others)


def carries_late(schema: StructType, columns: Sequence[str]) -> bool:
    """Whether these columns of a late row can go through a grouping, and be what they were. It makes one of
    0.0 and −0.0, for which plain columns become text; knows no maps; and compares words by collation."""
    return not any(_changes(schema[name].dataType, nested=False) for name in columns)


def _changes(type_: DataType, *, nested: bool) -> bool:
    if isinstance(type_, StructType):
        return any(_changes(field.dataType, nested=True) for field in type_)
    if isinstance(type_, ArrayType):
        return _changes(type_.elementType, nested=True)
    if isinstance(type_, StringType):
        return type_.simpleString() != "string"
    if isinstance(type_, VariantType) or not isinstance(type_, AtomicType):
        return True
    return nested and isinstance(type_, FloatType | DoubleType)


def _late_row(schema: StructType, columns: Sequence[str]) -> str:
    fields = []
    for name, place in zip(columns, by_position.places(columns), strict=True):
        floating = isinstance(schema[name].dataType, FloatType | DoubleType)
        fields.append(f"'{place}', {f'string({quoted(name)})' if floating else quoted(name)}")
    return f"named_struct({', '.join(fields)})"


def _form(bound: BoundQuery, monoid: Monoid) -> SqlForm | None:
    return monoid.bind(
        tuple(kind_of_type(bound.schema.field(column).type) for column in monoid.columns)
    ).sql


def _inputs(bound: BoundQuery, monoid: Monoid) -> tuple[str, ...] | str:
    """The input columns as numbers, null in rows that do not count; or why there are none."""
    form = _form(bound, monoid)
    if form is None:
        return f"{monoid} has no form in SQL"
    names = [quoted(name) for name in monoid.columns]
    counts = [f"{name} IS NOT NULL" for name in names]
    if monoid.where is not None:
        where = condition_sql(monoid.where, bound.schema)
        if where is None:
            return f"where={monoid.where} means something else in SQL"
        counts.append(where)
    if form is COUNT:
        return (f"CASE WHEN {' AND '.join(counts)} THEN 1 END" if counts else "1",)
    numbers = [
        as_number(name, bound.schema.field(column).type)
        for name, column in zip(names, monoid.columns, strict=True)
    ]
    if None in numbers:
        return f"a column of {monoid} is no number in SQL"
    if len(counts) == 1:
        return tuple(map(str, numbers))
    return tuple(f"CASE WHEN {' AND '.join(counts)} THEN {number} END" for number in numbers)


def _within_limits(time: str) -> str:
    message = "'sash.errors.DataError: times must lie within ±2**61; got '"
    refused = f"CAST(raise_error(concat({message}, {time})) AS BIGINT)"
    near = f"{time} BETWEEN -{FARTHEST} AND {FARTHEST}"
    return f"CASE WHEN {near} THEN {time} WHEN {time} IS NOT NULL THEN {refused} END"


def _input(aggregate: int, number: int) -> str:
    return f"in_{aggregate}_{number}"


def _fields(aggregate: int, form: SqlForm) -> list[str]:
    return [f"field_{aggregate}_{number}" for number in range(len(form.fold))]


__all__ = ["NativeFold"]
