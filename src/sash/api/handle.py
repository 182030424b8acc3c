"""What every query can do, whatever it computes: windows, look-backs, joins, stateful operators."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from sash.api.head_rows import Head
from sash.api.hints_for_methods import SHOWN, Hinted
from sash.errors import ArgumentError, Unsupported
from sash.semantics.durations import DurationLike
from sash.semantics.expression import Side
from sash.wrong_calls import called_as

if TYPE_CHECKING:
    from sash.operators.elastic.declaration import Elastic
    from sash.runtimes.spark.sinks.protocol import Sink


_SHOW_STREAM = (
    "A stream has no first rows: use .start(lambda rows, batch: rows.show(), checkpoint='…'), or "
    ".dataframe().writeStream.format('console'). Of an iterator of tables: .batches()."
)


@dataclass(frozen=True)
class Launch:
    """How a query over a stream runs: the arguments of `start` besides the sink."""

    late: Sink | Mapping[str, Sink] | None
    checkpoint: str | PathLike[str]
    elastic: Elastic | None
    trigger: DurationLike | None
    name: str | None
    online: str | PathLike[str] | None = None

    def late_of_one_input(self) -> Sink | None:
        """For a query whose late rows have one form."""
        if isinstance(self.late, Mapping):
            raise ArgumentError("late", sorted(self.late), "one sink; only a join has one for each side")
        return self.late

    def late_of_sides(self) -> dict[Side, Sink]:
        """For a join."""
        if self.late is not None and not isinstance(self.late, Mapping):
            raise ArgumentError("late", self.late, "a sink for each side: {'left': …, 'right': …}")
        return {side_of(side): late for side, late in (self.late or {}).items()}


def side_of(name: str) -> Side:
    try:
        return Side(name)
    except ValueError:
        raise ArgumentError("side", name, "'left' or 'right'") from None


class QueryHandle(Hinted, ABC):
    """A query bound to its input. Nothing runs until `collect`, `head`, `dataframe` or `start`."""

    def collect(self) -> pa.Table:
        """All result rows over a bounded input, as an Arrow table, in order."""
        return self._collected()

    def head(self, rows: int = 10, /) -> Head:
        """The first result rows over a bounded input, to look at. The whole result is computed; on Spark
        only the first rows of each partition are collected."""
        return Head.of(self._first, rows)

    def dataframe(self) -> Any:
        """The result as the same kind of frame as the input: Spark for Spark, pandas for pandas."""
        return self._framed()

    @called_as(
        "start('folder', checkpoint='…')",
        {
            "checkpointLocation": "Write checkpoint='…'.",
            "checkpoint_location": "Write checkpoint='…'.",
            "outputMode": "When windows are emitted is declared before: .window(…, emit='close').",
            "output_mode": "When windows are emitted is declared before: .window(…, emit='close').",
            "format": "The sink has it: sash.sinks.folder('…', format='…'), or .table(…), .kafka(…).",
            "path": "The folder is the first argument: start('folder', checkpoint='…').",
            "sink": "It is a folder, a sash.sinks.…, or a function of a DataFrame and its batch number: "
            "start('folder', checkpoint='…').",
        },
    )
    def start(
        self,
        sink: Sink,
        *,
        late: Sink | Mapping[str, Sink] | None = None,
        checkpoint: str | PathLike[str] = "",
        elastic: Elastic | None = None,
        trigger: DurationLike | None = None,
        name: str | None = None,
        online: str | PathLike[str] | None = None,
    ) -> Any:
        """Run over streaming DataFrames until stopped; returns the handle of the running query.

        sink:    a folder for parquet files, a sash.sinks.…, or a function of a DataFrame and its batch
            number. The function is called for micro-batches with result rows; with emit="arrival", for all
            that have events.
        late:    a sink for events that are too late or cannot be placed, written in the same pass: each
            event is in the results or among these. For a join {"left": …, "right": …}, or one of them.
        checkpoint: required, the folder with the query's progress, from which a stopped query resumes.
        elastic: sash.Elastic(min=1, max=8): the range from which each micro-batch picks its number of
            tasks. Not given: one task per core, at most 64 or spark.sql.shuffle.partitions, and a single
            task for small micro-batches. A query whose state is in Spark's state store keeps the number of
            partitions with which its checkpoint began.
        trigger: how often a micro-batch starts ('5 seconds'), or 'available now' (also written
            available-now, available_now or availableNow): process what is there, then stop. 'once' does
            the same in a single micro-batch, whose windows close in the next run. Default: start a
            micro-batch as soon as there is data.
        name:    of the query, for Spark and the live page.
        online:  where to publish the features of `.rolling(…).agg(…)` by key, for `sash.online`:
            "redis://host:port/db" (with "#name" for several queries on one server), or a folder for LMDB.
        """
        require_unbounded(self._bounded)
        if not fspath(checkpoint):
            raise ArgumentError(
                "checkpoint", checkpoint, "a folder",
                hint="The query keeps its progress there and resumes from it: start(sink, checkpoint='…').",
            )  # fmt: skip
        if online is not None and not self._publishes:
            raise Unsupported("online", online, "used with .rolling(…).agg(…)")
        return self._started(sink, Launch(late, checkpoint, elastic, trigger, name, online))

    def explain(self, form: Literal["text", "plan", "json"] = "text", /) -> str:
        """What this query means, what it costs, what state it keeps, and what would be cheaper.

        "plan" adds how it will be computed and why: stages, and the plans that were considered with their
        estimated costs. These two, for people, are printed and returned, as a text that a session does not
        show again; "json", for programs, is only returned, with the keys that
        `sash.planner.explain.explanation` documents.
        """
        from sash.planner.explain.explanation_text import printed, require_form

        require_form(form)
        if form == "json":
            return self._as_json()
        return printed(self._as_plan() if form == "plan" else self._as_text())

    def _hint(self, kind: str, name: str) -> str:
        if name in SHOWN and not self._bounded:
            return _SHOW_STREAM
        return super()._hint(kind, name)

    # What differs

    @property
    def _publishes(self) -> bool:
        """Whether its answers can be read at request time."""
        return False

    @property
    @abstractmethod
    def _bounded(self) -> bool:
        """Whether the input has an end."""

    @abstractmethod
    def _collected(self) -> pa.Table: ...

    def _first(self, rows: int) -> tuple[pa.Table, int]:
        """The first rows, and how many there are."""
        answer = self.collect()
        return answer.slice(0, rows), answer.num_rows

    @abstractmethod
    def _framed(self) -> Any: ...

    @abstractmethod
    def _started(self, sink: Sink, launch: Launch) -> Any: ...

    @abstractmethod
    def _as_json(self) -> str: ...

    @abstractmethod
    def _as_text(self) -> str: ...

    def _as_plan(self) -> str:
        return self._as_text()


@dataclass(frozen=True)
class LateRows(QueryHandle):
    """The events of a bounded input that a query could not place; explained as the query itself."""

    query: QueryHandle

    @property
    def _bounded(self) -> bool:
        return self.query._bounded

    def _started(self, sink: Sink, launch: Launch) -> Any:
        raise AssertionError("late rows of a stream are written in the same pass as its answer")

    def _as_json(self) -> str:
        return self.query._as_json()

    def _as_text(self) -> str:
        return self.query._as_text()

    def _as_plan(self) -> str:
        return self.query._as_plan()


def require_bounded(bounded: bool) -> None:
    """For late events as an answer of their own."""
    if not bounded:
        raise Unsupported(
            "data", "a stream", "bounded for late()",
            message="late() needs a bounded input",
            hint="Late rows of a streaming DataFrame are written by start(sink, late=…); "
            "batches() returns those of an iterator of tables.",
        )  # fmt: skip


def require_unbounded(bounded: bool, *, call: str = "start()") -> None:
    """For what only a stream can do."""
    if bounded:
        raise Unsupported(
            "data", "a bounded input", f"a streaming DataFrame for {call}",
            message=f"{call} needs a streaming DataFrame",
            hint="For a bounded input use collect() or dataframe().",
        )  # fmt: skip
