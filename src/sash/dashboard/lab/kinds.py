"""The windows of the lab: every kind of Sash, each with the few numbers that it needs.

    kind × numbers  →  a Window, and the Python that makes it

Predicates and policies are chosen from lists, with a number to compare with; no text is evaluated.

>>> choices()["sliding"]["parameters"][1]["name"]
'every'
>>> KINDS["threshold"].python({"compare": ">=", "value": 5})
'sash.threshold(lambda row: row.x >= 5)'
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

from sash.aggregation import built_in
from sash.semantics import windows
from sash.semantics.event import Row
from sash.semantics.window import Window

GivenNumbers: TypeAlias = Mapping[str, Any]

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    ">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt, "==": operator.eq,
}  # fmt: skip


@dataclass(frozen=True)
class Parameter:
    """A number or a word that a kind needs."""

    name: str
    label: str
    default: int | str
    measure: Literal["time", "events", "x", "choice"] = "time"
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class LabKind:
    """A kind of window, as a form declares it."""

    title: str
    about: str
    parameters: tuple[Parameter, ...]
    build: Callable[[GivenNumbers], Window]
    python: Callable[[GivenNumbers], str]


def choices() -> dict[str, Any]:
    """The kinds and their parameters as plain data, for the form of the page."""
    return {
        name: {
            "title": kind.title,
            "about": kind.about,
            "parameters": [asdict(parameter) for parameter in kind.parameters],
        }
        for name, kind in KINDS.items()
    }


def _compares(row: Row, *, compare: str, value: float) -> bool:
    return COMPARISONS[compare](row.x, value)


def _sum_at_most(total: Any, old: Any, *, limit: float) -> bool:
    return bool(total.s - old.s + old.last > limit)


def _policy(given: GivenNumbers) -> Window:
    track = {"s": built_in.sum("x"), "last": built_in.last("x")}
    return windows.policy(partial(_sum_at_most, limit=given["limit"]), track=track, every=given["every"])


_SIZE = Parameter("size", "size", 10)
_EVENTS = Parameter("size", "size in events", 4, "events")
_EVERY = Parameter("every", "every", 5)
_EVERY_EVENTS = Parameter("every", "every so many events", 2, "events")
_ORIGIN = Parameter("origin", "origin", 0)
_COMPARED = (
    Parameter("compare", "x is", ">=", "choice", tuple(COMPARISONS)),
    Parameter("value", "than or to", 5, "x"),
)

KINDS: Mapping[str, LabKind] = {
    "sliding": LabKind(
        "Sliding",
        "The last while, again and again: windows overlap, or leave gaps. Also called hopping.",
        (_SIZE, _EVERY, _ORIGIN),
        lambda p: windows.sliding(p["size"], every=p["every"], origin=p["origin"]),
        lambda p: f"sash.sliding({p['size']}, every={p['every']}{_origin(p)})",
    ),
    "tumbling": LabKind(
        "Tumbling",
        "Windows that touch and do not overlap.",
        (_SIZE, _ORIGIN),
        lambda p: windows.tumbling(p["size"], origin=p["origin"]),
        lambda p: f"sash.tumbling({p['size']}{_origin(p)})",
    ),
    "cumulate": LabKind(
        "Cumulating",
        "Windows that grow by a step from a tumbling start up to a maximum.",
        (Parameter("size", "maximum", 12), Parameter("step", "step", 4), _ORIGIN),
        lambda p: windows.cumulate(p["size"], p["step"], origin=p["origin"]),
        lambda p: f"sash.cumulate({p['size']}, {p['step']}{_origin(p)})",
    ),
    "session": LabKind(
        "Session",
        "Bursts of activity, cut where nothing happens for longer than the gap.",
        (Parameter("gap", "gap", 4),),
        lambda p: windows.session(p["gap"]),
        lambda p: f"sash.session({p['gap']})",
    ),
    "rows": LabKind(
        "Rows",
        "So many events, every so many events.",
        (_EVENTS, _EVERY_EVENTS),
        lambda p: windows.rows(p["size"], every=p["every"]),
        lambda p: f"sash.rows({p['size']}, every={p['every']})",
    ),
    "slide_by_tuple": LabKind(
        "Slide by tuple",
        "A range of time, looked back at from every so many events.",
        (_SIZE, _EVERY_EVENTS),
        lambda p: windows.slide_by_tuple(p["size"], p["every"]),
        lambda p: f"sash.slide_by_tuple({p['size']}, {p['every']})",
    ),
    "slide_by_time": LabKind(
        "Slide by time",
        "The last so many events, looked back at from the ticks of a clock.",
        (_EVENTS, _EVERY, _ORIGIN),
        lambda p: windows.slide_by_time(p["size"], p["every"], origin=p["origin"]),
        lambda p: f"sash.slide_by_time({p['size']}, {p['every']}{_origin(p)})",
    ),
    "delta": LabKind(
        "Delta",
        "The last stretch of a value that never decreases, whenever it has grown enough.",
        (
            Parameter("size", "size, in x", 6, "x"),
            Parameter("every", "every, in x", 3, "x"),
            Parameter("closed", "closed", "left", "choice", ("left", "right")),
        ),
        lambda p: windows.delta("x", p["size"], p["every"], closed=p["closed"]),
        lambda p: f"sash.delta(\"x\", {p['size']}, {p['every']}{_closed(p)})",
    ),
    "threshold": LabKind(
        "Threshold",
        "Runs of events for which a condition on x holds.",
        _COMPARED,
        lambda p: windows.threshold(partial(_compares, compare=p["compare"], value=p["value"])),
        lambda p: f"sash.threshold(lambda row: row.x {p['compare']} {p['value']})",
    ),
    "punctuated": LabKind(
        "Punctuated",
        "Events mark where a window ends: those whose x satisfies a condition.",
        _COMPARED,
        lambda p: windows.punctuated(partial(_compares, compare=p["compare"], value=p["value"])),
        lambda p: f"sash.punctuated(lambda row: row.x {p['compare']} {p['value']})",
    ),
    "policy": LabKind(
        "Slide policy",
        "The longest run of the latest events whose x add up to at most a limit.",
        (
            Parameter("limit", "sum of x at most", 12, "x"),
            Parameter("every", "every so many events", 1, "events"),
        ),
        _policy,
        lambda p: (
            f"sash.policy(\n        lambda total, old: total.s - old.s + old.last > {p['limit']},\n"
            f'        track=dict(s=sash.sum("x"), last=sash.last("x")),\n        every={p["every"]},\n    )'
        ),
    ),
}  # fmt: skip


def _origin(given: GivenNumbers) -> str:
    return f", origin={given['origin']}" if given["origin"] else ""


def _closed(given: GivenNumbers) -> str:
    return "" if given["closed"] == "left" else ', closed="right"'
