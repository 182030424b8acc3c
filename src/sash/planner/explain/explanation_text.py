"""An explanation as text, for people: in a few lines, or with the whole plan. It shows only what an
`Explanation` holds. Joins have theirs in `api/join_query.py` (which lines) and `api/join_text.py` (their
words), O+ in `api/operator_query.py`, several queries in `api/together.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TypeAlias

from sash.errors import ArgumentError
from sash.operators.patterns.declared import WinSeq
from sash.planner.explain.explanation import Explanation, PatternExplanation, WindowExplanation
from sash.planner.explain.state_size import State, in_bytes
from sash.semantics.window import Context

Section: TypeAlias = tuple[str, Sequence[str]]

SHOWN = 8
"""Aggregates that are named in the short form."""
WIDTH = 120
"""Of a line, in characters."""

RUNTIMES = {
    "process": "in this process",
    "process streaming": "in this process, table after table",
    "spark batch": "on Spark, batch",
    "spark streaming": "on Spark, streaming",
}

_CLASSES = {
    Context.CF: "where windows begin and end is known before any event",
    Context.FCF: "where windows begin and end follows from the events so far",
    Context.FCA: "where a window begins depends on a later event",
}

_LOOK_BACKS = {
    "event": "E(r, W) = { τ : τ_r − W < τ ≤ τ_r } for each event r and look-back W",
    "key": "E(W) = { τ : now − W < τ ≤ now } for each look-back W",
}


def sections(titled: Iterable[Section]) -> str:
    """Titles, and their lines below them; sections without lines are left out."""
    lines: list[str] = []
    for title, body in titled:
        if body:
            lines += [title, *(f"  {line}" for line in body)]
    return "\n".join(lines)


def numbered_lines(stages: Iterable[str]) -> list[str]:
    return [f"{number}. {stage}" for number, stage in enumerate(stages, start=1)]


def require_form(form: str) -> None:
    """ArgumentError unless `explain` has such a form."""
    if form not in ("text", "plan", "json"):
        raise ArgumentError("form", form, "'text', 'plan' or 'json'")


class Printed(str):
    """A text that has been printed: where a session shows what a call returns, it is not shown again.

    >>> text = Printed("two lines")
    >>> text
    <explanation, printed above>
    >>> text == "two lines"
    True
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return "<explanation, printed above>"


def printed(text: str) -> str:
    print(text)
    return Printed(text)


def as_text(explanation: Explanation) -> str:
    """What the query means, what it costs and what it keeps."""
    values = [f"{one.name} = {one.call}" for one in explanation.aggregates] or _computed(explanation)
    shown = values[:SHOWN] + ([f"and {len(values) - SHOWN} more"] if len(values) > SHOWN else [])
    keys = f"by {', '.join(explanation.keys)}" if explanation.keys else "without a key"
    pattern = explanation.pattern
    workers = "" if pattern.name == str(WinSeq()) else f"{pattern.name}: "
    facts = [
        *_meaning(explanation),
        ("values", ", ".join(shown)),
        ("events", f"{keys}, in {explanation.order} order of {explanation.time}"),
        ("report", explanation.reported.removeprefix("reported ")),
        ("cost", explanation.algorithm.how),
        ("runs", f"{RUNTIMES[explanation.runtime]}; {workers}{pattern.why}"),
        *_keeps(explanation.state, per="per key: " if explanation.keys else ""),
        *(("cheaper", advice) for advice in explanation.advice),
        ("more", 'explain("plan"): stages, candidates, estimated costs; explain("json")'),
    ]
    return named(facts)


