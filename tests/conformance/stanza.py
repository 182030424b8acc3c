"""Reading a transcript: what arrives, and what must be reported after it. See transcripts/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from sash.aggregation import built_in
from sash.semantics import durations, windows
from sash.semantics.event import Order
from sash.semantics.query import Emit, Query
from sash.semantics.reference import Arrival, Batch
from sash.semantics.run_as_engine import as_engine
from sash.semantics.window import Window

TRANSCRIPTS = Path(__file__).parent / "transcripts"
_EVENT = re.compile(r"(?:(?P<key>\w+)@)?(?P<time>-?\d+|null)(?::(?P<x>\S+))?")
_REPORT = re.compile(
    r"(?:(?P<name>\w+)!)?(?:(?P<key>\w+)/)?w(?P<id>-?\d+)"
    r"(?:\s*\[(?P<start>-?\d+|null)\s*,\s*(?P<end>-?\d+|null)[)\]])?"
    r"\s*:\s*(?P<holds>(?:e\d+\s*)*)(?:rev\s+(?P<revision>\d+))?\s*"
)
_LATE = re.compile(r"(?:(?P<name>\w+)!)?e(?P<event>\d+)\s+(?P<reason>.+)")
_NAMES: dict[str, Any] = {name: getattr(windows, name) for name in windows.__all__}
_NAMES |= {f"sash_{name}": getattr(built_in, name) for name in ("sum", "last", "max", "count")}


@dataclass(frozen=True)
class WrittenReport:
    """An expected (or observed) report, in the transcript's terms."""

    window: str
    key: str | None
    id: int
    start: int | None
    end: int | None
    holds: tuple[int, ...]
    revision: int


@dataclass(frozen=True)
class Missed:
    """An expected (or observed) entry of the late output. `window` is None when no window is at fault, or
    when the query has only one."""

    event: int
    reason: str
    window: str | None = None


@dataclass(frozen=True)
class Step:
    """One batch and what follows it; the last step of a flushing stanza is the flush, without a batch."""

    batch: Batch | None
    reports: frozenset[WrittenReport]
    missed: frozenset[Missed]

    @property
    def late(self) -> frozenset[tuple[int, str]]:
        """For runtimes whose late output does not say which window is at fault."""
        return frozenset((missed.event, missed.reason) for missed in self.missed)


@dataclass(frozen=True)
class Stanza:
    """One transcript."""

    title: str
    query: Query
    steps: tuple[Step, ...] = field(repr=False)

    def __str__(self) -> str:
        return self.title

    @property
    def arrivals(self) -> list[Arrival]:
        return [arrival for step in self.steps if step.batch for arrival in step.batch.arrivals]


def a_few(stanzas: Iterable[Stanza]) -> list[Stanza]:
    """The first of each of a few files: for other versions of Spark too."""
    waiting, chosen = {"time", "rows", "session", "delta", "lateness"}, []
    for stanza in stanzas:
        file = stanza.title.partition(":")[0]
        if file in waiting:
            chosen.append(stanza)
            waiting.discard(file)
    return chosen


def with_a_few_quick(stanzas: Iterable[Stanza]) -> list[Any]:
    """Parameters of a test on Spark: a few are for other versions of it too."""
    given = list(stanzas)
    few = {stanza.title for stanza in a_few(given)}
    return [
        pytest.param(stanza, marks=pytest.mark.quick if stanza.title in few else ()) for stanza in given
    ]


def every_stanza() -> Iterator[Stanza]:
    for path in sorted(TRANSCRIPTS.glob("*.yaml")):
        for document in yaml.safe_load(path.read_text()):
            yield _stanza(path.stem, document)


def _stanza(kind: str, document: dict[str, Any]) -> Stanza:
    query = _query(document)
    numbers = iter(range(1, 10_000))
    names = [window.label for window in query.windows]
    steps = [_step(raw, names, numbers) for raw in document["steps"]]
    return Stanza(f"{kind}: {document['title']}", query, tuple(steps))


def _query(document: dict[str, Any]) -> Query:
    written = document["window"]
    windows = {"window": written} if isinstance(written, str) else written
    made = [_window(name, text, alone=isinstance(written, str)) for name, text in windows.items()]
    query = Query(
        windows=tuple(made),
        aggregates={"holds": built_in.collect("e")},
        order=Order(document.get("order", "event-time")),
        delay=durations.parse(document.get("delay", 0), "delay"),
        allowed_lateness=durations.parse(document.get("allowed_lateness", 0), "allowed_lateness"),
        emit=Emit.parse(document.get("emit", "close")),
        empty=document.get("empty", False),
        flush="flush" in document["steps"][-1],
    )
    return as_engine(query, document["semantics"]) if "semantics" in document else query


def _window(name: str, text: str, *, alone: bool) -> Window:
    window: Window = eval(text, dict(_NAMES))
    return window if alone else window.named(name)


def _step(raw: dict[str, Any], names: list[str], numbers: Iterator[int]) -> Step:
    reports = frozenset(_written_report(line, names) for line in raw.get("out") or raw.get("flush") or [])
    missed = frozenset(_missed(line) for line in raw.get("late") or [])
    if "flush" in raw:
        return Step(None, reports, missed)
    arrivals = tuple(_arrival(text, next(numbers)) for text in str(raw.get("in", "")).split())
    return Step(Batch(arrivals, raw.get("watermark")), reports, missed)


def _arrival(text: str, number: int) -> Arrival:
    match = _EVENT.fullmatch(text)
    assert match, f"not an event: {text!r}"
    time = None if match["time"] == "null" else int(match["time"])
    return Arrival(time, match["key"], {"e": number, "t": time, "x": _payload(match["x"])})


def _payload(text: str | None) -> Any:
    if text is None or text == "null":
        return None
    return yaml.safe_load(text)


def _written_report(line: str, names: list[str]) -> WrittenReport:
    match = _REPORT.fullmatch(line)
    assert match, f"not a report: {line!r}"
    return WrittenReport(
        window=match["name"] or names[0],
        key=match["key"],
        id=int(match["id"]),
        start=_bound(match["start"]),
        end=_bound(match["end"]),
        holds=tuple(int(number[1:]) for number in match["holds"].split()),
        revision=int(match["revision"] or 0),
    )


def _bound(text: str | None) -> int | None:
    return None if text in (None, "null") else int(text)


def _missed(line: str) -> Missed:
    match = _LATE.fullmatch(line)
    assert match, f"not a late event: {line!r}"
    return Missed(int(match["event"]), match["reason"], match["name"])
