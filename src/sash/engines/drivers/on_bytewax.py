"""Bytewax: windows over an event clock whose system time stands still, so that only events move it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib.metadata import version as installed
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.testing import TestingSink, run_main

ENGINE = "bytewax"
KINDS = ["time", "session"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def version() -> str:
    return installed("bytewax")


def answer(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one(run) for run in runs]


def one(run: dict[str, Any]) -> dict[str, Any]:
    try:
        cut = windower(run)
    except ValueError as refusal:
        return {"refused": str(refusal)}
    ended = Ended()
    clock = Noting(clock_of(run), ended)
    shown: list[tuple[str, tuple[int, tuple[bool, list[int]]]]] = []
    late: list[tuple[str, tuple[int, int]]] = []
    flow = Dataflow("probe")
    groups = [[(run["keys"][index], index) for index in group] for group in run["groups"]]
    stream = op.input("events", flow, Groups(groups))
    windows = win.window("windows", stream, clock, cut, lambda held: Content(ended, held or []))
    op.output("shown", windows.down, TestingSink(shown))
    op.output("late", windows.late, TestingSink(late))
    run_main(flow)
    contents = [content for _, (_, content) in shown]
    return {
        "reports": [held for at_end, held in contents if not at_end],
        "flushed": [held for at_end, held in contents if at_end],
        "late": sorted({index for _, (_, index) in late}),
    }


def window_starts() -> list[int]:
    """Over system time. The user must choose what windows align to: here 250 ms past 1970."""
    origin = EPOCH + timedelta(milliseconds=250)
    meta: list[tuple[str, tuple[int, win.WindowMetadata]]] = []
    flow = Dataflow("clock")
    stream = op.input("events", flow, Groups([[("key", index)] for index in range(3)]))
    windower = win.TumblingWindower(length=timedelta(seconds=1), align_to=origin)
    windows = win.collect_window("windows", stream, win.SystemClock(), windower)
    op.output("meta", windows.meta, TestingSink(meta))
    run_main(flow)
    return sorted({round(1000 * one.open_time.timestamp()) for _, (_, one) in meta})


def clock_of(run: dict[str, Any]) -> win.EventClock[int]:
    return win.EventClock(
        ts_getter=lambda index: EPOCH + timedelta(seconds=run["times"][index]),
        wait_for_system_duration=timedelta(seconds=run["delay"]),
        now_getter=lambda: EPOCH,
        to_system_utc=lambda _: None,
    )


def windower(run: dict[str, Any]) -> win.Windower[Any]:
    size = timedelta(seconds=run["size"])
    if run["kind"] == "session":
        return win.SessionWindower(gap=size)
    if run["size"] == run["slide"]:
        return win.TumblingWindower(length=size, align_to=EPOCH)
    return win.SlidingWindower(length=size, offset=timedelta(seconds=run["slide"]), align_to=EPOCH)


@dataclass
class Ended:
    """Whether the input has ended: what closes from then on is flushed."""

    now: bool = False


@dataclass
class Noting(win.Clock[int, Any]):
    """A clock that notes when the input ends."""

    clock: win.EventClock[int]
    ended: Ended

    def build(self, resume_state: Any) -> win.ClockLogic[int, Any]:
        logic, ended = self.clock.build(resume_state), self.ended
        at_end = logic.on_eof

        def on_eof() -> datetime:
            ended.now = True
            return at_end()

        logic.on_eof = on_eof
        return logic


@dataclass
class Content(win.WindowLogic[int, tuple[bool, list[int]], list[int]]):
    """The events of one window, in the order in which they were added."""

    ended: Ended
    held: list[int] = field(default_factory=list)

    def on_value(self, value: int) -> list[Any]:
        self.held.append(value)
        return []

    def on_merge(self, original: Content) -> list[Any]:
        self.held.extend(original.held)
        return []

    def on_close(self) -> list[tuple[bool, list[int]]]:
        return [(self.ended.now, sorted(self.held))]

    def snapshot(self) -> list[int]:
        return list(self.held)


@dataclass
class Groups(DynamicSource[tuple[str, int]]):
    """One batch for each group of events that arrive together."""

    groups: list[list[tuple[str, int]]]

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Any:
        return Partition(iter(self.groups))


@dataclass
class Partition(StatelessSourcePartition[tuple[str, int]]):
    groups: Any

    def next_batch(self) -> list[tuple[str, int]]:
        return next(self.groups)
