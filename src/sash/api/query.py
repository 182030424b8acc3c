"""A query that knows its input: explain it, run it, or take it on as a DataFrame."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from sash.api.head import Head
from sash.api.source import Source
from sash.api.starting import start
from sash.api.why import NO_KEY, explain_window
from sash.display import tables
from sash.errors import Unsupported
from sash.operators.bound import BoundQuery
from sash.operators.patterns.allowed import require_allowed
from sash.operators.patterns.declared import Pattern
from sash.planner.auto import Auto, require_parallelism
from sash.planner.explain.explanation import Explanation
from sash.planner.explain.explanation_text import as_text, printed, require_form
from sash.planner.explain.notebook import Planned, parts_of
from sash.semantics.durations import DurationLike
from sash.semantics.run_as import as_engine
from sash.semantics.secret import Profile
from sash.semantics.why import Why

if TYPE_CHECKING:
    from sash.operators.elastic.declaration import Elastic
    from sash.runtimes.spark.streaming.sinks import Sink


@dataclass(frozen=True)
class WindowQuery:
    """Windows and aggregates over an input. Nothing runs until it is asked for."""

    source: Source
    bound: BoundQuery

    def __post_init__(self) -> None:
        if self.source.bounded and self.bound.query.emit.early:
            raise Unsupported(
                "emit", self.bound.query.emit.when.value, "'close' for a bounded input",
                hint="Early reports are of windows that are still open; here all input is there at once.",
            )  # fmt: skip

    def dataframe(self) -> Any:
        """The reports as a DataFrame of the kind that went in: Spark for Spark, pandas for pandas."""
        return self.source.dataframe(self.bound)

    def collect(self) -> pa.Table:
        """The reports of a bounded input as an Arrow table, in order."""
        return self.bound.ordered(self.source.collect(self.bound))

    def head(self, rows: int = 10, /) -> Head:
        """The first reports of a bounded input, to look at; all of them are computed."""
        return Head.of(self.collect, rows)

    def start(
        self,
        sink: Sink,
        *,
        checkpoint: str | PathLike[str],
        elastic: Elastic | None = None,
        trigger: DurationLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Run over a streaming DataFrame until it is stopped; answers with the handle of the running query.

        sink:    a folder of parquet files, or a function of a DataFrame and the number of its micro-batch.
        checkpoint: where Spark notes how far it has come, to go on from there after a stop.
        elastic: sash.Elastic(min=1, max=8), between how many tasks each micro-batch may choose. Without
            it Spark's settings decide, once and for all.
        trigger: how often a micro-batch begins ('5 seconds'), or 'available now': all that is there, then
            stop. As soon as there is data, when not given.
        """
        return start(
            self.source, self.bound, "reports", sink,
            checkpoint=checkpoint, elastic=elastic, trigger=trigger, name=name,
        )  # fmt: skip

    def semantics(self, engine: str | Profile) -> WindowQuery:
        """The same query, reported as that engine does; see `Windowed.semantics`."""
        return replace(self, bound=replace(self.bound, query=as_engine(self.bound.query, engine)))

    def parallel(self, pattern: Pattern | Auto | Literal["auto"], /) -> WindowQuery:
        """Compute the same answer with the workers of a pattern: `parallel(sash.WinFarm(4))`. With "auto"
        the planner chooses; `sash.Auto(hottest=0.9)` tells it what is known of the events."""
        asked = require_parallelism(pattern)
        if not isinstance(asked, Auto):
            require_allowed(asked, self.bound)
        return replace(self, source=self.source.parallel(asked, self.bound))

    def late(self) -> LateOutput:
        """The events that are in no window, each with the reason, as their own query."""
        return LateOutput(self.source, self.bound)

    def explain(self, form: Literal["text", "json"] = "text", /) -> str:
        """What this query means, how it will be computed and why, what it holds, what would be cheaper.

        "text", for people, is printed and returned; "json", for machines, is only returned, with the keys
        that `sash.planner.explain.explanation` documents.
        """
        require_form(form)
        said = self._explained()
        return said.as_json() if form == "json" else printed(as_text(said))

    def plan(self) -> Planned:
        """The same as an object, which notebooks show as tables."""
        return Planned(self._explained())

    def _explained(self) -> Explanation:
        plan = self.source.plan(self.bound)
        return Explanation.of(self.bound, plan, stages=self.source.stages(self.bound, plan))

    def explain_window(
        self,
        *,
        at: Any,
        key: Any = NO_KEY,
        as_of: int | None = None,
        events: Any = None,
        engines: str | Iterable[str] | None = None,
    ) -> Why:
        """Why the windows that hold an event were reported, or what they wait for.

        at:      the event's time; all events of the key at that time are told about.
        key:     whose event: a value, a tuple or a dict when several columns make the key. None is null.
        as_of:   only the first so many events have arrived, one by one, and the input has not ended. When
            it is not given, a bounded input is taken at once, as `collect()` takes it.
        events:  recorded events of a stream in order of arrival, replayed one by one; a query over a
            streaming DataFrame needs them.
        engines: the SECRET profiles to compare with; all when not given.
        """
        return explain_window(
            self.source, self.bound, at=at, key=key, as_of=as_of, events=events, engines=engines
        )

    def __repr__(self) -> str:
        windows = ", ".join(window.label for window in self.bound.query.windows)
        keys = f" by {', '.join(self.bound.keys)}" if self.bound.keys else ""
        return f"<sash query: {windows} over {self.bound.time}{keys} → {self._computed}>"

    def _repr_html_(self) -> str:
        """For notebooks: what it means, and how it will be computed."""
        return tables.block("query", parts_of(self._explained()))

    @property
    def _computed(self) -> str:
        """Names alone for whole windows, whose function may have none."""
        aggregates = self.bound.aggregates
        if not aggregates:
            return ", ".join(field.name for field in self.bound.values)
        return ", ".join(f"{name} = {one}" for name, one in aggregates.items())


@dataclass(frozen=True)
class LateOutput:
    """The events that a query could not place: the input columns, the window that refused, the reason."""

    source: Source
    bound: BoundQuery

    def dataframe(self) -> Any:
        return self.source.late_dataframe(self.bound)

    def collect(self) -> pa.Table:
        return self.source.collect_late(self.bound)

    def head(self, rows: int = 10, /) -> Head:
        """The first of them, to look at; all are looked for."""
        return Head.of(self.collect, rows)

    def __repr__(self) -> str:
        windows = ", ".join(window.label for window in self.bound.query.windows)
        return f"<sash late output: events that {windows} cannot place, each with the reason>"

    def start(
        self,
        sink: Sink,
        *,
        checkpoint: str | PathLike[str],
        elastic: Elastic | None = None,
        trigger: DurationLike | None = None,
        name: str | None = None,
    ) -> Any:
        """As `WindowQuery.start`: a query of its own, with a checkpoint of its own."""
        return start(
            self.source, self.bound, "late", sink,
            checkpoint=checkpoint, elastic=elastic, trigger=trigger, name=name,
        )  # fmt: skip
