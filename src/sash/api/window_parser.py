"""Windows in words: for command lines and configuration files, where there is no Python to write.

    <kind> <size> [every <slide>] [step <step>] [origin <offset>] [closed left|right] [as <name>]

Each kind takes its own clauses, in any order, and nothing else; `_KINDS` lists them. Durations are Spark's
('1 hour 30 minutes') or, for integer time columns, plain integers. The kinds that a Python function defines
(policy, threshold, punctuated) have no words.

>>> str(window_of("sliding 1 hour every 1 second"))
'time(1 hour, 1 second)'
>>> window_of("rows 100 every 10 as recent").label
'recent'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from sash.errors import ArgumentError, Unsupported
from sash.semantics import windows
from sash.semantics.durations import UNIT_WORDS
from sash.semantics.window import Window

_CLAUSES = ("every", "step", "origin", "closed", "as")
_CLAUSE = re.compile(rf"(?:^|\s+)({'|'.join(_CLAUSES)})(?:\s+|$)", re.IGNORECASE)
_INTEGER = re.compile(r"[+-]?\d+")
_NEED_FUNCTIONS = ("policy", "threshold", "punctuated")


@dataclass(frozen=True, slots=True)
class _Form:
    """How a kind is written: what builds it from the words of each clause, and which clauses it has."""

    shown: str
    build: Callable[..., Window]
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    sized: bool = True


def _delta(size: str, **clauses: Any) -> Window:
    attribute, _, length = size.rpartition(" ")
    every = _number("every", clauses.pop("every"))
    return windows.delta(attribute.strip(), _number("size", length), every, **clauses)


_KINDS: Mapping[str, _Form] = {
    "sliding": _Form(
        "sliding <duration> every <duration> [origin <duration>]",
        lambda size, every, **rest: windows.sliding(_length(size), every=_length(every), **rest),
        needs=("every",),
        may=("origin",),
    ),
    "tumbling": _Form(
        "tumbling <duration> [origin <duration>]",
        lambda size, **rest: windows.tumbling(_length(size), **rest),
        may=("origin",),
    ),
    "hopping": _Form(
        "hopping <duration> every <duration> [origin <duration>]",
        lambda size, every, **rest: windows.hopping(_length(size), every=_length(every), **rest),
        needs=("every",),
        may=("origin",),
    ),
    "rows": _Form(
        "rows <events> [every <events>]",
        lambda size, every=None: windows.rows(_length(size), every=every and _length(every)),
        may=("every",),
    ),
    "session": _Form("session <duration>", lambda size: windows.session(_length(size))),
    "slide_by_tuple": _Form(
        "slide_by_tuple <duration> every <events>",
        lambda size, every: windows.slide_by_tuple(_length(size), _length(every)),
        needs=("every",),
    ),
    "lifetime": _Form(
        "lifetime [every <events>]",
        lambda _, every="1": windows.lifetime(every=_length(every)),
        may=("every",),
        sized=False,
    ),
    "slide_by_time": _Form(
        "slide_by_time <events> every <duration> [origin <duration>]",
        lambda size, every, **rest: windows.slide_by_time(_length(size), _length(every), **rest),
        needs=("every",),
        may=("origin",),
    ),
    "cumulate": _Form(
        "cumulate <duration> step <duration> [origin <duration>]",
        lambda size, step, **rest: windows.cumulate(_length(size), _length(step), **rest),
        needs=("step",),
        may=("origin",),
    ),
    "delta": _Form(
        "delta <column> <number> every <number> [closed left|right]",
        _delta,
        needs=("every",),
        may=("closed",),
    ),
}
"""Every way to write a window; each may be followed by 'as <name>'."""


def window_of(text: str, *, argument: str = "window") -> Window:
    """The window that the words describe; `argument` is the name to blame when they cannot be read.

    >>> window_of("sliding 1 hour")
    Traceback (most recent call last):
        ...
    sash.errors.ArgumentError: window must be 'sliding <duration> every <duration> [origin <duration>]'; \
