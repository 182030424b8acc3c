"""`q.explain_window(key=…, at=…)`: recorded events in, a `Why` out.

A bounded input is one batch, as `collect()` takes it: nothing in it is late, and its end closes every
window. With `as_of=n`, and for events recorded from a stream, they are replayed one by one: each is judged
by the watermark of those before it, and nothing ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa

from sash.api.runtime_of_input import Source, source_of
from sash.display.why_html import NotebookWhy
from sash.errors import ArgumentError, SashWarning
from sash.operators.bound_query import BoundQuery
from sash.operators.columns.times import to_integers
from sash.semantics.durations import whole_number
from sash.semantics.reference import Arrival, Batch, one_by_one
from sash.semantics.secret import PROFILES, Profile, profile
from sash.semantics.time_format import EPOCH
from sash.semantics.why import explain

MANY = 512 << 20
"""Bytes, as of what comes from Spark."""
PER_EVENT = 300
"""Bytes of an event as objects of Python, about: its time, its key, and itself."""


@runtime_checkable
class Recorded(Protocol):
    """A source that has its events at hand."""

    @property
    def schema(self) -> pa.Schema: ...
    def rows(self, columns: list[str]) -> pa.Table: ...


def explain_window(
    source: Source,
    bound: BoundQuery,
    *,
    at: Any,
    key: Any = ...,
    as_of: int | None = None,
    events: Any = None,
    engines: str | Iterable[str] | None = None,
) -> NotebookWhy:
    """What became of the events of `key` at time `at`. See `WindowQuery.explain_window`.

    Where no key is given it is `...`, because None is a key: null.
    """
    given = source if events is None else source_of(events)
    if not isinstance(given, Recorded):
        what = None if events is None else "a stream"
        raise ArgumentError(
            "events", what, "recorded events, for a query over a stream",
            hint="Give them in order of arrival, as an Arrow table, a frame or a static DataFrame.",
        )  # fmt: skip
    whose = _key(bound, key)
    rows = _rows(bound, given)
    if rows.num_rows * PER_EVENT > MANY:
        warnings.warn(
            f"explain_window makes objects of Python of all {rows.num_rows:,} events, about "
            f"{rows.num_rows * PER_EVENT >> 20:,} MB; filter them to the time around the window",
            SashWarning,
            stacklevel=3,
        )
    arrivals = list(_arrivals(bound, rows, whose))
    length = _as_of(as_of, len(arrivals))
    replayed = as_of is not None or events is not None
    batches = one_by_one(arrivals[:length]) if replayed else [Batch(arrivals)]
    timestamps = pa.types.is_timestamp(bound.time_type)
    why = explain(
        replace(bound.query, aggregates={}, flush=bound.query.flush and not replayed),
        batches,
        key=whose,
        at=_time(bound, at),
        calendar=timestamps,
        zone=_zone(bound.time_type.tz) if timestamps else UTC,
        engines=_profiles(engines),
    )
    return NotebookWhy.of(why)


def _rows(bound: BoundQuery, given: Recorded) -> pa.Table:
    """What the query reads, as the types that it was bound to."""
    wanted = pa.schema([bound.schema.field(name) for name in bound.columns])
    missing = [name for name in wanted.names if name not in given.schema.names]
    if missing:
        raise ArgumentError("events", given.schema.names, f"with the column {missing[0]!r} of the query")
    time = given.schema.field(bound.time).type
    try:
        # Arrow would read integers as microseconds, and guessing is not for us.
        if pa.types.is_timestamp(time) == pa.types.is_timestamp(bound.time_type):
            return given.rows(wanted.names).cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ArgumentError("events", str(given.schema), f"of the query's types ({error})") from None
    raise ArgumentError("events", f"{bound.time}: {time}", f"of the query's type, {bound.time_type}")


def _arrivals(bound: BoundQuery, rows: pa.Table, key: Hashable) -> Iterable[Arrival]:
    """All events; those of other keys without their columns, as they only move the watermark."""
    known = rows[bound.time].is_valid()
    times = iter(to_integers(rows[bound.time].filter(known)).tolist())
    columns = [rows[name].to_pylist() for name in bound.keys]
    keys = [_key_of(values) for values in zip(*columns, strict=True)] if columns else [None] * rows.num_rows
    own = iter(rows.filter(pa.array([one == key for one in keys], pa.bool_())).to_pylist())
    for has_time, whose in zip(known.to_pylist(), keys, strict=True):
        yield Arrival(next(times) if has_time else None, whose, next(own) if whose == key else {})


def _key_of(values: tuple[Any, ...]) -> Hashable:
    """A key as a user writes it: a value, or a tuple when several columns make it."""
    return values[0] if len(values) == 1 else values


def _key(bound: BoundQuery, given: Any) -> Hashable:
    names = ", ".join(bound.keys)
    if not bound.keys:
        if given is not ...:
            raise ArgumentError("key", given, "left out: this query has no key")
        return None
    if given is ...:
        raise ArgumentError("key", None, f"given: whose window? A value of {names}")
    if isinstance(given, Mapping):
        if set(given) != set(bound.keys):
            raise ArgumentError("key", dict(given), f"one value for each of {names}")
        return _key_of(tuple(given[name] for name in bound.keys))
    if len(bound.keys) == 1:
        key: Hashable = given
        return key
    if not isinstance(given, tuple | list) or len(given) != len(bound.keys):
        raise ArgumentError("key", given, f"a tuple with one value for each of {names}")
    return tuple(given)


def _time(bound: BoundQuery, given: Any) -> int | None:
    """`at` as the integer that the query counts in. A clock time without a zone is one of the column's."""
    if given is None:
        return None
    type_ = bound.time_type
    if not pa.types.is_timestamp(type_):
        ticks = whole_number(given)
        if ticks is None:
            raise ArgumentError("at", given, f"a whole number, as {bound.time} is {type_}")
        return ticks
    moment = _moment(given)
    if moment is None:
        raise ArgumentError(
            "at", given, f"an instant such as '2026-01-05 10:05:00' ({bound.time} is {type_})"
        )
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=_zone(type_.tz))
    elif type_.tz is None:
        raise ArgumentError("at", given, f"without a zone, as {bound.time} has none")
    return (moment - EPOCH) // timedelta(microseconds=1)


def _moment(given: Any) -> datetime | None:
    if isinstance(given, str):
        try:
            return datetime.fromisoformat(given.strip())
        except ValueError:
            return None
    if isinstance(given, date) and not isinstance(given, datetime):
        return datetime(given.year, given.month, given.day)
    return given if isinstance(given, datetime) else None


def _zone(name: str | None) -> tzinfo:
    if name is None:
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):  # an offset such as +01:00 is no name of a zone
        return datetime.strptime(name, "%z").tzinfo or UTC


def _as_of(given: int | None, arrived: int) -> int:
    if given is None:
        return arrived
    number = whole_number(given)
    if number is None or not 0 < number <= arrived:
        raise ArgumentError("as_of", given, f"a number of arrived events, from 1 to {arrived}")
    return number


def _profiles(engines: str | Iterable[str] | None) -> Mapping[str, Profile]:
    if engines is None:
        return PROFILES
    named = [engines] if isinstance(engines, str) else list(engines)
    return {name: profile(name) for name in named}
