"""`sash.stream(…).window(…).agg(…)`: a query, step by step. Every step is frozen and can be reused."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Never, cast, overload

from sash.api.hints_for_methods import Hinted
from sash.api.runtime_of_input import Source, Unbounded, source_of
from sash.api.windowed import Windowed
from sash.errors import ArgumentError, Unsupported, did_you_mean
from sash.operators.bound_query import BoundLatest, BoundRolling, require_column
from sash.semantics import durations, windows
from sash.semantics.durations import Duration, DurationLike, Unit
from sash.semantics.event import Order
from sash.semantics.pyspark_names import column_hint
from sash.semantics.query import NO_TIME, Emit, Query, When
from sash.semantics.window import Window
from sash.semantics.windows import SlideByTupleWindow
from sash.wrong_calls import called_as

if TYPE_CHECKING:  # joins are imported where one is made
    from sash.api.enrichment import On
    from sash.api.join_query import JoinQuery
    from sash.operators.joins.lookup import Missing
    from sash.semantics.asof import Direction
    from sash.semantics.join import How, Where


_EVERY = "It belongs to a window: sash.sliding(size, every=…), or sash.tumbling(every)."
_SIZE = "Windows are made first: sash.tumbling(size), sash.sliding(size, every=…), sash.session(gap)."


@dataclass(frozen=True)
class Stream(Hinted):
    """A timed input. Made by `sash.stream`."""

    source: Source
    time: str
    keys: tuple[str, ...]
    delay: Duration
    allowed_lateness: Duration
    order: Order
    forget_after: Duration = NO_TIME

    def __repr__(self) -> str:
        keys = f" by {', '.join(self.keys)}" if self.keys else ""
        late = f", corrected for {self.allowed_lateness} more" if self.allowed_lateness.length else ""
        columns = ", ".join(self.source.schema.names)
        return (
            f"<sash stream over {self.time}{keys} in {self.order.value} order, delay {self.delay}{late}: "
            f"{columns}>"
        )

    @called_as("window(sash.tumbling('1 minute'))", {"every": _EVERY, "size": _SIZE})
    def window(
        self, *windows: Window, emit: str | Emit = "close", empty: bool = False, flush: bool | None = None
    ) -> Windowed:
        """Cut the stream into windows; several share one pass, and `window.name` distinguishes them.

        emit:  "close" (once, when the window is complete), "every <duration>" or "change" (also before).
        empty: also emit windows without events.
        flush: whether the end of a bounded input closes the windows that are still open (default: yes). A
            stream has no end.
        """
        if flush and not self.source.ends:
            raise Unsupported("flush", flush, "False for a stream, which has no end to close windows at")
        query = Query(
            windows=windows,
            order=self.order,
            delay=self.delay,
            allowed_lateness=self.allowed_lateness,
            emit=Emit.parse(emit),
            empty=empty,
            forget_after=self.forget_after,
            flush=self.source.ends if flush is None else flush,
        )
        return Windowed(self, query)

    @called_as(
        "rolling('5 minutes', '1 hour')",
        {"every": "It has a row per event. For fixed times use .window(sash.sliding(size, every=…))."},
    )
    def rolling(
        self,
        *lookbacks: DurationLike | SlideByTupleWindow,
        emit: Literal["close", "arrival"] = "close",
    ) -> Windowed:
        """Look back from every event, over each of `lookbacks`: features for models.

        The result has one row per event: its own columns, and for each aggregate and look-back the value
        over the events with τ − lookback < time ≤ τ, named as in `n_5_minutes`. `sash.lifetime()` is a
        look-back without a limit: `n_lifetime`.

        emit: "close" (once, when no further event can belong to the row), or "arrival" (in the batch in
            which the event arrives, and again, with the next `revision`, when a later one belongs to the
            row; the last revision is the row that "close" emits).
        """
        if emit not in ("close", "arrival"):
            raise ArgumentError("emit", emit, "'close' or 'arrival'")
        windows = self._lookbacks(lookbacks)
        if self.allowed_lateness.length:
            raise Unsupported(
                "allowed_lateness", str(self.allowed_lateness), "left out for rolling features",
                hint="Give a longer delay instead; with emit='arrival' no row waits for it.",
            )  # fmt: skip
        query = Query(
            windows=windows, order=self.order, delay=self.delay, emit=Emit(When(emit)),
            forget_after=self.forget_after, flush=self.source.ends,
        )  # fmt: skip
        return Windowed(self, query, BoundRolling)

    @called_as("latest('5 minutes', every='1 minute')")
    def latest(
        self,
        *lookbacks: DurationLike | SlideByTupleWindow,
        every: DurationLike | None = None,
        decay: Literal["watermark", "clock"] = "watermark",
    ) -> Windowed:
        """One row per key over the last `lookbacks` up to now, emitted whenever it changes: because an
        event arrived, or because time passed and an event is now too old.

        The result has the key; for each aggregate and look-back the value over the events with
        now − lookback < time ≤ now, named as in `n_5_minutes`; and `updated_at`, which is that now: the
        watermark. A reader that replaces a key's row with each new one has a table that is always current.
        When a key has no events left, a last row over no events is emitted, and the key is dropped. For a
        bounded input, now is the time of its newest event.

        every: now is rounded down to a multiple of it, so that a row changes at most that often.
        decay: "watermark": now advances with events; or "clock": it follows the wall clock also while none
            arrive (behind it by `idle` of `sash.stream`, if given). Then events that arrive later than
            `delay` and `allowed_lateness` after their own time are late.
        """
        windows = self._lookbacks(lookbacks)
        if decay not in ("watermark", "clock"):
            raise ArgumentError("decay", decay, "'watermark' or 'clock'")
        if decay == "clock" and self.source.bounded:
            raise Unsupported("decay", decay, "'watermark' for bounded data, whose time has an end")
        if decay == "clock" and any(window.time_unit is Unit.TICKS for window in windows):
            raise Unsupported("decay", decay, "'watermark' for integer times, which no clock counts")
        source = self.source if decay == "watermark" else cast(Unbounded, self.source).by_clock()
        emit = Emit(When.CHANGE)
        if every is not None:
            emit = Emit(When.EVERY, durations.positive(every, "every"))
        query = Query(
            windows=windows, order=self.order, delay=self.delay, allowed_lateness=self.allowed_lateness,
            emit=emit, forget_after=self.forget_after, flush=self.source.ends,
        )  # fmt: skip
        return Windowed(replace(self, source=source), query, BoundLatest)

    def _lookbacks(self, given: Sequence[DurationLike | SlideByTupleWindow]) -> tuple[Window, ...]:
        if self.order is Order.ARRIVAL:
            raise Unsupported(
                "order", self.order.value, "'event-time' for look-backs, which are ranges of time",
                hint="A row comes with the batch that brings its event with .rolling(…, emit='arrival').",
            )  # fmt: skip
        if not given:
            raise ArgumentError("look-backs", (), "at least one duration, such as '5 minutes'")
        windows = tuple(_lookback(lookback) for lookback in given)
        for window in windows:
            if sum(one.label == window.label for one in windows) > 1:
                raise ArgumentError("look-backs", window.label, "given once each")
        return windows

    @overload
    def join(
        self, other: Stream, *, within: DurationLike, where: Where | None = None, how: How = "inner",
        suffixes: tuple[str, str] = ("_left", "_right"),
    ) -> JoinQuery: ...  # fmt: skip

    @overload
    def join(
        self, other: Any, *, on: On, how: Missing = "inner",
        suffixes: tuple[str, str] = ("_left", "_right"),
    ) -> Stream: ...  # fmt: skip

    @called_as("join(other, within='1 minute'), or of a table join(table, on='column', how='left')")
    def join(
        self, other: Any, *, within: DurationLike | None = None, on: On | None = None,
        where: Where | None = None, how: Any = "inner", suffixes: tuple[str, str] = ("_left", "_right"),
    ) -> JoinQuery | Stream:  # fmt: skip
        """With another stream and `within`: pairs of an event of this stream and one of `other` that are at
        most `within` apart in time, have the same key (if the streams have keys) and satisfy `where(l, r)`;
        each pair once.

        With a table (a static DataFrame, an Arrow table, a pandas or polars frame) and `on`: this stream
        with the columns of the table added, as a stream that can be windowed.

        where:    a function of the two rows, such as `lambda l, r: abs(l.x - r.a) <= 10`; comparisons
            combined with `&` and `|` are found by search, anything else is evaluated for every pair.
        on:       the columns that must be equal: names, or {"of the stream": "of the table"}.
        how:      "inner", "left", "right" or "full". An outer join also emits the unmatched events of that
            side, or of both, with nulls, once no match can arrive: at their own time plus `within`. With a
            table "inner" or "left".
        suffixes: added to columns of the same name; with a table, only to the table's columns.
        """
        if len(suffixes) != 2 or not all(isinstance(suffix, str) for suffix in suffixes):
            raise ArgumentError("suffixes", suffixes, "two texts, such as ('_left', '_right')")
        if on is None:
            if within is None:
                raise ArgumentError("within", None, "given with a stream, or on=… with a static table")
            from sash.api.join_query import joined_streams

            return joined_streams(self, other, within=within, where=where, how=how, suffixes=suffixes)
        if within is not None or where is not None or isinstance(other, Stream):
            raise ArgumentError(
                "on", on, "given with a static table, and without within and where",
                hint="The keys of two streams are those of sash.stream(…, key=…).",
            )  # fmt: skip
        from sash.api.enrichment import enriched

        found = enriched(self.source, other, on=on, how=how, suffix=suffixes[1])
        return replace(self, source=found)

    def join_asof(
        self, other: Stream, *, tolerance: DurationLike | None = None, direction: Direction = "backward",
        suffix: str = "_right", **others: Never,
    ) -> JoinQuery:  # fmt: skip
        """Every event of this stream with the event of `other` that was current at its time: of those with
        the same key (if the streams have keys), the latest that is not later; nulls if there is none. Of
        several with the same time, the last to arrive.

        tolerance: how far apart in time the two may be (default: no limit).
        direction: "backward", "forward" (the earliest that is not earlier) or "nearest" (the earlier of two
            that are equally near). On a stream the last two need a tolerance.
        suffix:    added to the columns of `other` whose names this stream also has.
        """
        from sash.api.join_query import answered_streams

        for name in others:
            near = did_you_mean(name, ["tolerance", "direction", "suffix"])
            left = (
                "Leave it out: every event is kept, with nulls where there is no other, as in a left join."
            )
            raise ArgumentError(
                name, "an argument", "left out",
                message=f"join_asof has no argument {name!r}", hint=left if name == "how" else near,
            )  # fmt: skip
        return answered_streams(self, other, tolerance=tolerance, direction=direction, suffix=suffix)


def _lookback(given: DurationLike | SlideByTupleWindow) -> Window:
    if isinstance(given, SlideByTupleWindow) and given.endless and given.slide == 1:
        return given
    if isinstance(given, Window):
        raise ArgumentError(
            "look-backs", str(given), "durations such as '5 minutes', or sash.lifetime()",
            hint=f"Windows are given to .window(sash.{given}).",
        )  # fmt: skip
    length = durations.positive(given, "look-back")
    words = given if isinstance(given, str) else str(length)
    return windows.slide_by_tuple(given, 1).named(re.sub(r"\W+", "_", words.strip()))


@called_as(
    "sash.stream(data, time='ts', key='card')",
    {
        **dict.fromkeys(["watermark", "withWatermark", "lateness"], "Write delay='5 minutes'."),
        **dict.fromkeys(["timestamp", "ts", "event_time", "timeCol"], "Write time='ts'."),
        **dict.fromkeys(["keys", "by", "partition_by", "group_by", "keyCol"], "Write key='card'."),
    },
)
def stream(
    data: Any,
    *,
    time: str,
    key: str | Sequence[str] | None = None,
    delay: DurationLike = 0,
    allowed_lateness: DurationLike = 0,
    order: str = "event-time",
    idle: DurationLike | None = None,
    forget_after: DurationLike | None = None,
) -> Stream:
    """A timed stream over a PySpark DataFrame, static or streaming, an Arrow table, a pandas or polars
    frame, or an iterator of such tables, each of which is a micro-batch (see `WindowQuery.batches`).

    time:  the column with the event time: a timestamp, or an integer in a unit of your own.
    key:   the column or columns to group events by; without one, all events have the same key.
    delay: how far an event may lag behind the newest one and still be on time.
    allowed_lateness: how much later than that it may arrive and still correct emitted results.
    order: "event-time" (by time, then by arrival) or "arrival".
    idle:  on a streaming DataFrame: while no events arrive, time advances with the wall clock, this far
        behind it, so that open windows close. By default they wait for the next event.
    forget_after: drop a key once the watermark is this far past its newest event, so that keys which never
        return leave no state; a key that returns starts as a new one. By default a key is dropped when no
        window needs its state; a partly filled row window always does.
    """
    source = source_of(data)
    keys = _keys(key)
    for argument, name in (("time", time), *(("key", name) for name in keys)):
        if not isinstance(name, str):
            raise ArgumentError(argument, name, "the name of a column", hint=column_hint(name))
        require_column(argument, name, source.schema)
    try:
        chosen = Order(order)
    except ValueError:
        raise ArgumentError("order", order, "'event-time' or 'arrival'") from None
    return Stream(
        source=source if idle is None else _never_waiting(source, idle),
        time=time,
        keys=keys,
        delay=durations.not_negative(delay, "delay"),
        allowed_lateness=durations.not_negative(allowed_lateness, "allowed_lateness"),
        order=chosen,
        forget_after=NO_TIME if forget_after is None else durations.positive(forget_after, "forget_after"),
    )


def _keys(given: Any) -> tuple[str, ...]:
    """A name or several. A Column of PySpark has no truth, and no end if it is gone through."""
    if given is None or isinstance(given, str):
        return (given,) if given else ()
    return (given,) if column_hint(given) else tuple(given)


def _never_waiting(source: Source, idle: DurationLike) -> Source:
    length = durations.positive(idle, "idle")
    if length.unit is not Unit.MICROSECONDS:
        raise ArgumentError("idle", idle, "a duration of the clock, such as '1 minute'")
    if source.bounded:
        raise Unsupported(
            "idle",
            str(length),
            "left out for bounded data",
            hint="The end of the input closes open windows.",
        )
    return cast(Unbounded, source).idle_after(length)
