"""Inputs that live in this process: Arrow tables, pandas and polars frames."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sash.operators.answer import Answer
from sash.operators.bound import BoundQuery
from sash.operators.bounded import answer
from sash.operators.patterns.declared import Pattern
from sash.operators.patterns.evaluate import evaluator, workers_of
from sash.operators.steps import watched
from sash.runtimes.progress import Reading, shown


@dataclass(frozen=True)
class LocalSource:
    """A bounded input in memory. Answers have the form of the input: pandas in, pandas out."""

    table: pa.Table
    form: str = "arrow"
    pattern: Pattern | None = None
    """Who computes the windows; None: this thread."""

    bounded = True

    @classmethod
    def of(cls, data: Any) -> LocalSource | None:
        """The source for `data`, or None when it is not of this process."""
        if isinstance(data, pa.RecordBatch):
            return cls(_plain(pa.Table.from_batches([data])))
        if isinstance(data, pa.Table):
            return cls(_plain(data))
        package = type(data).__module__.partition(".")[0]
        if package == "pandas" and hasattr(data, "iloc") and hasattr(data, "columns"):
            return cls(_plain(pa.Table.from_pandas(data, preserve_index=False)), "pandas")
        if package == "polars":
            return cls(_plain(data.lazy().collect().to_arrow()), "polars")
        return None

    @property
    def schema(self) -> pa.Schema:
        return self.table.schema

    def rows(self, columns: list[str]) -> pa.Table:
        """The events themselves, in order of arrival."""
        return self.table.select(columns)

    def collect(self, bound: BoundQuery) -> pa.Table:
        return self._answer(bound, bound.columns).reports

    def collect_late(self, bound: BoundQuery) -> pa.Table:
        return self._answer(bound, self.table.column_names).late

    def _answer(self, bound: BoundQuery, columns: list[str]) -> Answer:
        with watched() as steps, shown("windows", lambda: Reading(steps.share)):
            return answer(bound, self.table.select(columns), evaluate=evaluator(self.pattern))

    def parallel(self, pattern: Pattern | None, bound: BoundQuery) -> LocalSource:
        return replace(self, pattern=pattern)

    def frame(self, reports: pa.Table) -> Any:
        """An answer in the form of the input."""
        if self.form == "pandas":
            return reports.to_pandas()
        if self.form == "polars":
            import polars

            return polars.from_arrow(reports)
        return reports

    def dataframe(self, bound: BoundQuery) -> Any:
        return self.frame(self.collect(bound))

    def late_dataframe(self, bound: BoundQuery) -> Any:
        return self.frame(self.collect_late(bound))

    def stages(self, bound: BoundQuery) -> list[str]:
        return ["group by key and sort", "windows: ranges of events", *workers_of(self.pattern, bound)]


def _plain(table: pa.Table) -> pa.Table:
    """Without metadata, and with categories as their values: a category may be unused, or null."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
