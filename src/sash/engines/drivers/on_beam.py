"""Apache Beam on its DirectRunner: a TestStream advances the watermark after every group of events.

A TestStream waits until the pipeline has nothing left to do before it continues, so a marker that follows
the last event separates the reports that the events caused from those of the end of the input.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version as installed
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream
from apache_beam.transforms import trigger, window

ENGINE = "beam"
KINDS = ["time", "session"]
MARKER = ""
"""The key of the event that marks the end; no other event has it."""

# The runner copies the functions of a pipeline, but not a module that it can import.
SHOWN: list[list[int]] = []
BEFORE_THE_END: list[int] = []


def version() -> str:
    return f"{installed('apache-beam')} (DirectRunner)"


def answer(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [failing_in_gaps(run) if run["slide"] > run["size"] else one(run) for run in runs]


def failing_in_gaps(run: dict[str, Any]) -> dict[str, Any]:
    """Beam takes windows with gaps between them, and its runner fails on the first event in a gap."""
    try:
        return one(run)
    except IndexError as failure:
        return {"refused": f"the runner fails on an event that is in no window: {failure!r}"}


def one(run: dict[str, Any]) -> dict[str, Any]:
    SHOWN.clear()
    BEFORE_THE_END.clear()
    with beam.Pipeline(runner="DirectRunner", options=PipelineOptions(["--streaming"])) as pipeline:
        events = pipeline | fed(run)
        _ = events | "mark" >> beam.ParDo(EndMarker())
        _ = (
            events
            | beam.WindowInto(windows(run), **lateness(run))
            | beam.GroupByKey()
            | "show" >> beam.ParDo(CollectWindow())
        )
    at_end = BEFORE_THE_END[0]
    return {"reports": SHOWN[:at_end], "flushed": SHOWN[at_end:], "late": []}


def fed(run: dict[str, Any]) -> TestStream:
    """The events, each group followed by the watermark: the newest time so far, less the delay."""
    stream, watermark = TestStream(), None
    for group in run["groups"]:
        timed = [
            window.TimestampedValue((run["keys"][index], index), run["times"][index]) for index in group
        ]
        stream.add_elements(timed)
        reached = max(run["times"][: group[-1] + 1]) - run["delay"]
        if watermark is None or reached > watermark:
            stream.advance_watermark_to(reached)
            watermark = reached
    stream.add_elements([window.TimestampedValue((MARKER, 0), max(run["times"]))])
    stream.advance_watermark_to_infinity()
    return stream


def windows(run: dict[str, Any]) -> window.WindowFn:
    if run["kind"] == "session":
        return window.Sessions(run["size"])
    if run["size"] == run["slide"]:
        return window.FixedWindows(run["size"])
    return window.SlidingWindows(run["size"], run["slide"])


def lateness(run: dict[str, Any]) -> dict[str, Any]:
    """Each late event that is allowed makes its windows be shown again, with all that they hold: with the
    default trigger, they would be shown with that event alone."""
    if not run["lateness"]:
        return {}
    return {
        "allowed_lateness": run["lateness"],
        "trigger": trigger.AfterWatermark(late=trigger.AfterCount(1)),
        "accumulation_mode": trigger.AccumulationMode.ACCUMULATING,
    }


class EndMarker(beam.DoFn):
    """Notes how many reports there were when the marker came."""

    def process(self, element: tuple[str, int]) -> Iterator[Any]:
        if element[0] == MARKER:
            BEFORE_THE_END.append(len(SHOWN))
        return iter(())


class CollectWindow(beam.DoFn):
    """Notes what a window holds."""

    def process(self, element: tuple[str, Iterable[int]]) -> Iterator[Any]:
        key, held = element
        if key != MARKER:
            SHOWN.append(sorted(held))
        return iter(())
