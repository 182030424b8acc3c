"""Inputs that live in this process: Arrow tables, pandas and polars frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from sash.operators.answer import Answer
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundWhole
from sash.operators.bounded_input import answer
from sash.operators.folding.early_panes import Early
from sash.operators.folding.values import Evaluator, evaluated
from sash.operators.patterns.declared import KeyFarm, WinSeq, busy_workers, pane_workers
from sash.operators.patterns.evaluate import evaluator, interpreted_of, workers_of
from sash.operators.step_counter import watched
from sash.operators.threads import available_cores
from sash.planner.auto_declaration import AUTO, Auto, Parallelism
from sash.planner.costs.constants import costs
from sash.planner.facts import Facts
from sash.planner.plans.cheapest_pattern import Plan, make_plan
from sash.planner.plans.function_trial import TRIAL, TriedFirst
from sash.planner.plans.interpreted_trial import InterpretedFirst, interpreted_facts
from sash.planner.sampling import facts_of_table
from sash.runtimes.flat_window_columns import flat_table
from sash.runtimes.progress_bar import ProgressReading, shown


@dataclass(frozen=True)
class LocalSource:
    """A bounded input in memory. Answers have the form of the input: pandas in, pandas out."""

    table: pa.Table
    form: str = "arrow"
    parallelism: Parallelism = AUTO
    """Who computes the windows, or the wish that the planner decides."""

    bounded = True
    ends = True

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

    def to_publish(self, bound: BoundQuery, columns: Sequence[str]) -> pa.Table:
        return self.collect(bound).select(columns)

    def _answer(self, bound: BoundQuery, columns: list[str]) -> Answer:
        with watched() as steps, shown("windows", lambda: ProgressReading(steps.share)):
            evaluate, shares = self._workers(bound)
            rows, early = self.table.select(columns), self._early
            return answer(bound, rows, evaluate=evaluate, early=early, shares=shares, threads=self._threads)

    @property
    def _threads(self) -> int:
        """Who arranges events: all cores, or as many threads as a pattern has workers."""
        if isinstance(self.parallelism, Auto):
            return self.parallelism.cores or available_cores()
        return min(self.parallelism.workers, available_cores())

    @property
    def _early(self) -> Early | None:
        """Who folds panes before events are arranged: the workers of a pattern do, as all cores do where
        there is none."""
        if isinstance(self.parallelism, Auto):
            return Early(self.parallelism.cores or available_cores())
        workers = pane_workers(self.parallelism)
        return None if workers is None else Early(workers)

    def parallel(self, parallelism: Parallelism, bound: BoundQuery) -> LocalSource:
        return replace(self, parallelism=parallelism)

    def plan(self, bound: BoundQuery, *, only_raced: bool = False) -> Plan:
        facts = self._facts(bound)
        return make_plan(bound, facts, costs(), parallelism=self.parallelism, only_raced=only_raced)

    def _facts(self, bound: BoundQuery) -> Facts:
        known = self.parallelism if isinstance(self.parallelism, Auto) else AUTO
        cores = known.cores or available_cores()
        return Facts.of(bound, facts_of_table(bound, self.table, known), where="process", cores=cores)

    def _workers(self, bound: BoundQuery) -> tuple[Evaluator, int]:
        """Who computes the values of windows, and how many shares of the keys there are."""
        declared = None if isinstance(self.parallelism, Auto) else self.parallelism
        if isinstance(bound, BoundWhole):
            if declared is not None:
                return evaluator(declared), 1
            return TriedFirst(lambda: self._facts(bound), costs()), 1
        interpreted = interpreted_of(bound)
        if declared is None and interpreted and self._threads > 1:
            return self._tried(bound, alone=len(interpreted) == len(bound.aggregates)), 1
        pattern = self.plan(bound, only_raced=True).pattern if declared is None else declared
        assert pattern is not None  # buckets are Spark's
        processes = interpreted and busy_workers(pattern) > 1 and not isinstance(bound, BoundLatest)
        if isinstance(pattern, KeyFarm) and isinstance(pattern.held, WinSeq) and not processes:
            return evaluated, pattern.degree
        return evaluator(pattern), 1

    def _tried(self, bound: BoundQuery, *, alone: bool) -> InterpretedFirst:
        """What Python computes is tried first; `alone`: there is nothing else to be planned."""
        if alone:
            return InterpretedFirst(lambda: interpreted_facts(self._facts(bound), bound), costs())
        plan = self.plan(bound, only_raced=True)
        assert plan.pattern is not None
        return InterpretedFirst(lambda: interpreted_facts(plan.facts, bound), costs(), pattern=plan.pattern)

    def frame(self, reports: pa.Table) -> Any:
        """An answer in the form of the input."""
        return framed(reports, self.form)

    def dataframe(self, bound: BoundQuery) -> Any:
        return self.frame(self.collect(bound))

    def flat_dataframe(self, bound: BoundQuery) -> Any:
        return self.frame(flat_table(self.collect(bound)))

    def late_dataframe(self, bound: BoundQuery) -> Any:
        return self.frame(self.collect_late(bound))

    def stages(self, bound: BoundQuery, plan: Plan) -> list[str]:
        stages = ["group by key and sort", "windows: ranges of events"]
        early = self._early
        if early is not None and early.considers(bound, self.table.num_rows):
            first = "fold the events of each key and pane as they stand, if a pane has many, in"
            stages.insert(0, f"{first} {early.workers} threads; what follows is then about panes")
        if plan.facts.whole and not plan.forced and plan.facts.cores > 1:
            here = f"compute each window, here for the first {TRIAL:g} s; the rest in worker processes if"
            return [*stages, f"{here} that pays, which is known by then"]
        names = interpreted_of(bound)
        if names and not plan.forced and plan.facts.cores > 1:
            first = f"{', '.join(names)}, interpreted: the first windows here for {TRIAL:g} s, the rest in"
            stages.append(f"{first} worker processes if that pays, which is known by then")
            if len(names) == len(bound.aggregates):
                return stages
        processes = plan.forced and not isinstance(bound, BoundLatest)
        return [*stages, *workers_of(plan.pattern, bound, processes=processes)]


def framed(rows: pa.Table, form: str) -> Any:
    """Rows as a frame of the kind that went in."""
    if form == "pandas":
        return rows.to_pandas()
    if form == "polars":
        import polars

        return polars.from_arrow(rows)
    return rows


def _plain(table: pa.Table) -> pa.Table:
    """Without metadata, and with categories as their values: a category may be unused, or null."""
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))
