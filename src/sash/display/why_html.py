"""A `Why` as HTML, for notebooks: the sentences of the text form, one table per window.

Colours are the notebook's own (`inherit`, `currentColor`), so that light and dark themes both work.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from sash.display import tables
from sash.semantics.time_format import runs
from sash.semantics.why import text
from sash.semantics.why.why_answer import EventStory, HeldStory, Why, WindowStory

_MARKS = {"reported": "●", "open": "◐", "waits": "○"}
"""Distinguished by shape, not by colour alone."""


class NotebookWhy(Why):
    """A `Why` that notebooks show as tables."""

    @classmethod
    def of(cls, why: Why) -> NotebookWhy:
        return cls(**vars(why))

    def _repr_html_(self) -> str:
        return as_html(self)


def as_html(why: Why) -> str:
    """The whole answer as one element."""
    parts = [f"<p>{escape(text.known(why))}</p>"]
    for event in why.events:
        parts += _event(why, event)
    if why.late:
        parts.append(f"<p>{escape(text.late(why))}</p>")
    return tables.block("why", parts)


def _event(why: Why, event: EventStory) -> Iterator[str]:
    yield f"<p><b>{escape(text.title(why, event))}</b></p>"
    for window in event.windows:
        caption = f"<b>{escape(window.shown or window.label)}</b>: {escape(text.summary(window))}"
        yield f"<p>{caption}<br><code>{escape(window.formula)}</code></p>"
        if window.held:
            yield tables.as_html(("window", "events", "state", "why"), _held_rows(why, window))
        if window.engines:
            yield "<p>other engines, given the events of this key in order of time, without delay</p>"
            yield tables.as_html(("engines", "reports with it"), _engine_rows(window))


def _held_rows(why: Why, window: WindowStory) -> Iterator[tuple[str, ...]]:
    for held in text.chosen(window):
        if isinstance(held, int):
            yield (f"… and {held:,} more in between", "", "", "")
        else:
            yield _held_row(why, window, held)


def _held_row(why: Why, window: WindowStory, held: HeldStory) -> tuple[str, ...]:
    state = f"{_MARKS[held.state]} {held.state}"
    events = escape(runs(window.numbers(held.holds)))
    return escape(text.name(why, window, held)), events, state, "<br>".join(map(escape, held.why))


def _engine_rows(window: WindowStory) -> Iterator[tuple[str, ...]]:
    for sentence, engines in text.alike(window):
        yield escape(", ".join(engine.engine for engine in engines)), escape(sentence)
