"""A window query, as declared: frozen, validated, and the same for every runtime."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from sash.errors import ArgumentError, UnitError, Unsupported
from sash.semantics import durations
from sash.semantics.durations import Duration, Unit
from sash.semantics.event import Order
from sash.semantics.monoid import MonoidLike
from sash.semantics.watermark import LateBy
from sash.semantics.window import Window

NO_TIME = Duration(0, Unit.TICKS)


class When(Enum):
    """When a window is reported."""

    CLOSE = "close"
    CHANGE = "change"
    ARRIVAL = "arrival"
    EVERY = "every"


@dataclass(frozen=True, slots=True)
class Emit:
    """When windows are reported.

    - `"close"`: once, when the watermark passes the end or the closing event is settled.
    - `"every <duration>"`: also before, each time the watermark passes a multiple of the duration, if the
      window has changed since.
    - `"change"`: after every batch that changed it.
    - `"arrival"`, of look-backs: with the event, and after every batch that changed it.

    >>> Emit.parse("every 10 seconds").period
    Duration(length=10000000, unit=<Unit.MICROSECONDS: 'microseconds'>)
    """

    when: When = When.CLOSE
    period: Duration = NO_TIME

    def __post_init__(self) -> None:
        if self.when is When.EVERY:
            durations.positive(self.period, "emit")

    def __str__(self) -> str:
        return f"every {self.period}" if self.when is When.EVERY else self.when.value

    @classmethod
    def parse(cls, text: str | Emit) -> Emit:
        if isinstance(text, Emit):
            return text
        if text in ("close", "change"):
            return cls(When(text))
        every = re.fullmatch(r"every\s+(.+)", text) if isinstance(text, str) else None
        if every is None:
            raise ArgumentError("emit", text, "'close', 'change' or 'every <duration>'")
        length = every[1].strip()
        return cls(When.EVERY, durations.positive(int(length) if length.isdecimal() else length, "emit"))

    @property
    def early(self) -> bool:
        """Whether a window can be reported before it closes."""
        return self.when is not When.CLOSE


@dataclass(frozen=True)
class Query:
    """Which windows, which aggregates over them, and what is reported when."""

    windows: tuple[Window, ...]
    aggregates: Mapping[str, MonoidLike] = field(default_factory=dict)
    order: Order = Order.EVENT_TIME
    delay: Duration = NO_TIME
    allowed_lateness: Duration = NO_TIME
    emit: Emit = field(default_factory=Emit)
    empty: bool = False
    late_by: LateBy = LateBy.TIME
    """What makes an event late: its own time, or the ends of its windows."""
    forget_after: Duration = NO_TIME
    """How long after its newest event a key is forgotten, by the watermark; zero: never."""
    flush: bool = True
    """Whether the end of a bounded input closes what is still open."""

    def __post_init__(self) -> None:
        self._check_windows()
        if not isinstance(self.order, Order):
            raise ArgumentError("order", self.order, "Order.EVENT_TIME or Order.ARRIVAL")
        durations.not_negative(self.delay, "delay")
        durations.not_negative(self.allowed_lateness, "allowed_lateness")
        durations.not_negative(self.forget_after, "forget_after")
        self.time_unit  # noqa: B018  (mixed units are refused here, not at the first event)
        if self.order is Order.ARRIVAL:
            self._check_arrival_order()
        if 0 < self.forget_after.length <= self.retained:
            raise ArgumentError(
                "forget_after", str(self.forget_after),
                f"longer than allowed_lateness ({self.allowed_lateness}), which may correct a key"
                + ("" if self.late_by is LateBy.TIME else ", plus the longest window"),
            )  # fmt: skip

    def _check_windows(self) -> None:
        if not self.windows:
            raise ArgumentError("windows", self.windows, "at least one window")
        for window in self.windows:
            if not isinstance(window, Window):
                raise ArgumentError(
                    "windows", window, "a window such as sash.sliding('1 hour', every='1 second')",
                    hint=f"Did you mean sash.tumbling({window!r})?" * isinstance(window, str | int),
                )  # fmt: skip
        labels = [window.label for window in self.windows]
        for label in labels:
            if labels.count(label) > 1:
                raise ArgumentError(
                    "windows", label, "windows with different names",
                    hint="Give each a name: sash.rows(10).named('short').",
                )  # fmt: skip

    def _check_arrival_order(self) -> None:
        for window in self.windows:
            if self.order not in window.orders:
                raise Unsupported(
                    "order", self.order.value, f"'event-time' for {window.label}",
                    hint="Its extents are ranges of time: runs of events only in event-time order.",
                )  # fmt: skip
        for argument in ("delay", "allowed_lateness", "forget_after"):
            if getattr(self, argument).length:
                raise Unsupported(
                    argument, str(getattr(self, argument)), "zero in arrival order",
                    hint="In arrival order no event is late, and no watermark moves.",
                )  # fmt: skip
        if self.emit.when is When.EVERY:
            raise Unsupported("emit", str(self.emit), "'close' or 'change', as arrival order has no clock")

    @property
    def time_unit(self) -> Unit:
        """What this query's lengths of time are measured in; EVENTS when it has none."""
        units = {window.label: window.time_unit for window in self.windows}
        clocks = {label: unit for label, unit in units.items() if unit is not Unit.EVENTS}
        if len(set(clocks.values())) > 1:
            raise UnitError("windows", list(clocks), "all in durations like '1 hour' or all in integers")
        lengths = {
            "windows": Duration(1, next(iter(clocks.values()))) if clocks else NO_TIME,
            "delay": self.delay,
            "allowed_lateness": self.allowed_lateness,
            "forget_after": self.forget_after,
            "emit": self.emit.period,
        }
        if not any(duration.length for duration in lengths.values()):
            return Unit.EVENTS
        return durations.same_unit(**lengths)

    @property
    def corrects(self) -> bool:
        """Whether a report can be corrected by a later one."""
        return self.emit.early or self.allowed_lateness.length > 0

    @property
    def retained(self) -> int:
        """How far behind the watermark the newest event of a key can lie, at most, and still be needed: the
        allowed lateness and, where windows judge what is late, the longest of them."""
        windows = () if self.late_by is LateBy.TIME else self.windows
        lengths = [getattr(window, "size", getattr(window, "gap", 0)) for window in windows]
        return self.allowed_lateness.length + max(lengths, default=0)

    @property
    def takes_late(self) -> bool:
        """Whether an event behind the watermark may still count."""
        return self.allowed_lateness.length > 0 or self.late_by is not LateBy.TIME

    @property
    def revises(self) -> bool:
        """Whether a window can be reported more than once, so that reports carry a revision."""
        return self.corrects or any(window.repeats for window in self.windows)