got 'sliding 1 hour'. It lacks 'every'.
    """
    if not isinstance(text, str) or not text.split():
        raise ArgumentError(argument, text, "words such as 'sliding 1 hour every 1 second'")
    kind, _, body = text.strip().partition(" ")
    form = _form(kind.lower(), text, argument)
    try:
        size, clauses = _clauses(body, form, text, argument)
        name = clauses.pop("as", None)
        if "origin" in clauses:
            clauses["origin"] = _length(clauses["origin"])
        window = form.build(size, **clauses)
    except ArgumentError as error:
        slips = _slips(body)
        if not slips:
            raise
        hint = " ".join(filter(None, [slips, _not_taken(body, form, kind.lower())]))
        raise ArgumentError(argument, text, f"'{form.shown}'", hint=hint) from error
    return window if name is None else window.named(name)


def _slips(words: str) -> str:
    """Words that are almost one of ours.

    >>> _slips("1 minut evry 10 seconds")
    "Did you mean 'minute' instead of 'minut', 'every' instead of 'evry'?"
    """
    known = [*_CLAUSES, *sorted(UNIT_WORDS)]
    unknown = [word for word in re.findall(r"[a-z]{3,}", words.lower()) if word not in known]
    close = {word: get_close_matches(word, known, n=1, cutoff=0.7) for word in unknown}
    slips = [f"'{near[0]}' instead of '{word}'" for word, near in close.items() if near]
    return f"Did you mean {', '.join(slips)}?" if slips else ""


def _not_taken(words: str, form: _Form, kind: str) -> str:
    """Of clauses that are meant, also if one is misspelt, the first that the kind does not take."""
    for word in re.findall(r"[a-z]{3,}", words.lower()):
        near = [] if word in UNIT_WORDS else get_close_matches(word, _CLAUSES, n=1, cutoff=0.7)
        if near and near[0] not in (*form.needs, *form.may, "as"):
            return _takes_no(kind, near[0])
    return ""


def _takes_no(kind: str, clause: str) -> str:
    overlapping = clause == "every" and kind == "tumbling"
    return f"{kind} takes no {clause!r}{'; sliding does' if overlapping else ''}."


def _form(kind: str, text: str, argument: str) -> _Form:
    if kind in _NEED_FUNCTIONS:
        raise Unsupported(
            argument, text, "a kind that needs no Python function", hint=f"In Python, use sash.{kind}(…)."
        )
    if kind not in _KINDS:
        close = get_close_matches(kind, _KINDS, n=1)
        hint = f"Did you mean '{_KINDS[close[0]].shown}'?" if close else ""
        hint = " ".join(filter(None, [hint, _slips(text.partition(" ")[2])]))
        raise ArgumentError(
            argument, text, f"a window that begins with one of {', '.join(_KINDS)}", hint=hint
        )
    return _KINDS[kind]


def _clauses(body: str, form: _Form, text: str, argument: str) -> tuple[str, dict[str, Any]]:
    def refused(hint: str) -> ArgumentError:
        return ArgumentError(argument, text, f"'{form.shown}'", hint=hint)

    size, *parts = _CLAUSE.split(body)
    if form.sized is not bool(size.strip()):
        raise refused("It lacks a size." if form.sized else "It has no size.")
    clauses: dict[str, Any] = {}
    for word, value in zip((part.lower() for part in parts[::2]), parts[1::2], strict=True):
        if word not in (*form.needs, *form.may, "as"):
            raise refused(_takes_no(text.partition(" ")[0].lower(), word))
        if word in clauses:
            raise refused(f"'{word}' occurs twice.")
        if not value.strip():
            raise refused(f"Nothing follows '{word}'.")
        clauses[word] = value.strip()
    for word in form.needs:
        if word not in clauses:
            raise refused(f"It lacks '{word}'.")
    return size.strip(), clauses


def _length(words: str) -> Any:
    """An integer as one; anything else is left to be read, or refused, as a duration."""
    return int(words) if _INTEGER.fullmatch(words) else words


def _number(argument: str, words: str) -> float:
    try:
        return int(words) if _INTEGER.fullmatch(words) else float(words)
    except ValueError:
        raise ArgumentError(argument, words, "a number, in the column's unit") from None
