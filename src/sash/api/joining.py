"""`sash.stream(…).join(…)`: a join that knows its inputs: explain it, run it, take it on as a DataFrame."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from html import escape
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from sash.api.head import Head
from sash.api.source import Source
from sash.api.starting import start_join
from sash.display import tables
from sash.errors import ArgumentError, Unsupported
from sash.operators.joins.bound import BoundJoin, BoundSide
from sash.planner.explain.explanation import VERSION
from sash.planner.explain.explanation_text import numbered, printed, require_form, sections
from sash.runtimes.local.local_join import LocalJoin
from sash.runtimes.local.local_source import LocalSource
from sash.semantics import durations
from sash.semantics.durations import Duration, DurationLike, whole_number
from sash.semantics.event import Order
from sash.semantics.expression import Side
from sash.semantics.join import Join, Where

if TYPE_CHECKING:
    from sash.runtimes.spark.streaming.sinks import Sink


class Stream(Protocol):
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
    left: Stream, right: Stream, *, within: DurationLike, where: Where | None, suffixes: tuple[str, str]
) -> JoinQuery:
    """See `Stream.join`."""
    if not all(hasattr(right, name) for name in ("source", "time", "keys", "delay")):
        raise ArgumentError("other", type(right).__name__, "a stream, such as sash.stream(df, time='ts')")
    if len(suffixes) != 2 or not all(isinstance(suffix, str) for suffix in suffixes):
        raise ArgumentError("suffixes", suffixes, "two texts, such as ('_left', '_right')")
    for stream in (left, right):
        if stream.order is Order.ARRIVAL:
            raise Unsupported("order", "arrival", "'event-time' for a join, whose windows are of time")
        if stream.allowed_lateness.length:
            raise Unsupported(
                "allowed_lateness", str(stream.allowed_lateness), "left out for a join",
                hint="Pairs come once and in order, and are not corrected; give a longer delay instead.",
            )  # fmt: skip
    sides = {
        side: BoundSide(side, stream.source.schema, stream.time, stream.keys)
        for side, stream in zip(Side, (left, right), strict=True)
    }
    join = Join(durations.not_negative(within, "within"), where, left.delay, right.delay)
    runtime = runtime_of(left.source, right.source)
    return JoinQuery(runtime, BoundJoin(join, sides[Side.LEFT], sides[Side.RIGHT], suffixes))


class JoinRuntime(Protocol):
    """Two inputs, and the runtime that they belong to."""

    @property
    def bounded(self) -> bool: ...
    def collect(self, bound: BoundJoin) -> pa.Table: ...
    def collect_late(self, bound: BoundJoin, side: Side) -> pa.Table: ...
    def dataframe(self, bound: BoundJoin) -> Any: ...
    def late_dataframe(self, bound: BoundJoin, side: Side) -> Any: ...
    def stages(self, bound: BoundJoin) -> list[str]: ...


def runtime_of(left: Source, right: Source) -> JoinRuntime:
    """The runtime for two inputs of one kind. Spark is imported only when they are Spark's."""
    if isinstance(left, LocalSource) and isinstance(right, LocalSource):
        return LocalJoin(left, right)
    if left.bounded == right.bounded and not isinstance(left, LocalSource) | isinstance(right, LocalSource):
        from sash.runtimes.spark.joins.choose import joined

        return joined(left, right)
    raise Unsupported(
        "other", f"{_words(right)}, where the stream itself is {_words(left)}", "an input of the same kind",
        hint="Bring both into Spark as streams or as static DataFrames, or both into this process.",
    )  # fmt: skip


def _words(source: Source) -> str:
    if isinstance(source, LocalSource):
        return "a table in this process"
    return "a static DataFrame" if source.bounded else "a streaming DataFrame"


