"""The answer to an experiment: its windows, what was reported when, and the Python for it.

Everything comes from the definitions: extents from the window kind, reports from `semantics.reference`,
which is fed event by event, sentences from `semantics.why`. Events are known by their number in the order
of arrival, from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sash.dashboard.lab.engine_reports import engines
from sash.dashboard.lab.experiment import Experiment
from sash.semantics.event import Event, Order, arrange
from sash.semantics.reference import Batch, Evaluation, one_by_one
from sash.semantics.why import explain
from sash.semantics.window import ContextFreeWindow, Extent, IntervalWindow, Window


def answer(given: Any) -> dict[str, Any]:
    """What an experiment, as a browser sends it, comes to."""
    experiment = Experiment.read(given)
    run = _ReferenceRun(experiment)
    window = experiment.window
    return {
        "window": {
            "label": window.shown, "meaning": window.meaning, "formula": window.formula,
            "context": window.context.value,
        },
        "events": run.events(),
        "extents": run.extents(),
        "reports": run.reports,
        "watermark": run.watermarks[-1] if run.watermarks else None,
        "story": _story(experiment),
        "engines": run.engines(),
        "python": python(experiment),
    }  # fmt: skip


class _ReferenceRun:
    """The reference over the events, one after the other."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment, self._window = experiment, experiment.window
        self._evaluation = Evaluation(experiment.query)
        self._numbers: list[int] = []
        """The arrival numbers of the accepted events, by ordinal."""
        self.watermarks: list[int | None] = []
        self.reports: list[dict[str, Any]] = []
        for number, arrival in enumerate(experiment.arrivals):
            before, known = len(self._evaluation.reports), len(self._accepted)
            self._evaluation.take(Batch((arrival,)))
            if len(self._accepted) > known:
                self._numbers.append(number)
            self.watermarks.append(self._evaluation.watermark.value)
            for report in self._evaluation.reports[before:]:
                holds = [self._numbers[ordinal] for ordinal in report.ordinals]
                self.reports.append(
                    {"arrival": number, "id": report.id, "revision": report.revision, "holds": holds}
                )
        ordered = arrange(self._accepted, experiment.query.order)
        self._placed, self._displaced = self._window.place(ordered)
        horizon = self._evaluation.watermark.horizon
        self._extents = list(self._window.extents(self._placed, horizon=horizon))

    @property
    def _accepted(self) -> list[Event]:
        return self._evaluation.events.get(None, [])

    @property
    def late(self) -> frozenset[int]:
        """The arrivals that were too late for every window, by number."""
        return frozenset(range(len(self._experiment.arrivals))) - frozenset(self._numbers)

    def events(self) -> list[dict[str, Any]]:
        """Each with the windows that hold it, or why none can. A value that no window accepts is late once
        the watermark has passed it, as in every runtime: until then an earlier event may change that."""
        final = {ordinal for _key, _label, ordinal in self._evaluation.displaced}
        displaced = {
            self._numbers[event.ordinal]: reason
            for event, reason in self._displaced
            if event.ordinal in final
        }
        places = {self._numbers[event.ordinal]: place for place, event in enumerate(self._placed)}
        found = []
        for number, arrival in enumerate(self._experiment.arrivals):
            late = "behind the watermark" if number in self.late else None
            place = places.get(number)
            ids = [] if place is None else [e.id for e in self._extents if e.lo <= place < e.hi]
            found.append(
                {
                    "time": arrival.time,
                    "x": arrival.values["x"],
                    "late": displaced.get(number, late),
                    "watermark": self.watermarks[number],
                    "windows": ids,
                    "mapping": None if place is None else self._mapping(place),
                }
            )
        return found

    def _mapping(self, place: int) -> str | None:
        """M(x) in closed form, for the kinds that have one."""
        if not isinstance(self._window, ContextFreeWindow):
            return None
        at = self._placed[place].time if isinstance(self._window, IntervalWindow) else place
        ids = self._window.mapping(at)
        return f"M({at}) = {_set(ids)}"

    def extents(self) -> list[dict[str, Any]]:
        """The windows over what has been accepted, and the arrival that made each be reported last."""
        last = {report["id"]: report for report in self.reports}
        return [
            {
                "id": extent.id,
                "start": extent.start,
                "end": extent.end,
                "closes_at": extent.closes_at,
                "holds": self._held(extent),
                "reported": last[extent.id]["arrival"] if extent.id in last else None,
                "revision": last[extent.id]["revision"] if extent.id in last else None,
                "interval": _interval(self._window, extent),
            }
            for extent in self._extents
            if len(extent)
        ]

    def engines(self) -> list[dict[str, Any]]:
        if self._experiment.query.order is Order.ARRIVAL:
            return []
        latest = {report["id"]: tuple(sorted(report["holds"])) for report in self.reports}
        events = [
            Event(event.time, self._numbers[event.ordinal], None, event.values) for event in self._placed
        ]
        return engines(self._window, events, {content for content in latest.values() if content})

    def _held(self, extent: Extent) -> list[int]:
        return [self._numbers[event.ordinal] for event in self._placed[extent.lo : extent.hi]]


