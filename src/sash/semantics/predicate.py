"""Calling a user's predicate with an event, with an error that names the event for which it failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sash.errors import ArgumentError, PredicateError, SashError
from sash.semantics.event import Event, Row

Predicate: TypeAlias = Callable[[Row], Any]


def holds(predicate: Predicate, event: Event, *, owner: str) -> bool:
    """Whether the predicate is true for this event. Null counts as false, as in SQL's WHERE."""
    try:
        answer = predicate(event.row)
    except SashError:
        raise
    except Exception as error:
        raise PredicateError(
            f"the predicate of {owner} raised {type(error).__name__}: {error}; called with {event.row}"
        ) from error
    return truth(answer, owner=owner, about=event.row)


def truth(answer: Any, *, owner: str, about: object) -> bool:
    """The answer of a user's function as a bool; anything but a bool (or null) is refused, because a number
    or an array that happens to be true hides a mistake."""
    if answer is None:
        return False
    if isinstance(answer, bool) or type(answer).__name__ in ("bool_", "bool"):
        return bool(answer)
    raise PredicateError(
        f"the predicate of {owner} must return True or False; it returned {answer!r} for {about}"
    )


def require_callable(given: Any, argument: str, example: str) -> None:
    if not callable(given):
        raise ArgumentError(argument, given, f"a function such as {example}")
