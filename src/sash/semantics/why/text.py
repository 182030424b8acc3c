"""A `Why` as text, for terminals.

A sliding window can hold an event in thousands of windows. Neighbours in the same state are one group, of
which the ends are shown; engines that answer alike share a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sash.semantics.event import Order
from sash.semantics.time_format import runs
from sash.semantics.why.other_engines import EngineStory
from sash.semantics.why.why_answer import EventStory, HeldStory, Why, WindowStory

SHOWN = 2
"""How many windows are shown at each end of a group."""


def as_text(why: Why) -> str:
    lines = [known(why)]
    for event in why.events:
        lines += ["", *_event(why, event)]
    if why.late:
        lines += ["", late(why)]
    return "\n".join(lines)


def known(why: Why) -> str:
    """What was known: one sentence."""
    facts, reading = why.known, why.reading
    day = f" on {reading.day}" if reading.day else ""
    words = [f"{facts.arrived:,} events have arrived{day}"]
    if facts.order is Order.EVENT_TIME:
        words.append(f"newest {reading.time(facts.newest)}")
        words.append(f"watermark {reading.time(facts.watermark)}")
        words.append(f"delay {reading.length(facts.delay)}")
    else:
        words.append("arrival order")
    if facts.ended:
        words.append("and the input has ended")
    return ", ".join(words)


def late(why: Why) -> str:
    whose = f" of key {why.key!r}" if why.keyed else ""
    counts = ", ".join(f"{count:,} {reason}" for reason, count in why.late.items())
    return f"late events{whose}: {counts}"


def title(why: Why, event: EventStory) -> str:
    whose = f" of key {why.key!r}" if why.keyed else ""
    when = "without a time" if event.time is None else f"at {why.reading.time(event.time)}"
    return f"event {event.number}{whose}, {when}: {event.verdict}"


def summary(window: WindowStory) -> str:
    """How many windows hold the event, by state."""
    if window.absence:
        return f"in no window: {window.absence}"
    counts = [(state, sum(held.state == state for held in window.held)) for state in _STATES]
    states = ", ".join(f"{count:,} {_STATES[state]}" for state, count in counts if count)
    number = len(window.held)
    return f"{number:,} window{'' if number == 1 else 's'} hold{'s' if number == 1 else ''} it: {states}"


_STATES = {"reported": "reported", "open": "reported and still open", "waits": "waiting"}


def chosen(window: WindowStory) -> Iterator[HeldStory | int]:
    """The windows to show; a number stands for so many that are left out."""
    for _, group in groupby(window.held, key=lambda held: held.state):
        alike = list(group)
        left_out = len(alike) - 2 * SHOWN
        if left_out <= 1:
            yield from alike
        else:
            yield from alike[:SHOWN]
            yield left_out
            yield from alike[-SHOWN:]


def name(why: Why, window: WindowStory, held: HeldStory) -> str:
    """A window by its identifier and its ends; the end of one that the clock cuts lies outside."""
    if held.start is None and held.end is None:
        return f"w {held.id}"
    bracket = ")" if window.half_open else "]"
    return f"w {held.id} [{why.reading.time(held.start)}, {why.reading.time(held.end)}{bracket}"


def alike(window: WindowStory) -> Iterator[tuple[str, list[EngineStory]]]:
    """Engines that answer with the same sentence, in the order of the first of each."""
    sentences: dict[str, list[EngineStory]] = {}
    for engine in window.engines:
        sentences.setdefault(_answer(window, engine), []).append(engine)
    yield from sentences.items()


def _event(why: Why, event: EventStory) -> Iterator[str]:
    yield title(why, event)
    for window in event.windows:
        yield f"  {window.shown or window.label}: {summary(window)}"
        for held in chosen(window):
            if isinstance(held, int):
                yield f"    … and {held:,} more in between"
                continue
            yield f"    {name(why, window, held)}  events {runs(window.numbers(held.holds))}"
            yield from (f"      {sentence}" for sentence in held.why)
        if window.engines:
            yield "    other engines, given the events of this key in order of time, without delay:"
        for sentence, engines in alike(window):
            yield f"      {', '.join(engine.engine for engine in engines)}: {sentence}"


def _answer(window: WindowStory, engine: EngineStory) -> str:
    if engine.remark:
        return engine.remark
    if not engine.reports:
        same = ", as here" if engine.same else ""
        return f"no report with it{same}"
    shown = [f"{{{runs(window.numbers(content))}}}" for content in engine.contents]
    if len(shown) > 2 * SHOWN + 1:
        shown = [*shown[:SHOWN], f"… {len(shown) - 2 * SHOWN:,} more …", *shown[-SHOWN:]]
    same = "as here: " if engine.same else ""
    times = f" in {engine.reports:,} reports" if engine.reports > len(engine.contents) else ""
    return f"{same}{' '.join(shown)}{times}"
