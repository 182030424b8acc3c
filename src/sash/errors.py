"""What can go wrong, as a tree. Every message names the argument, what was given and what would work.

    SashError
    ├── ArgumentError              a value that the caller passed cannot be used   (also a ValueError)
    │   ├── DurationError          not a duration, or not one of a fixed length
    │   ├── UnitError              durations and plain integers mixed
    │   ├── UnknownColumn          no such column; suggests the nearest name
    │   ├── UnknownEngine          no such SECRET profile
    │   ├── SettingError           a Spark setting that cannot work
    │   ├── WrongCall              arguments that a function does not have or lacks   (also a TypeError)
    │   └── Unsupported            not supported in this combination
    ├── AlgebraError               the monoid lacks a property that the algorithm needs
    │   ├── NotInvertible
    │   ├── NotCommutative
    │   └── LawViolation           sash.testing.laws found a counterexample  (also an AssertionError)
    ├── DataError                  the data violates something the query relies on
    │   ├── IntegerOverflow        a 64-bit sum does not fit                 (also an OverflowError)
    │   ├── PredicateError         a user's function raised, or did not return a bool
    │   ├── BadFile                a file of a stream is missing, damaged, or has other columns
    │   └── OutOfOrder             an element older than what a FIFO aggregator already holds
    ├── StoreError                 a store failed, or refused a request
    │   ├── CorruptValue           damaged or foreign bytes under a key
    │   ├── DifferentQuery         a checkpoint of another query
    │   ├── StoreUnavailable       the server does not answer after bounded retries
    │   ├── NoSpace                the disk is full                         (also an OSError)
    │   └── EpochError             commit, rollback or read of an epoch that does not exist
    ├── EngineError                a live engine that is probed died, hung or failed
    ├── PipelineError              a pipeline file has a mistake, with its line         (also a ValueError)
    │   └── PipelineErrors         … with several mistakes
    ├── QueryFailed                a running query failed in Spark or because of the machine
    └── MissingDependency          an optional package or program is not installed (also an ImportError)

    SashWarning                    something works, but not as well as it could

`except SashError` catches everything that Sash raises on purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from types import FunctionType
from typing import Any


class SashError(Exception):
    """The root: `except sash.errors.SashError` catches everything that Sash raises on purpose."""


class SashWarning(UserWarning):
    """Something works, but not as well as it could."""


def did_you_mean(given: object, known: Iterable[str]) -> str:
    """The hint with the nearest of the known names, if one is near.

    >>> did_you_mean("colour", ["color", "size"]), did_you_mean("weight", ["color", "size"])
    ("Did you mean 'color'?", '')
    """
    close = get_close_matches(str(given), list(known), n=1)
    return f"Did you mean {close[0]!r}?" if close else ""


class ArgumentError(SashError, ValueError):
    """A value that the caller passed cannot be used.

    >>> raise ArgumentError("size", 0, "a positive number of events")
    Traceback (most recent call last):
        ...
    sash.errors.ArgumentError: size must be a positive number of events; got 0
    """

    def __init__(
        self, argument: str, given: Any, expected: str, *, hint: str = "", message: str = ""
    ) -> None:
        """`message` takes the place of the usual sentence, where another one is plainer."""
        self.argument, self.given, self.expected, self.hint = argument, given, expected, hint
        message = message or f"{argument} must be {expected}; got {_written(given)}"
        super().__init__(f"{message}. {hint}" if hint else message)

    def __reduce__(self) -> tuple[Any, ...]:
        # Spark carries exceptions between processes; rebuilding from the message alone would fail.
        return _rebuild, (type(self), self.__dict__, self.args)


def _written(given: Any) -> str:
    """As its user would write it: a function by its name, not by its address."""
    if isinstance(given, FunctionType):
        return "a lambda" if given.__name__ == "<lambda>" else f"the function {given.__name__}"
    return repr(given)


def _rebuild(cls: type[ArgumentError], attributes: dict[str, Any], args: tuple[Any, ...]) -> ArgumentError:
    error = cls.__new__(cls, *args)
    error.__dict__.update(attributes)
    error.args = args
    return error


class DurationError(ArgumentError):
    """Not a duration, or not one of a fixed length (months and years are not)."""


class UnitError(ArgumentError):
    """Durations such as '1 hour' and plain integers were mixed."""


class UnknownColumn(ArgumentError):
    """No such column; the message suggests the nearest name, or lists what there is.

    >>> raise UnknownColumn("n", "amout", ["t", "amount"], use="n = sum('amout')")
    Traceback (most recent call last):
        ...
    sash.errors.UnknownColumn: n = sum('amout'): there is no column 'amout'. Did you mean 'amount'?
    """

    def __init__(self, argument: str, given: str, columns: Iterable[str], *, use: str = "") -> None:
        """use: what reads the column, as its user wrote it."""
        names = list(columns)
        if re.search(r"[<>=!]", given):
            hint = f"A condition is written as where={given!r}."
        else:
            hint = did_you_mean(given, names) or f"There are {', '.join(map(repr, names))}."
        message = f"{use or argument}: there is no column {given!r}"
        super().__init__(argument, given, f"one of the columns {names}", hint=hint, message=message)


class UnknownEngine(ArgumentError):
    """No SECRET profile of that name."""


class SettingError(ArgumentError):
    """A Spark setting that cannot work; the message has a value that does."""


class WrongCall(ArgumentError, TypeError):
    """A call with an argument that the function does not have, or without one that it needs."""


class Unsupported(ArgumentError):
    """Not supported in this combination; the message has the reason and what would work."""


class AlgebraError(SashError, TypeError):
    """The monoid lacks a property that the chosen algorithm needs."""


class NotInvertible(AlgebraError):
    """The algorithm takes elements out by subtraction; this monoid declares no inverse."""


class NotCommutative(AlgebraError):
    """The algorithm reorders elements; this monoid is not declared commutative."""


class LawViolation(AlgebraError, AssertionError):
    """`sash.testing.laws` found elements for which a declared law does not hold."""


class DataError(SashError, ValueError):
    """The data violates something the query relies on."""


class IntegerOverflow(DataError, OverflowError):
    """An exact integer result does not fit in 64 bits."""


class PredicateError(DataError):
    """A user's predicate, policy or function raised, or did not return what is needed."""


