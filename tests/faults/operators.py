"""Every operator that keeps state, over the same events (`operator_events.py`), to be killed and compared
(`operator_checks.py`)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa

import sash
from sash.operators import Aggregate, Input, Stateful
from tests.faults.operator_checks import HotKey, Operator, Several
from tests.faults.operator_events import SCHEMA, Row, Table, part_of


def _stream(data: Any) -> sash.Stream:
    return sash.stream(data, time="at", key="key", delay="5 seconds")


def _totals(windowed: Any) -> Any:
    return windowed.agg(n=sash.count(), total=sash.sum("x"), held=sash.collect("number"))


def _counted(windowed: Any) -> Any:
    return windowed.agg(n=sash.count(), total=sash.sum("x"))


def _windows(
    data: Any, *windows: sash.Window, pattern: Any = None, plain: bool = False, engine: str | None = None
) -> Any:
    cut = _stream(data).window(*windows)
    cut = cut if engine is None else cut.semantics(engine)
    cut = cut if pattern is None else cut.parallel(pattern)
    return _counted(cut) if plain else _totals(cut)


def _rolling(data: Any) -> Any:
    return _counted(_stream(data).rolling("10 seconds", "30 seconds"))


def _latest(data: Any) -> Any:
    return _counted(_stream(data).latest("10 seconds", "30 seconds"))


def _online(data: Any) -> Any:
    """The key b is silent for longer than its events are kept: they become one fold, and it comes again."""
    return _counted(_stream(part_of(data, "b at times")).rolling("5 seconds", sash.lifetime()))


def _hot_key(data: Any) -> Any:
    """Two buckets share the key a, by panes of 11: a look-back of two primes has none that are shorter, and
    so the few rows of a file are worth it."""
    stream = sash.stream(part_of(data, "mostly a"), time="tick", key="key", delay=5)
    return _counted(stream.rolling(22))


def _sides(data: Any) -> tuple[Any, Any]:
    """Events with even numbers, and those with odd ones."""
    return tuple(_stream(part_of(data, "odd" if side else "even")) for side in (False, True))


def _join(data: Any) -> Any:
    left, right = _sides(data)
    return left.join(right, within="3 seconds", how="full")


def _asof(data: Any) -> Any:
    left, right = _sides(data)
    return left.join_asof(right, direction="nearest", tolerance="4 seconds")


TUPLES = Input(pa.schema([SCHEMA.field(name) for name in ("tick", "key", "x")]), time="tick")
WINDOW: dict[str, Any] = {"advance": 10, "size": 20, "inputs": TUPLES, "keys": "key"}


def _operate(data: Any) -> Any:
    return _operated(Aggregate(**WINDOW, n=sash.count(), total=sash.sum("x")), data)


def _operate_functions(data: Any) -> Any:
    """One window for each key, that slides; tuples are stored, and functions of a user see them."""
    return _operated(Stateful(**WINDOW, window="single", output=_extremes, schema=EXTREMES), data)


EXTREMES = pa.schema([("key", pa.string()), ("n", pa.int64()), ("least", pa.int64()), ("most", pa.int64())])


def _extremes(windows: Any) -> Row:
    values = [arrival.row.x for arrival in windows[0]]
    return {"key": windows.key, "n": len(values), "least": min(values), "most": max(values)}


def _operated(operator: Stateful, data: Any) -> Any:
    table = data.select(TUPLES.schema.names)
    table = table.sort_by("tick") if isinstance(data, Table) else table
    return sash.operate(operator, table, delay=0 if isinstance(data, Table) else 5)


def _apply(data: Any) -> Any:
    """Functions over whole windows, which the owner of a key hands to others."""
    windows = _stream(data).window(SLIDING).parallel(sash.WinFarm(2, model="agnostic"))
    return windows.apply(_summary, schema="n bigint, total bigint, numbers array<bigint>").flat()


def _summary(events: Table) -> Row:
    numbers = sorted(events["number"].to_pylist())
    return {"n": events.num_rows, "total": sum(events["x"].to_pylist()), "numbers": numbers}


def _fold(data: Any) -> Any:
    """A function over a window that grows: its accumulator is kept."""
    windows = _stream(data).window(sash.session("2 seconds"))
    return windows.fold({"n": 0, "total": 0}, _add, schema="n bigint, total bigint").flat()


def _add(so_far: Row, row: Any) -> Row:
    return {"n": so_far["n"] + 1, "total": so_far["total"] + row.x}


def heavy(total: Any, old: Any) -> Any:
    return total.n - old.n >= 5


def positive(row: Any) -> Any:
    return row.x > 0


def divisible(row: Any) -> Any:
    return row.number % 7 == 0


def _together(data: Any) -> dict[str, Any]:
    return {
        "sliding": _windows(data, sash.sliding("20 seconds", every="5 seconds")),
        "sessions": _windows(data, sash.session("2 seconds")),
    }


def _lifetimes(data: Any) -> dict[str, Any]:
    """Look-backs without end (`online` has the third kind), and windows as an engine reports them."""
    return {
        "windows": _windows(data, sash.lifetime()),
        "latest": _counted(_stream(data).latest("10 seconds", sash.lifetime())),
        "engine": _windows(data, sash.rows(7, every=3), sash.session("2 seconds"), engine="pyflink"),
    }


def _of_windows(*windows: sash.Window, **options: Any) -> Callable[[Any], Any]:
    return partial(_windows_of, windows, options)


def _windows_of(windows: tuple[sash.Window, ...], options: dict[str, Any], data: Any) -> Any:
    return _windows(data, *windows, **options)


SLIDING = sash.sliding("20 seconds", every="5 seconds")
KINDS = (
    sash.threshold(positive),
    sash.punctuated(divisible),
    sash.cumulate("20 seconds", "5 seconds"),
    sash.slide_by_tuple("10 seconds", 3),
    sash.slide_by_time(6, "5 seconds"),
)
"""Those that no other query has, in one."""
OPERATORS: dict[str, Operator] = {
    "panes": Operator(_of_windows(SLIDING, plain=True), judges_late=True),
    "events": Operator(_of_windows(SLIDING, sash.rows(7, every=3)), judges_late=True),
    "sessions": Operator(_of_windows(sash.session("2 seconds")), judges_late=True),
    "delta": Operator(_of_windows(sash.delta("km", 700, every=300)), judges_late=True),
    "policy": Operator(
        _of_windows(sash.policy(heavy, track={"n": sash.count()}, every=3)), judges_late=True
    ),
    "rolling": Operator(_rolling),
    "latest": Operator(_latest),
    "join": Operator(_join),
    "asof": Operator(_asof),
    "win-farm": Operator(_of_windows(SLIDING, pattern=sash.WinFarm(2)), judges_late=True),
    "pane-farm": Operator(_of_windows(SLIDING, pattern=sash.PaneFarm(2, 2), plain=True), judges_late=True),
    "together": Several(_together, judges_late=True),
    "operate": Operator(_operate, elastic="lmdb"),
    "elastic-lmdb": Operator(_of_windows(SLIDING, sash.rows(7, every=3)), elastic="lmdb", judges_late=True),
    "elastic-files": Operator(_of_windows(SLIDING, plain=True), elastic="files", judges_late=True),
    "elastic-redis": Operator(_of_windows(sash.session("2 seconds")), elastic="redis", judges_late=True),
    "elastic-join": Operator(_join, elastic="files"),
    "elastic-asof": Operator(_asof, elastic="lmdb"),
    "operate-alone": Operator(_operate),
    "operate-functions": Operator(_operate_functions),
    "kinds": Operator(_of_windows(*KINDS), judges_late=True),
    "apply": Operator(_apply),
    "fold": Operator(_fold),
    "map-reduce": Operator(
        _of_windows(SLIDING, pattern=sash.WinMapReduce(2, 1), plain=True), judges_late=True
    ),
    "lifetime": Several(_lifetimes),
    "online": Operator(_online, online=True),
    "hot-key": HotKey(_hot_key),
}
