"""Pairs of events of two streams: `sash.stream(…).join(…)` and `.join_asof(…)`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, cast

import pyarrow as pa

from sash.api import join_text
from sash.api.handle import LateRows, Launch, QueryHandle, require_bounded, side_of
from sash.api.runtime_of_input import FirstRows, Source
from sash.display import tables
from sash.errors import ArgumentError, Unsupported
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundJoin, BoundSide
from sash.operators.patterns.declared import Pattern, WinSeq
from sash.operators.threads import available_cores
from sash.planner.auto_declaration import Auto, require_parallelism
from sash.planner.explain.explanation import VERSION
from sash.planner.explain.explanation_text import RUNTIMES, named, numbered_lines, sections
from sash.runtimes.local.local_join import LocalJoin
from sash.runtimes.local.local_source import LocalSource
from sash.runtimes.local.local_stream import LocalStream
from sash.semantics import durations
from sash.semantics.asof import Asof, Direction
from sash.semantics.durations import Duration, DurationLike
from sash.semantics.event import Order
from sash.semantics.expression import Side
from sash.semantics.join import How, IntervalJoin, Where

if TYPE_CHECKING:
    from sash.runtimes.spark.sinks.protocol import Sink


class TimedStream(Protocol):
    """What a join needs to know of `sash.stream(…)`."""

    @property
    def source(self) -> Source: ...
    @property
    def time(self) -> str: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def delay(self) -> Duration: ...
    @property
    def allowed_lateness(self) -> Duration: ...
    @property
    def order(self) -> Order: ...


def joined_streams(
    left: TimedStream, right: TimedStream, *, within: DurationLike, where: Where | None, how: How,
    suffixes: tuple[str, str],
) -> JoinQuery:  # fmt: skip
    """See `Stream.join`."""
    sides = _bound_sides(left, right, "A static table is joined with on=… instead of a time.")
    length = durations.not_negative(within, "within")
    join = IntervalJoin(length, where, how, left_delay=left.delay, right_delay=right.delay)
    return JoinQuery(runtime_of(left.source, right.source), BoundJoin(join, *sides, suffixes))


def answered_streams(
    left: TimedStream,
    right: TimedStream,
    *,
    tolerance: DurationLike | None,
    direction: Direction,
    suffix: str,
) -> JoinQuery:
    """See `Stream.join_asof`."""
    sides = _bound_sides(left, right, "A table has times too: sash.stream(table, time=…, key=…).")
    if not isinstance(suffix, str):
        raise ArgumentError("suffix", suffix, "a text, such as '_right'")
    length = None if tolerance is None else durations.not_negative(tolerance, "tolerance")
    asof = Asof(direction, length, left_delay=left.delay, right_delay=right.delay)
    if length is None and direction != "backward" and not left.source.bounded:
        raise Unsupported(
            "tolerance", None, f"a duration for direction={direction!r} on a stream",
            hint="Without one a row to which no right row comes would wait for ever.",
        )  # fmt: skip
    return JoinQuery(runtime_of(left.source, right.source), BoundAsof(asof, *sides, suffix))


def _bound_sides(left: TimedStream, right: TimedStream, for_tables: str) -> tuple[BoundSide, BoundSide]:
    if isinstance(right, QueryHandle):
        raise ArgumentError(
            "other", type(right).__name__, "a stream, such as sash.stream(df, time='ts')",
            hint="The rows of a query are a table: sash.stream(query.dataframe(), time=…, key=…). For "
            "look-backs at times of your own, put rows with nulls at these times among the events.",
        )  # fmt: skip
    if not all(hasattr(right, name) for name in ("source", "time", "keys", "delay")):
        raise ArgumentError(
            "other", type(right).__name__, "a stream, such as sash.stream(df, time='ts')",
            hint=for_tables,
        )  # fmt: skip
    for stream in (left, right):
        if stream.order is Order.ARRIVAL:
            raise Unsupported("order", "arrival", "'event-time' for a join, whose windows are of time")
        if stream.allowed_lateness.length:
            raise Unsupported(
                "allowed_lateness", str(stream.allowed_lateness), "left out for a join",
                hint="Pairs come once and in order, and are not corrected; give a longer delay instead.",
            )  # fmt: skip
    one, two = (
        BoundSide(side, stream.source.schema, stream.time, stream.keys)
        for side, stream in zip(Side, (left, right), strict=True)
    )
    return one, two


Bound: TypeAlias = BoundJoin | BoundAsof


class JoinRuntime(Protocol):
    """Two inputs, and the runtime that they belong to."""

    @property
    def bounded(self) -> bool: ...
    def collect(self, bound: Bound) -> pa.Table: ...
    def dataframe(self, bound: Bound) -> Any: ...
    def stages(self, bound: Bound) -> list[str]: ...


class BoundedJoin(JoinRuntime, Protocol):
    """Two inputs that are there as a whole."""

    def collect_late(self, bound: Bound, side: Side) -> pa.Table: ...
    def late_dataframe(self, bound: Bound, side: Side) -> Any: ...


def runtime_of(left: Source, right: Source) -> JoinRuntime:
    """The runtime for two inputs of one kind. Spark is imported only when they are Spark's."""
    if isinstance(left, LocalSource) and isinstance(right, LocalSource):
        return LocalJoin(left, right)
    here = any(isinstance(source, LocalSource | LocalStream) for source in (left, right))
    if left.bounded == right.bounded and not here:
        from sash.runtimes.spark.joins.dataframe_join import join_of_sources

        return join_of_sources(left, right)
    if isinstance(left, LocalStream) and isinstance(right, LocalStream):
        raise Unsupported(
            "other", "an iterator of tables, as the stream itself is", "joined in Spark or as a table",
            hint="In this process streams are not joined, bounded tables are.",
        )  # fmt: skip
    raise Unsupported(
        "other", f"{_words(right)}, where the stream itself is {_words(left)}", "an input of the same kind",
        hint="Bring both into Spark as streams or as static DataFrames, or both here, as tables.",
    )  # fmt: skip


