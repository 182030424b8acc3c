"""A stream cut into windows, waiting for `.agg(…)`, `.apply(…)` or `.fold(…)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Never

import pyarrow as pa

from sash.aggregation import built_in
from sash.aggregation.define import Definition
from sash.aggregation.monoid import Monoid
from sash.api.hints_for_methods import Hinted
from sash.api.window_query import WindowQuery
from sash.errors import ArgumentError, Unsupported
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundWhole
from sash.operators.folding.whole_windows import Apply, Fold, WholeWindow
from sash.operators.patterns.declared import Pattern
from sash.planner.auto_declaration import AUTO, Auto, Parallelism, require_parallelism
from sash.runtimes import ddl
from sash.semantics.event import Row
from sash.semantics.predicate import require_callable
from sash.semantics.query import Query
from sash.semantics.run_as_engine import as_engine
from sash.semantics.secret import Profile
from sash.wrong_calls import called_as

if TYPE_CHECKING:
    from sash.api.stream import Stream


@dataclass(frozen=True)
class Windowed(Hinted):
    """A stream cut into windows, waiting for what to compute over them."""

    stream: Stream
    query: Query
    bind: type[BoundQuery] = BoundQuery
    pattern: Parallelism = AUTO

    def __repr__(self) -> str:
        windows = ", ".join(window.name or window.written for window in self.query.windows)
        return f"<sash windows: {windows} of {self.stream!r}, waiting for .agg, .apply or .fold>"

    def parallel(self, pattern: Pattern | Auto | int | Literal["auto"], /) -> Windowed:
        """Compute the windows with the workers of a pattern. An aggregate that the pattern cannot compute
        raises an error."""
        return replace(self, pattern=require_parallelism(pattern))

    def semantics(self, engine: str | Profile) -> Windowed:
        """Emit what that engine would: `semantics("flink")`, or any other profile of `sash.secret`.

        For the engines of the papers that is what `sash.secret.simulate` returns for each key's events.
        Current engines have one watermark for all keys, and the end of a bounded input closes open windows.
        """
        return replace(self, query=as_engine(self.query, engine))

    def agg(self, *unnamed: Never, **aggregates: Monoid) -> WindowQuery:
        """One output column for each aggregate: `agg(n=sash.count(), total=sash.sum("price"))`."""
        if unnamed:
            raise ArgumentError(
                "agg", unnamed[0], "given aggregates with the names of their columns",
                hint="For example .agg(n=sash.count()).",
            )  # fmt: skip
        if not aggregates:
            raise ArgumentError("agg", {}, "given at least one aggregate, such as n=sash.count()")
        for name, monoid in aggregates.items():
            if not isinstance(monoid, Monoid):
                raise _no_aggregate(name, monoid)
        query = replace(self.query, aggregates=aggregates)
        return self._answered(self.bind(query, *self._input))

    @called_as("apply(fn, schema='slope double, n bigint')", first=lambda self: self._require_whole())
    def apply(self, fn: Callable[[pa.Table], Any], *, schema: str | pa.Schema) -> WindowQuery:
        """Call `fn(pyarrow.Table)` with the rows of every window. It returns a dict (one row), a list of
        dicts or a table, with the columns of `schema` ('slope double, n bigint'). A stream keeps all rows
        of its open windows."""
        self._require_whole()
        require_callable(fn, "fn", "lambda events: {'n': events.num_rows}")
        return self._whole(Apply(fn, ddl.parse(schema)))

    @called_as("fold(init, step, schema='total double')", first=lambda self: self._require_whole())
    def fold(self, init: Any, step: Callable[[Any, Row], Any], *, schema: str | pa.Schema) -> WindowQuery:
        """Go through every window event by event: `step(accumulator, row)` returns the next accumulator.
        The first one is `init` (or `init()`), the last one is the result: a value, a tuple in the order of
        `schema`, or a dict. For session, threshold and punctuated windows, a stream keeps only the
        accumulator if it is made of numbers, text, dates, and lists, tuples and dicts of them; otherwise it
        keeps the rows."""
        self._require_whole()
        require_callable(step, "step", "lambda total, row: total + row.x")
        return self._whole(Fold(init, step, ddl.parse(schema)))

    def _require_whole(self) -> None:
        if self.bind is not BoundQuery:
            hint = ""  # no window kind has one row per key
            if self._called == "rolling":
                hint = "For whole windows of every event use .window(sash.slide_by_tuple(lookback, 1))."
            raise Unsupported(
                self._called, "apply or fold", "used with agg",
                message=f"{self._called}() supports only .agg()", hint=hint,
            )  # fmt: skip

    def _whole(self, computation: WholeWindow) -> WindowQuery:
        return self._answered(BoundWhole(self.query, *self._input, computation))

    def _answered(self, bound: BoundQuery) -> WindowQuery:
        return WindowQuery(self.stream.source, bound).parallel(self.pattern)

    @property
    def _called(self) -> str:
        """The method of the stream that made this."""
        if self.bind is BoundQuery:
            return "window"
        return "latest" if self.bind is BoundLatest else "rolling"

    def _hint(self, kind: str, name: str) -> str:
        if name not in ("window", "rolling", "latest"):
            return super()._hint(kind, name)
        if name == self._called:
            return f"{name}() takes several of them in one call: .{name}(a, b)."
        supported = ".agg(), .apply() and .fold()" if self._called == "window" else ".agg()"
        what = "windows" if name == "window" else "look-backs"
        return f"{self._called}() supports only {supported}; {what} go to .{name}(…) of the stream."

    @property
    def _input(self) -> tuple[pa.Schema, str, tuple[str, ...]]:
        return self.stream.source.schema, self.stream.time, self.stream.keys


def _no_aggregate(name: str, given: Any) -> ArgumentError:
    hint = ""
    if isinstance(given, Definition):
        columns = ", ".join(f"'{column}'" for column in given.parameters or ("column",))
        hint = f"It lacks the names of its columns: {given.name}({columns})."
    elif isinstance(given, str) and given.isidentifier() and given in built_in.__all__:
        hint = f"In Python that is sash.{given}(…)."
    elif type(given).__name__ == "Column":
        hint = "Aggregates are those of sash, not of pyspark.sql.functions or polars."
    return ArgumentError(name, given, "an aggregate such as sash.sum('price')", hint=hint)