@dataclass(frozen=True)
class JoinQuery:
    """Pairs of events of two streams. Nothing runs until it is asked for."""

    runtime: JoinRuntime
    bound: BoundJoin

    def dataframe(self) -> Any:
        """The pairs as a DataFrame of the kind that went in: Spark for Spark, pandas for pandas."""
        return self.runtime.dataframe(self.bound)

    def collect(self) -> pa.Table:
        """The pairs of bounded inputs as an Arrow table, by time, then by arrival on the left and right."""
        return self.runtime.collect(self.bound)

    def head(self, rows: int = 10, /) -> Head:
        """The first pairs of bounded inputs, to look at; all of them are computed."""
        return Head.of(self.collect, rows)

    def start(
        self,
        sink: Sink,
        *,
        checkpoint: str | PathLike[str],
        trigger: DurationLike | None = None,
        name: str | None = None,
    ) -> Any:
        """Run over two streaming DataFrames until it is stopped, as `WindowQuery.start`. Spark's settings
        decide how parallel it is, once and for all."""
        return start_join(
            self.runtime, self.dataframe, sink, checkpoint=checkpoint, trigger=trigger, name=name
        )

    def late(self, side: str) -> LateSide:
        """The events of the "left" or the "right" stream that came too late for any pair."""
        try:
            return LateSide(self.runtime, self.bound, Side(side))
        except ValueError:
            raise ArgumentError("side", side, "'left' or 'right'") from None

    def parallel(self, shares: int) -> JoinQuery:
        """The same join with so many shares, each with a thread; in process, as Spark has partitions."""
        count = whole_number(shares)
        if count is None or count < 1:
            raise ArgumentError("shares", shares, "a positive number of shares")
        if not isinstance(self.runtime, LocalJoin):
            raise Unsupported("parallel", shares, "left out on Spark, which has partitions instead")
        return replace(self, runtime=replace(self.runtime, shares=count))

    def explain(self, form: Literal["text", "json"] = "text", /) -> str:
        """What this join means and how it will be computed. As text it is printed and returned, as JSON
        only returned."""
        require_form(form)
        said = self._said()
        if form == "json":
            return json.dumps(said, indent=2, ensure_ascii=False)
        semantics, found, stages = said["semantics"], said["candidates"], said["stages"]
        return printed(
            sections(
                [
                    ("semantics", [semantics["pairs"], semantics["order"]]),
                    ("candidates", [f"{found['how']}: {found['why']}"]),
                    ("stages", numbered(stages)),
                ]
            )
        )

    def _said(self) -> dict[str, Any]:
        """What there is to explain; its keys are those of the JSON, and stay."""
        bound, join = self.bound, self.bound.join
        same = " and ".join(f"left.{key.left} = right.{key.right}" for key in bound.keys) or "any key"
        where = bound.tree or f"where(l, r), which is asked row by row: {bound.why_untraced}"
        return {
            "version": VERSION,
            "semantics": {
                "pairs": f"pairs (l, r) with {same}, |τ_l − τ_r| ≤ {join.within}, and {where}",
                "order": "in the order of (max(τ_l, τ_r), arrival of l, arrival of r), each exactly once",
            },
            "candidates": {"how": bound.strategy.how, "why": bound.strategy.why},
            "stages": self.runtime.stages(bound),
        }

    def __repr__(self) -> str:
        return f"<sash join within {self.bound.join.within} → {', '.join(self.bound.output.names)}>"

    def _repr_html_(self) -> str:
        """For notebooks: which pairs, and how they are found."""
        said = self._said()
        semantics, found = said["semantics"], said["candidates"]
        stages = "".join(f"<li>{escape(stage)}</li>" for stage in said["stages"])
        parts = [
            f"<p><code>{escape(semantics['pairs'])}</code><br/>{escape(semantics['order'])}</p>",
            f"<p><b>{escape(found['how'])}</b>: {escape(found['why'])}</p>",
            f"<details><summary>stages</summary><ol>{stages}</ol></details>",
        ]
        return tables.block("join", parts)


@dataclass(frozen=True)
class LateSide:
    """The events of one side that are in no pair because of their time: its columns, and the reason."""

    runtime: JoinRuntime
    bound: BoundJoin
    side: Side

    def dataframe(self) -> Any:
        return self.runtime.late_dataframe(self.bound, self.side)

    def collect(self) -> pa.Table:
        return self.runtime.collect_late(self.bound, self.side)

    def head(self, rows: int = 10, /) -> Head:
        """The first of them, to look at; all are looked for."""
        return Head.of(self.collect, rows)

    def start(
        self,
        sink: Sink,
        *,
        checkpoint: str | PathLike[str],
        trigger: DurationLike | None = None,
        name: str | None = None,
    ) -> Any:
        """As `JoinQuery.start`: a query of its own, with a checkpoint of its own."""
        return start_join(
            self.runtime, self.dataframe, sink, checkpoint=checkpoint, trigger=trigger, name=name
        )

    def __repr__(self) -> str:
        return f"<sash late output of the {self.side.value}: events that came too late for any pair>"
