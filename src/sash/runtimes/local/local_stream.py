"""An input without an end in this process: an iterator of tables, each of them a micro-batch.

    table ──▶ judge by the watermark ──▶ window operator ──▶ the reports and late rows of this table

The same operator as on Spark, and the answers of `semantics.reference` for the same batches. When the
iterator ends, the input has ended, which closes the windows that are open. State lives in this process and
goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NoReturn, TypeAlias

import numpy as np
import pyarrow as pa

from sash.errors import ArgumentError, Unsupported
from sash.operators.answer import Answer
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.times import from_integers, to_integers
from sash.operators.engine import operator_of, with_late_columns
from sash.planner.auto_declaration import AUTO, Auto, Parallelism
from sash.planner.costs.constants import costs
from sash.planner.facts import Facts
from sash.planner.plans.cheapest_pattern import Plan, make_plan
from sash.planner.sampling import assumed
from sash.runtimes.flat_window_columns import flat_table
from sash.runtimes.local.local_source import LocalSource, framed
from sash.semantics.durations import Duration
from sash.semantics.watermark import Watermark


@dataclass(frozen=True)
class BatchResult:
    """The output for one table of the input, in the form of the input: pandas in, pandas out."""

    number: int
    """Of the table, from 0 on; the result of the end of the input has the next one."""
    reports: Any
    late: Any
    """Events of this table, or of an earlier one, that are in no window, each with the reason."""
    watermark: Any
    """No event before this time is expected any more; None before the first event."""


TableFunction: TypeAlias = Callable[[pa.Table], pa.Table]
"""What becomes of each table before the query sees it."""


def _unchanged(table: pa.Table) -> pa.Table:
    return table


class Tables:
    """Tables of one schema, which the first one has; it is read at once, the others when they are due."""

    def __init__(self, data: Iterator[Any] | Sequence[Any]) -> None:
        given = iter(data)
        item = next(given, None)
        if item is None:
            raise ArgumentError("data", "an iterator without tables", "tables, the first with the schema")
        first = _source(item, 0)
        self.schema, self.form = first.schema, first.form
        self._data: Iterable[Any] | None = (
            data if isinstance(data, Sequence) else chain([first.table], given)
        )

    def __iter__(self) -> Iterator[pa.Table]:
        data = self._data
        if data is None:
            raise ArgumentError(
                "data", "an iterator that has been read", "one that was not, or a list of tables"
            )
        self._data = data if isinstance(data, Sequence) else None
        return (self._checked(item, number) for number, item in enumerate(data))

    def _checked(self, item: Any, number: int) -> pa.Table:
        table = _source(item, number).table
        if table.schema.names != self.schema.names:
            found, wanted = table.schema.names, self.schema.names
            raise ArgumentError(f"data, table {number}", found, f"with the columns {wanted}")
        try:
            return table.cast(self.schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            wanted = f"of the first table's types ({error})"
            raise ArgumentError(f"data, table {number}", str(table.schema), wanted) from None


def _source(item: Any, number: int) -> LocalSource:
    source = LocalSource.of(item)
    if source is None:
        expected = "an Arrow table, or a pandas or polars frame"
        raise ArgumentError(f"data, table {number}", type(item).__name__, expected)
    return source


@dataclass(frozen=True)
class LocalStream:
    """Tables that come one after the other."""

    tables: Tables
    schema: pa.Schema
    prepared: TableFunction = _unchanged

    bounded = False
    ends = True

    @classmethod
    def of(cls, data: Any) -> LocalStream | None:
        """The source for an iterator or a list of tables; None when it is something else."""
        if not isinstance(data, Iterator | list | tuple):
            return None
        tables = Tables(data)
        return cls(tables, tables.schema)

    def then(self, prepared: TableFunction) -> LocalStream:
        """The same with other columns: `prepared` makes them, for each table."""
        before = self.prepared
        return LocalStream(
            self.tables, prepared(self.schema.empty_table()).schema, lambda table: prepared(before(table))
        )

    def batches(self, bound: BoundQuery, *, flat: bool) -> Iterator[BatchResult]:
        """The result of each table, and at the end that of the end."""
        tables = iter(self.tables)  # here, so that an iterator that has been read is refused at once

        def results() -> Iterator[BatchResult]:
            for number, (answer, watermark) in enumerate(self._answers(bound, tables)):
                reports = bound.ordered(answer.reports)
                shaped = flat_table(reports) if flat else reports
                yield BatchResult(number, self._frame(shaped), self._frame(answer.late), watermark)

        return results()

    def _answers(self, bound: BoundQuery, tables: Iterator[pa.Table]) -> Iterator[tuple[Answer, Any]]:
        run = StreamRun(bound)
        for table in tables:
            yield run.take(self.prepared(table)), run.watermark
        if bound.query.flush:
            yield run.end(), run.watermark

    def collect(self, bound: BoundQuery) -> pa.Table:
        """All reports, of an iterator that ends."""
        answers = self._answers(bound, iter(self.tables))
        return pa.concat_tables([bound.output.empty_table(), *(answer.reports for answer, _ in answers)])

    def dataframe(self, bound: BoundQuery) -> Any:
        return self._frame(self.collect(bound))

    def flat_dataframe(self, bound: BoundQuery) -> Any:
        return self._frame(flat_table(self.collect(bound)))

    def _frame(self, rows: pa.Table) -> Any:
        return framed(rows, self.tables.form)

    def plan(self, bound: BoundQuery) -> Plan:
        facts = Facts.of(bound, assumed(bound, AUTO), where="process streaming", cores=1)
        return make_plan(bound, facts, costs(), parallelism=Auto(cores=1))

    def parallel(self, parallelism: Parallelism, bound: BoundQuery) -> LocalStream:
        if isinstance(parallelism, Auto) and parallelism.cores in (None, 1):
            return self
        raise Unsupported(
            "parallel", str(parallelism), "left out for an iterator of tables",
            hint="One process keeps its windows. A table as a whole, and Spark, take patterns.",
        )  # fmt: skip

    def idle_after(self, idle: Duration) -> NoReturn:
        raise Unsupported(
            "idle", str(idle), "left out for an iterator of tables",
            hint="Time advances with its events.",
        )  # fmt: skip

    def by_clock(self) -> NoReturn:
        raise Unsupported("decay", "clock", "'watermark' for an iterator of tables")

    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]:
        return [
            f"each table is a micro-batch; watermark: a delay of {bound.query.delay}",
            "window and fold in this process, in memory",
        ]


class StreamRun:
    """One run of a query: its operator, and how far event time has come."""

    def __init__(self, bound: BoundQuery) -> None:
        self._bound = bound = with_late_columns(bound)
        self._chunks: dict[int, bytes] = {}
        self._operator = operator_of(bound).load(bound, None, self._chunks)
        self._clock = Watermark(delay=bound.query.delay.length)

    @property
    def watermark(self) -> Any:
        """A time of the kind that the time column has."""
        if self._clock.value is None:
            return None
        return from_integers(np.array([self._clock.value]), self._bound.bound_type)[0].as_py()

    def take(self, table: pa.Table) -> Answer:
        """What a table brings."""
        late = self._operator.insert(table, np.arange(table.num_rows))
        times = to_integers(table[self._bound.time].drop_null())
        if len(times):
            self._clock.observe([int(times.max())])
        if self._clock.value is None:
            return Answer(self._bound.output.empty_table(), late)
        answer = self._operator.advance(self._clock.value)
        self._keep()
        # Where the operator finds late rows by itself, it has all columns: see `with_late_columns`.
        return replace(answer, late=pa.concat_tables([late, answer.late]) if len(answer.late) else late)

    def end(self) -> Answer:
        """What the end of the input closes."""
        answer = self._operator.advance(self._clock.value or 0, flush=True)
        return answer if len(answer.late) else replace(answer, late=self._bound.late_output.empty_table())

    def _keep(self) -> None:
        """The journal of the operator, from which it builds its arena again when most of that is dead."""
        saved = self._operator.save()
        saved.put_into(self._chunks)
        self._operator.resume(saved.header, self._chunks)
