"""Asking a user's function about an event, with an error that says which event it could not answer for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sash.errors import ArgumentError, PredicateError, SashError
from sash.semantics.event import Event, Row

Predicate: TypeAlias = Callable[[Row], Any]


def holds(predicate: Predicate, event: Event, *, asked_by: str) -> bool:
    """Whether the predicate is true for this event. Null counts as false, as in SQL's WHERE."""
    try:
        answer = predicate(event.row)
    except SashError:
        raise
    except Exception as error:
        raise PredicateError(
            f"the predicate of {asked_by} raised {type(error).__name__}: {error}; asked about {event.row}"
        ) from error
    return truth(answer, asked_by=asked_by, about=event.row)


def truth(answer: Any, *, asked_by: str, about: object) -> bool:
    """The answer of a user's function as a bool; anything but a bool (or null) is refused, because a number
    or an array that happens to be true hides a mistake."""
    if answer is None:
        return False
    if isinstance(answer, bool) or type(answer).__name__ in ("bool_", "bool"):
        return bool(answer)
    raise PredicateError(
        f"the predicate of {asked_by} must answer True or False; it answered {answer!r} for {about}"
    )


def require_callable(given: Any, argument: str, example: str) -> None:
    if not callable(given):
        raise ArgumentError(argument, given, f"a function such as {example}")