def _interval(window: Window, extent: Extent) -> str:
    """Its ends, and which of them it holds: [0, 10) or [1, 9]."""
    if extent.start is None or extent.end is None:
        return ""
    return f"[{extent.start}, {extent.end}{')' if window.half_open else ']'}"


def _set(ids: Sequence[int]) -> str:
    if not ids:
        return "∅"
    return f"{{{ids[0]}}}" if len(ids) == 1 else f"{{{ids[0]} … {ids[-1]}}}"


def _story(experiment: Experiment) -> dict[str, Any] | None:
    """Why the windows of the selected event were reported, or what they wait for."""
    if experiment.selected is None:
        return None
    why = explain(
        experiment.query,
        one_by_one(experiment.arrivals),
        key=None,
        at=experiment.arrivals[experiment.selected].time,
        engines={},
    ).to_dict()
    event = next(event for event in why["events"] if event["number"] == experiment.selected + 1)
    windows = event["windows"][0] if event["windows"] else {"held": [], "absence": None}
    return {
        "event": experiment.selected,
        "verdict": event["verdict"],
        "absence": windows["absence"],
        "held": [
            {"id": held["id"], "state": held["state"], "why": held["why"]} for held in windows["held"]
        ],
    }


def python(experiment: Experiment) -> str:
    """A program that reports what the picture shows, event by event.

    Each event is a micro-batch, as it is for the reference; what is late is judged by the program itself.
    The stream has not ended, so windows that wait in the picture wait in the program.
    """
    query = experiment.query
    times = [arrival.time for arrival in experiment.arrivals]
    xs = [arrival.values["x"] for arrival in experiment.arrivals]
    arguments = ['time="time"']
    arguments += [f"delay={query.delay.length}"] * bool(query.delay.length)
    lateness = query.allowed_lateness.length
    arguments += [f"allowed_lateness={lateness}"] * bool(lateness)
    arguments += ['order="arrival"'] * (query.order is Order.ARRIVAL)
    return (
        "import pyarrow as pa\nimport sash\n\n"
        "events = pa.table({\n"
        f'    "time": pa.array({times}, pa.int64()),\n'
        f'    "x": {xs or "pa.array([], pa.int64())"},\n'
        "})\n"
        "one_by_one = [events.slice(n, 1) for n in range(max(1, len(events)))]\n"
        "q = (\n"
        f"    sash.stream(one_by_one, {', '.join(arguments)})\n"
        f"    .window({experiment.kind.python(experiment.numbers)}, flush=False)\n"
        '    .agg(n=sash.count(), total=sash.sum("x"))\n'
        ")\n"
        "for number, result in enumerate(q.flat().batches(), start=1):\n"
        "    for row in result.reports.to_pylist():\n"
        '        print(f"t{number} closes", row)\n'
        "    for row in result.late.to_pylist():\n"
        '        print(f"t{number} is late:", row["late_reason"])\n'
    )