def _words(source: Source) -> str:
    if isinstance(source, LocalSource | LocalStream):
        return "a table in this process" if source.bounded else "an iterator of tables"
    return "a static DataFrame" if source.bounded else "a streaming DataFrame"


@dataclass(frozen=True)
class JoinQuery(QueryHandle):
    """Pairs of events of two streams, by time, then by arrival on the left and on the right."""

    runtime: JoinRuntime
    bound: Bound

    def late(self, side: str) -> LateSide:
        """The events of the "left" or the "right" input that came too late for any pair. Those of streams
        are written by `start(sink, late={"left": …, "right": …})`."""
        chosen = side_of(side)
        require_bounded(self.runtime.bounded)
        return LateSide(self, chosen)

    def parallel(self, pattern: Pattern | Auto | int | Literal["auto"], /) -> JoinQuery:
        """The same join with so many workers, each a thread with a share of the rows: `parallel(4)`. With
        "auto", as many as there are cores. Spark has partitions instead. Of the patterns only WinSeq, one
        worker, is taken: all others hand out windows, which a join has not."""
        chosen = require_parallelism(pattern)
        if isinstance(self.bound, BoundAsof) and chosen != Auto():
            raise Unsupported("parallel", pattern, "left out for an as-of join, one pass over both sides")
        if not isinstance(chosen, Auto | WinSeq):
            raise Unsupported(
                "parallel", str(chosen), "a number of workers, 'auto' or WinSeq() for a join",
                hint="A pattern hands out windows, and a join has none: its workers share rows.",
            )  # fmt: skip
        if isinstance(self.runtime, LocalJoin):
            shares = 1 if isinstance(chosen, WinSeq) else chosen.cores or available_cores()
            return replace(self, runtime=replace(self.runtime, shares=shares))
        if chosen != Auto():
            raise Unsupported("parallel", pattern, "left out on Spark, which has partitions instead")
        return self

    def _as_json(self) -> str:
        return json.dumps(self._explained(), indent=2, ensure_ascii=False)

    def _as_text(self) -> str:
        facts = self._explained()
        return named(
            [
                *facts["semantics"].items(),
                ("found", ": ".join(facts["candidates"].values())),
                ("cost", facts["cost"]),
                ("runs", self._where),
                ("keeps", facts["keeps"]),
                ("more", 'explain("plan"): stages; explain("json")'),
            ]
        )

    def _as_plan(self) -> str:
        facts = self._explained()
        return sections(
            [
                ("semantics", list(facts["semantics"].values())),
                ("found", [": ".join(facts["candidates"].values()), facts["cost"]]),
                (f"stages: {self._where}", numbered_lines(facts["stages"])),
                ("keeps", [facts["keeps"]]),
            ]
        )

    @property
    def _where(self) -> str:
        if isinstance(self.runtime, LocalJoin):
            shares = self.runtime.shares
            return RUNTIMES["process"] + (f", {shares} shares in threads" if shares > 1 else "")
        return RUNTIMES["spark batch" if self._bounded else "spark streaming"]

    def _explained(self) -> dict[str, Any]:
        """What there is to explain; its keys are those of the JSON, and stay."""
        return {
            "version": VERSION,
            "semantics": join_text.meaning(self.bound),
            "candidates": join_text.search(self.bound),
            "stages": self.runtime.stages(self.bound),
            "cost": join_text.cost(self.bound),
            "keeps": join_text.keeps(
                self.bound, bounded=self._bounded, on_spark=not isinstance(self.runtime, LocalJoin)
            ),
        }

    def __repr__(self) -> str:
        return f"<sash {join_text.title(self.bound)} → {', '.join(self.bound.output.names)}>"

    def _repr_html_(self) -> str:
        """For notebooks: which pairs, and how they are found."""
        facts = self._explained()
        semantics, found = facts["semantics"], facts["candidates"]
        stages = "".join(f"<li>{escape(stage)}</li>" for stage in facts["stages"])
        parts = [
            f"<p><code>{escape(semantics['pairs'])}</code><br/>{escape(semantics['order'])}</p>",
            f"<p><b>{escape(found['how'])}</b>: {escape(found['why'])}</p>",
            f"<details><summary>stages</summary><ol>{stages}</ol></details>",
        ]
        return tables.block("join", parts)

    @property
    def _bounded(self) -> bool:
        return self.runtime.bounded

    def _collected(self) -> pa.Table:
        return self.runtime.collect(self.bound)

    def _first(self, rows: int) -> tuple[pa.Table, int]:
        if isinstance(self.runtime, FirstRows):
            return self.runtime.first(self.bound, rows)
        return super()._first(rows)

    def _framed(self) -> Any:
        return self.runtime.dataframe(self.bound)

    def _started(self, sink: Sink, launch: Launch) -> Any:
        from sash.runtimes.spark.joins.streaming_join import StreamingJoin
        from sash.runtimes.spark.streaming.start import start_join

        assert isinstance(self.runtime, StreamingJoin), "only Spark has streams"
        return start_join(
            self.runtime, self.bound, sink,
            late=launch.late_of_sides(),
            checkpoint=launch.checkpoint, elastic=launch.elastic, trigger=launch.trigger, name=launch.name,
        )  # fmt: skip


@dataclass(frozen=True)
class LateSide(LateRows):
    """The events of one side of bounded inputs that are in no pair because of their time: its columns, and
    the reason."""

    query: JoinQuery
    side: Side

    def __repr__(self) -> str:
        return f"<sash late output of the {self.side.value}: events that came too late for any pair>"

    def _collected(self) -> pa.Table:
        return self._runtime.collect_late(self.query.bound, self.side)

    def _framed(self) -> Any:
        return self._runtime.late_dataframe(self.query.bound, self.side)

    @property
    def _runtime(self) -> BoundedJoin:
        return cast(BoundedJoin, self.query.runtime)
