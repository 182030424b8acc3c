"""Windows and aggregates over an input: `sash.stream(…).window(…).agg(…)` and `.rolling(…).agg(…)`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, cast

import pyarrow as pa

from sash.api.handle import LateRows, Launch, QueryHandle, require_bounded
from sash.api.runtime_of_input import Bounded, FirstRows, Source
from sash.display import tables
from sash.errors import ArgumentError, Unsupported
from sash.operators.bound_query import BoundLatest, BoundQuery, BoundRolling
from sash.operators.patterns.allowed import require_allowed
from sash.operators.patterns.declared import Pattern
from sash.planner.auto_declaration import Auto, require_parallelism
from sash.runtimes.flat_window_columns import flat_schema, flat_table
from sash.runtimes.local.local_stream import BatchResult, LocalStream
from sash.semantics.run_as_engine import as_engine
from sash.semantics.secret import Profile

if TYPE_CHECKING:  # what a first query does not need is imported where it is used
    from sash.planner.explain.explanation import Explanation
    from sash.planner.explain.notebook import Planned
    from sash.runtimes.spark.sinks.protocol import Sink
    from sash.semantics.why import Why


@dataclass(frozen=True)
class WindowQuery(QueryHandle):
    """Windows, or look-backs from every event, with what is computed over them."""

    source: Source
    bound: BoundQuery
    plain: bool = False
    """Whether windows are columns of their own instead of a struct."""

    def __post_init__(self) -> None:
        rolling = isinstance(self.bound, BoundRolling)  # its rows are events, which are all there
        if self.source.bounded and self.bound.query.emit.early and not rolling:
            raise Unsupported(
                "emit", self.bound.query.emit.when.value, "'close' for a bounded input",
                hint="Early reports are of windows that are still open; here all input is there at once.",
            )  # fmt: skip

    def semantics(self, engine: str | Profile) -> WindowQuery:
        """The same query, reported as that engine does; see `Windowed.semantics`."""
        return replace(self, bound=replace(self.bound, query=as_engine(self.bound.query, engine)))

    def parallel(self, pattern: Pattern | Auto | int | Literal["auto"], /) -> WindowQuery:
        """Compute the same answer with a number of workers, `parallel(4)`, or with those of a pattern,
        `parallel(sash.WinFarm(4))`. With a number or "auto" the planner chooses the pattern;
        `sash.Auto(hottest=0.9)` also gives it what is known of the events."""
        chosen = require_parallelism(pattern)
        if not isinstance(chosen, Auto):
            require_allowed(chosen, self.bound)
        return replace(self, source=self.source.parallel(chosen, self.bound))

    def flat(self) -> WindowQuery:
        """The same query with plain columns `window_id`, `window_start` and `window_end` (and, of several
        windows, `window_name`) in the place of the struct `window`. Look-backs have none."""
        if isinstance(self.bound, BoundRolling):
            return self
        names = flat_schema(self.bound)
        for name in names:
            if names.count(name) > 1:
                raise ArgumentError("agg", name, "another name with flat(), which has a column of this one")
        return replace(self, plain=True)

    def late(self) -> LateOutput:
        """The events of a bounded input that are in no window, each with the reason. Those of a stream are
        written by `start(sink, late=…)`, in the same pass as the reports."""
        require_bounded(self.source.bounded)
        return LateOutput(self)

    def batches(self) -> Iterator[BatchResult]:
        """Run over an iterator of tables, in this process: one result per table, with its reports, its late
        rows and the watermark after it, and a last one when the iterator ends."""
        if not isinstance(self.source, LocalStream):
            raise Unsupported(
                "batches", "a bounded input" if self.source.bounded else "a streaming DataFrame",
                "used with an iterator of tables",
                hint="collect() computes what has an end, start() runs over a streaming DataFrame.",
            )  # fmt: skip
        return self.source.batches(self.bound, flat=self.plain)

    def publish(self, online: str | PathLike[str]) -> None:
        """Publish the look-backs of a bounded input, for `sash.online` to read. A stream that is started
        with a new checkpoint and the same `online` continues from there: let it begin where this input
        ends. Of a DataFrame the events are brought to this process, without columns that no feature reads.
        """
        from sash.serving.publisher import Publisher

        if not self.source.bounded:
            what, way = "a streaming DataFrame", "A stream is published while it runs"
            if isinstance(self.source, LocalStream):
                what, way = (
                    "an iterator of tables",
                    "Make one table of them, or publish a streaming DataFrame",
                )
            raise Unsupported("data", what, "bounded for publish()", hint=f"{way}: start(sink, online=…).")
        publisher = Publisher.of(self.bound, online)
        rows = cast(Bounded, self.source).to_publish(self.bound, publisher.columns)
        publisher.publish_history(self.bound.ordered(rows))

    def plan(self) -> Planned:
        """What `explain` prints as an object, which notebooks show as tables."""
        from sash.planner.explain.notebook import Planned

        return Planned(self._explained())

    def _explained(self) -> Explanation:
        from sash.planner.explain.explanation import Explanation

        plan = self.source.plan(self.bound)
        return Explanation.of(self.bound, plan, stages=self.source.stages(self.bound, plan))

    def explain_window(
        self,
        *,
        at: Any,
        key: Any = ...,
        as_of: int | None = None,
        events: Any = None,
        engines: str | Iterable[str] | None = None,
    ) -> Why:
        """Why the windows that hold an event were reported, or what they wait for.

        at:      the event's time; all events of the key at that time are explained.
        key:     whose event: a value, a tuple or a dict when several columns make the key. None is null.
        as_of:   only the first so many events have arrived, one by one, and the input has not ended. When
            it is not given, a bounded input is taken at once, as `collect()` takes it.
        events:  recorded events of a stream in order of arrival, replayed one by one; a query over a
            streaming DataFrame needs them.
        engines: the SECRET profiles to compare with; all when not given.
        """
        from sash.api.explain_window import explain_window

        if isinstance(self.bound, BoundLatest):
            raise Unsupported(
                "explain_window", "latest", "of windows", hint="A key has one row, and none waits."
            )
        return explain_window(
            self.source, self.bound, at=at, key=key, as_of=as_of, events=events, engines=engines
        )

    def __repr__(self) -> str:
        windows = ", ".join(window.name or window.written for window in self.bound.query.windows)
        if isinstance(self.bound, BoundRolling):  # labels are the ends of column names
            kind = "latest" if isinstance(self.bound, BoundLatest) else "rolling"
            windows = f"{kind} {windows.replace('_', ' ')}"
        keys = f" by {', '.join(self.bound.keys)}" if self.bound.keys else ""
        return f"<sash query: {windows} over {self.bound.time}{keys} → {self._computed}>"

    def _repr_html_(self) -> str:
        """For notebooks: what it means, and how it will be computed."""
        from sash.planner.explain.notebook import html_of_plan

        return tables.block("query", html_of_plan(self._explained()))

    @property
    def _computed(self) -> str:
        """Names alone for whole windows, whose function may have none."""
        aggregates = self.bound.aggregates
        if not aggregates:
            return ", ".join(field.name for field in self.bound.values)
        return ", ".join(f"{name} = {one}" for name, one in aggregates.items())

    @property
    def _publishes(self) -> bool:
        return isinstance(self.bound, BoundRolling)

    @property
    def _bounded(self) -> bool:
        return self.source.bounded

    def _collected(self) -> pa.Table:
        reports = self.bound.ordered(self.source.collect(self.bound))
        return flat_table(reports) if self.plain else reports

    def _first(self, rows: int) -> tuple[pa.Table, int]:
        if not isinstance(self.source, FirstRows):
            return super()._first(rows)
        reports, total = self.source.first(self.bound, rows)
        return flat_table(reports) if self.plain else reports, total

    def _framed(self) -> Any:
        return self.source.flat_dataframe(self.bound) if self.plain else self.source.dataframe(self.bound)

    def _started(self, sink: Sink, launch: Launch) -> Any:
        if isinstance(self.source, LocalStream):
            raise Unsupported(
                "start", "an iterator of tables", "used with a streaming DataFrame",
                hint="for result in query.batches(): … runs in this process.",
            )  # fmt: skip
        from sash.runtimes.spark.streaming.start import start
        from sash.runtimes.spark.streaming.streaming_source import StreamingSource

        assert isinstance(self.source, StreamingSource), "only Spark has streams"
        return start(
            self.source, self.bound, sink, late=launch.late_of_one_input(),
            checkpoint=launch.checkpoint, elastic=launch.elastic, trigger=launch.trigger, name=launch.name,
            flat=self.plain, online=launch.online,
        )  # fmt: skip

    def _as_json(self) -> str:
        return self._explained().as_json()

    def _as_text(self) -> str:
        from sash.planner.explain.explanation_text import as_text

        return as_text(self._explained())

    def _as_plan(self) -> str:
        from sash.planner.explain.explanation_text import as_plan

        return as_plan(self._explained())


@dataclass(frozen=True)
class LateOutput(LateRows):
    """The events of a bounded input that a query could not place: the input columns, the window that
    refused, the reason."""

    query: WindowQuery

    def __repr__(self) -> str:
        windows = ", ".join(window.name or window.written for window in self.query.bound.query.windows)
        return f"<sash late output: events that {windows} cannot place, each with the reason>"

    def _collected(self) -> pa.Table:
        return self._source.collect_late(self.query.bound)

    def _framed(self) -> Any:
        return self._source.late_dataframe(self.query.bound)

    @property
    def _source(self) -> Bounded:
        return cast(Bounded, self.query.source)