class BadFile(DataError):
    """A file of a stream is missing, damaged, or has other columns; the message names the file."""


class OutOfOrder(DataError):
    """An element is older than what a first-in-first-out aggregator already holds."""


class StoreError(SashError):
    """A store failed, or refused a request."""


class CorruptValue(StoreError):
    """Damaged or foreign bytes under a key. They are not decoded; the message names the key."""


class DifferentQuery(StoreError):
    """A checkpoint, or a folder of batches, of another query; the message names what differs."""


class StoreUnavailable(StoreError, ConnectionError):
    """The store's server does not answer after bounded retries."""


class NoSpace(StoreError, OSError):
    """The disk is full; the message names the folder and how much is free."""


class EpochError(StoreError):
    """Commit, rollback or read of an epoch that does not exist."""


class EngineError(SashError, RuntimeError):
    """A live engine that is probed died, hung or failed; the message has the end of its output."""


class PipelineError(SashError, ValueError):
    """A pipeline file has a mistake; the message begins with the file and the line.

    >>> raise PipelineError("trades.toml", 3, "[stream] has no key 'tme'")
    Traceback (most recent call last):
        ...
    sash.errors.PipelineError: trades.toml, line 3: [stream] has no key 'tme'
    """

    def __init__(self, file: str, line: int | None, reason: str) -> None:
        self.file, self.line, self.reason = file, line, reason
        super().__init__(f"{file}, line {line}: {reason}" if line else f"{file}: {reason}")


class PipelineErrors(PipelineError):
    """A pipeline file has several mistakes; the message has a line for each, in the order of the file."""

    def __init__(self, errors: Iterable[PipelineError]) -> None:
        self.errors = tuple(sorted(errors, key=lambda error: error.line or 0))
        first = self.errors[0]
        super().__init__(first.file, first.line, first.reason)
        self.args = ("\n".join(map(str, self.errors)),)


class QueryFailed(SashError, RuntimeError):
    """A running query failed in Spark or because of the machine; the message contains only the cause."""


class MissingDependency(SashError, ImportError):
    """An optional package or program is not installed; the message has the command that installs it."""