def named(facts: Iterable[tuple[str, str]]) -> str:
    """A few words in front of each fact, which goes on below itself where it is long."""
    return "\n".join(
        fill(
            fact,
            WIDTH,
            initial_indent=f"{name:<8} ",
            subsequent_indent=" " * 9,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for name, fact in facts
    )


def _meaning(explanation: Explanation) -> list[tuple[str, str]]:
    """What a row stands for, in plain words, and the formulas."""
    formulas = [("formula", window.formula) for window in explanation.windows]
    if explanation.rows != "window" and len(formulas) > 1:
        formulas = [("formula", _LOOK_BACKS[explanation.rows])]
    if explanation.rows == "window":
        return [("window", _held(window)) for window in explanation.windows] + formulas
    from_where = "up to it" if explanation.rows == "event" else "up to now"
    reach = ", ".join(window.meaning for window in explanation.windows)
    return [("rows", f"one row per {explanation.rows}: {reach}, {from_where}"), *formulas]


def _held(window: WindowExplanation) -> str:
    several = f"; {_number(window.overlap)} windows per event" if window.overlap != 1 else ""
    return f"{window.written}: {window.meaning or window.formula}{several}"


def as_plan(explanation: Explanation) -> str:
    """Everything that is known about how it will be computed."""
    return sections(
        [
            ("semantics", _semantics(explanation)),
            ("computed over each window", _computed(explanation)),
            ("algorithm", _algorithm(explanation)),
            ("pattern", _pattern(explanation)),
            (f"stages: {RUNTIMES[explanation.runtime]}", numbered_lines(explanation.stages)),
            (
                "state per key",
                [f"no state per key; {explanation.state.amount}"]
                if explanation.state.kept == "nothing"
                else _state(explanation.state),
            ),
            ("cheaper", explanation.advice),
        ]
    )


def _semantics(explanation: Explanation) -> list[str]:
    lines = []
    for window in explanation.windows:
        lines += [window.written, f"  {window.formula}"]
        if explanation.rows == "window":
            lines.append(f"  {_CLASSES[Context(window.context)]} ({window.context})")
        if window.overlap != 1 and explanation.rows == "window":
            lines.append(f"  {_number(window.overlap)} windows per event")
        if not window.on_columns:
            lines.append("  evaluated event by event: correct, but slow on large inputs")
    keys = ", ".join(explanation.keys) or "none"
    return [
        *lines,
        f"{explanation.order} order of {explanation.time}, by key ({keys})",
        explanation.reported
        if explanation.rows == "window"
        else f"one row per {explanation.rows}, emitted {explanation.reported}",
    ]


def _computed(explanation: Explanation) -> list[str]:
    if explanation.whole:
        return [f"{explanation.whole}: whole windows, each from its rows"]
    return [
        f"{one.name}: {one.call}, "
        f"{'commutative' if one.commutative else 'ordered'}{'' if one.compiled else ', interpreted'}"
        for one in explanation.aggregates
    ]


def _algorithm(explanation: Explanation) -> list[str]:
    lines = [f"{explanation.algorithm.name}: {explanation.algorithm.how}"]
    if explanation.algorithm.panes != "nowhere":
        lines.append(f"panes are folded {explanation.algorithm.panes}")
    return lines


def _pattern(explanation: Explanation) -> list[str]:
    pattern = explanation.pattern
    workers = "" if pattern.workers is None else f": {pattern.workers} worker{'s' * (pattern.workers > 1)}"
    lines = [f"{pattern.name}{workers}", f"  {pattern.why}"]
    if len(set(pattern.levels)) == 1:
        lines.append(f"  every level: {pattern.levels[0]}: there is nothing to fuse")
    elif pattern.levels:
        lines += [f"  level {number}: {stages}" for number, stages in enumerate(pattern.levels)]
        requested = ", as requested" if "optimize=" in pattern.name else ""
        ordered = "rows come in order of key, window and identifier"
        lines.append(f"  what runs is level {pattern.level}{requested}; {ordered}")
    return [*lines, *_candidates(explanation, pattern)]


def _candidates(explanation: Explanation, pattern: PatternExplanation) -> list[str]:
    if len(pattern.candidates) < 2:
        return []
    events = explanation.events
    keys = f"{events.keys:,} key{'s' * (events.keys > 1)}"
    hottest = "less than 1%" if events.hottest < 0.01 else f"{events.hottest:.0%}"
    lines = [
        f"candidates for {explanation.cores} cores; {events.known}: {events.rows:,} events of {keys}, the "
        f"hottest with {hottest}; {pattern.constants}:"
    ]
    width = max(len(one.pattern) for one in pattern.candidates)
    for one in sorted(pattern.candidates, key=lambda one: one.seconds):
        mark = "→" if one.chosen else " "
        lines.append(f"{mark} {one.pattern:<{width}}  {in_seconds(one.seconds):>8}, mostly {one.dearest}")
    return lines + [f"✗ {one.pattern}: {one.reason}" for one in pattern.forbidden]


def _keeps(state: State, *, per: str) -> list[tuple[str, str]]:
    if state.kept == "nothing":
        return [("keeps", f"no state per key; {state.amount}")]
    amount, grows = _state(state)
    return [("keeps", f"{per}{amount}"), ("grows", grows.removeprefix("grows "))]


def _state(state: State) -> list[str]:
    if state.units is not None:
        size = f"about {in_bytes(state.units * state.unit_bytes)}"
    elif state.full is not None:
        size = f"{in_bytes(state.full * state.unit_bytes)} and {state.unit_bytes} bytes per waiting event"
    else:
        size = f"{state.unit_bytes} bytes per event"
    beside = f", plus {state.beside}" if state.beside else ""
    return [f"{state.amount}, {size}{beside}", f"grows {state.growth}"]


def in_seconds(seconds: float) -> str:
    """Three figures, in a unit that fits.

    >>> in_seconds(0.00012), in_seconds(0.0345), in_seconds(7.2)
    ('0.12 ms', '34.5 ms', '7.2 s')
    """
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


def _number(value: float) -> str:
    """
    >>> _number(3.3333), _number(60.0), _number(12_000.4)
    ('3.33', '60', '12,000')
    """
    return f"{value:.3g}" if value < 100 else f"{value:,.0f}"
