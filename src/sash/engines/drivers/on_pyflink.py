"""PyFlink: DataStream windows; every run of a request is a branch of one job, with a watermark of its own.

PyFlink's own watermark strategies emit periodically, by the clock. The watermark of a table is emitted by
the event that moves it once the interval is 0, so the events pass through a table on their way. And Python
operators hold a watermark back until their bundle of events is done, so a bundle is one event.

`NoteWatermark` notes the watermark at each event. A run whose events came before the watermark of the event
ahead of them gets no answer: it would be another experiment.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from importlib.metadata import version as installed
from typing import Any

from pyflink.common import Configuration, Time, Types
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessFunction, ProcessWindowFunction
from pyflink.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from pyflink.table import Schema, StreamTableEnvironment

ENGINE = "pyflink"
KINDS = ["time", "count", "session"]
AT_END = 2**63 - 1
BRANCHES = 12


def version() -> str:
    return installed("apache-flink")


def answer(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    possible = [run for run in runs if not obstacle(run)]
    answers = iter(
        one
        for first in range(0, len(possible), BRANCHES)
        for one in together(possible[first : first + BRANCHES])
    )
    return [{"unmeasured": obstacle(run)} if obstacle(run) else next(answers) for run in runs]


def obstacle(run: dict[str, Any]) -> str:
    early = run["kind"] != "count" and min(run["times"]) < 0
    return "the watermark of a table, which this driver uses, is never below 0" if early else ""


def together(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    environment = one_by_one()
    streams = [stream for number, run in enumerate(runs) for stream in branch(environment, number, run)]
    collected: list[list[tuple[str, int, Any]]] = [[] for _ in runs]
    with streams[0].union(*streams[1:]).execute_and_collect() as results:
        for number, what, watermark, held in results:
            collected[number].append((what, watermark, held))
    return [contents(run, one) for run, one in zip(runs, collected, strict=True)]


def one_by_one() -> Any:
    """An environment in which nothing waits for more: neither a watermark nor a bundle of events."""
    settings = Configuration()
    settings.set_string("pipeline.auto-watermark-interval", "0 ms")
    settings.set_string("python.fn-execution.bundle.size", "1")
    settings.set_string("parallelism.default", "1")
    return StreamExecutionEnvironment.get_execution_environment(settings)


def window_starts() -> list[int]:
    events = one_by_one().from_collection([0, 1, 2], type_info=Types.INT()).map(slowly, Types.INT())
    windows = events.key_by(lambda _: 0).window(TumblingProcessingTimeWindows.of(Time.seconds(1)))
    with windows.process(NoteStart(), Types.LONG()).execute_and_collect() as starts:
        return sorted(set(starts))


def slowly(event: int) -> int:
    # A window over the clock is shown when its time is over, which an input of no duration never sees.
    time.sleep(1.5)
    return event


def branch(environment: Any, number: int, run: dict[str, Any]) -> list[Any]:
    row_type = Types.TUPLE([Types.INT(), Types.STRING(), Types.LONG(), Types.LIST(Types.INT())])
    late = OutputTag(f"late-{number}", event_type())
    timed = watermarked(environment, run)
    watched = timed.process(NoteWatermark(number), output_type=row_type)
    keys = run["keys"]
    keyed = timed.key_by(lambda one: keys[one[0]], key_type=Types.STRING())
    if run["kind"] == "count":
        return [
            watched,
            keyed.count_window(run["size"], run["slide"]).process(NoteWindow(number), row_type),
        ]
    windowed = keyed.window(windows(run)).allowed_lateness(1000 * run["lateness"])
    shown = windowed.side_output_late_data(late).process(NoteWindow(number), row_type)
    dropped = shown.get_side_output(late).map(lambda one: (number, "late", 0, [one[0]]), row_type)
    return [watched, shown, dropped]


def watermarked(environment: Any, run: dict[str, Any]) -> Any:
    """The events, each followed by its watermark: 1 ms below its time, as more of that time may come."""
    tables = StreamTableEnvironment.create(environment)
    events = [(index, 1000 * instant) for index, instant in enumerate(run["times"])]
    schema = (
        Schema.new_builder()
        .column_by_expression("instant", "TO_TIMESTAMP_LTZ(f1, 3)")
        .watermark("instant", f"instant - INTERVAL '{run['delay']}.001' SECOND")
        .build()
    )
    stream = environment.from_collection(events, type_info=event_type())
    return tables.to_data_stream(tables.from_data_stream(stream, schema)).map(
        lambda row: (row[0], row[1]), event_type()
    )


def event_type() -> Any:
    # Made each time: a type that was used holds a Java object, with which a tag cannot be pickled.
    return Types.TUPLE([Types.INT(), Types.LONG()])


def windows(run: dict[str, Any]) -> Any:
    size, slide = Time.seconds(run["size"]), Time.seconds(run["slide"])
    if run["kind"] == "session":
        return EventTimeSessionWindows.with_gap(size)
    if run["size"] == run["slide"]:
        return TumblingEventTimeWindows.of(size)
    return SlidingEventTimeWindows.of(size, slide)


def contents(run: dict[str, Any], collected: list[tuple[str, int, Any]]) -> dict[str, Any]:
    if run["kind"] != "count":
        require_watermarks(run, {held[0]: at for what, at, held in collected if what == "watch"})
    shown = [(watermark == AT_END, held) for what, watermark, held in collected if what == "show"]
    return {
        "reports": [held for at_end, held in shown if not at_end],
        "flushed": [held for at_end, held in shown if at_end],
        "late": sorted(held[0] for what, _, held in collected if what == "late"),
    }


def require_watermarks(run: dict[str, Any], watermarks: dict[int, int]) -> None:
    for index in range(1, len(run["times"])):
        due = 1000 * (max(run["times"][:index]) - run["delay"]) - 1
        if due > 0 and watermarks[index] < due:
            raise RuntimeError(f"event {index} of {run} came at watermark {watermarks[index]}, not {due}")


class NoteWatermark(ProcessFunction):
    """Notes the watermark at which an event came."""

    def __init__(self, number: int) -> None:
        self.number = number

    def process_element(self, value: tuple[int, int], ctx: Any) -> Iterator[Any]:
        yield self.number, "watch", ctx.timer_service().current_watermark(), [value[0]]


class NoteStart(ProcessWindowFunction):
    """Shows where a window starts."""

    def process(self, key: int, context: Any, elements: Iterable[int]) -> Iterator[int]:
        yield context.window().start


class NoteWindow(ProcessWindowFunction):
    """Notes what a window holds, and the watermark at which it was shown."""

    def __init__(self, number: int) -> None:
        self.number = number

    def process(self, key: str, context: Any, elements: Iterable[tuple[int, int]]) -> Iterator[Any]:
        held = sorted(index for index, _ in elements)
        yield self.number, "show", context.current_watermark(), held
