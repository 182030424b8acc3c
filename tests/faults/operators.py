"""Every operator that keeps state, over the same events: what is started, and what it must emit.

Times are whole seconds, keys a, b and null. `old` events are 40 seconds behind: late, wherever kills let
Spark cut the stream. Others are at most four seconds out of order, with a delay of five. A last event of
a key of its own, far ahead, moves the watermark past everything else.
"""

from __future__ import annotations

import datetime as dt
import json
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import sash
from sash.aggregation.stores.values import unseal
from sash.operators import Aggregate, Input, Stateful
from sash.semantics.reference import Arrival, Batch, evaluate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Row = dict[str, Any]
Table = pa.Table
SCHEMA = pa.schema(
    [
        ("at", pa.timestamp("us", "UTC")), ("tick", pa.int64()), ("key", pa.string()),
        ("number", pa.int64()), ("x", pa.int64()), ("km", pa.int64()), ("old", pa.bool_()),
    ]
)  # fmt: skip
OPENING = dt.datetime(2026, 1, 5, 9, 30, tzinfo=dt.UTC)
EVENTS, SECONDS, AHEAD = 24, 12, 10_000
"""Of each file; and when the last event is."""
CLOCK = "the clock"
EVERY = "1 second"
"""The batches of all queries begin together, and so one kill hits all of them."""
DEGREES = (1, 3, 2)


def files_of(count: int, *, seed: int) -> Iterator[Table]:
    """`count` files; the last one has the clock's events only."""
    choice = random.Random(seed)
    for file in range(count - 1):
        rows = []
        for number in range(file * EVENTS, (file + 1) * EVENTS):
            old = file >= 4 and choice.random() < 0.1
            tick = number * SECONDS // EVENTS - (40 if old else choice.choice([0, 0, choice.randrange(5)]))
            rows.append(
                _event(tick, choice.choice(["a", "b", None]), number, choice.randrange(-9, 10), old)
            )
        yield Table.from_pylist(rows, schema=SCHEMA)
    numbers = range(count * EVENTS, count * EVENTS + 2)
    yield Table.from_pylist([_event(AHEAD, CLOCK, number, 0, False) for number in numbers], schema=SCHEMA)


def _event(tick: int, key: str | None, number: int, x: int, old: bool) -> Row:
    at = OPENING + dt.timedelta(seconds=tick)
    return {"at": at, "tick": tick, "key": key, "number": number, "x": x, "km": tick * 100, "old": old}


# Queries


def _stream(data: Any) -> sash.Stream:
    return sash.stream(data, time="at", key="key", delay="5 seconds")


def _totals(windowed: Any) -> Any:
    return windowed.agg(n=sash.count(), total=sash.sum("x"), held=sash.collect("number"))


def _windows(data: Any, *windows: sash.Window, pattern: Any = None, plain: bool = False) -> Any:
    cut = _stream(data).window(*windows)
    cut = cut if pattern is None else cut.parallel(pattern)
    return cut.agg(n=sash.count(), total=sash.sum("x")) if plain else _totals(cut)


def _rolling(data: Any) -> Any:
    return _stream(data).rolling("10 seconds", "30 seconds").agg(n=sash.count(), total=sash.sum("x"))


LOOK_BACKS = {"10_seconds": 10, "30_seconds": 30}


def _latest(data: Any) -> Any:
    return _stream(data).latest("10 seconds", "30 seconds").agg(n=sash.count(), total=sash.sum("x"))


def _sides(data: Any) -> tuple[Any, Any]:
    """Events with even numbers, and those with odd ones."""
    return tuple(_stream(_where(data, "odd" if side else "even")) for side in (False, True))


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


def _where(data: Any, which: str) -> Any:
    """Rows of a table or of a DataFrame: 'even', 'odd', or 'on time'."""
    if isinstance(data, Table):
        rows = data.to_pylist()
        keep = {"even": lambda row: row["number"] % 2 == 0, "odd": lambda row: row["number"] % 2 == 1}.get(
            which, lambda row: not row["old"]
        )
        return Table.from_pylist([row for row in rows if keep(row)], schema=data.schema)
    return data.where({"even": "number % 2 = 0", "odd": "number % 2 = 1"}.get(which, "not old"))


def scripted(samples: Sequence[Any]) -> int:
    return DEGREES[len(samples) // 2 % len(DEGREES)]


def heavy(total: Any, old: Any) -> Any:
    return total.n - old.n >= 5


def positive(row: Any) -> Any:
    return row.x > 0


def divisible(row: Any) -> Any:
    return row.number % 7 == 0


# What they must emit


def by_reference(query: Any, batches: Sequence[Table]) -> Counter[Any]:
    """Reports and late rows of windows, by the definition."""
    unflushed = replace(query.bound.query, flush=False)
    arrivals = (
        [Arrival(_micros(row["at"]), row["key"], row) for row in table.to_pylist()] for table in batches
    )
    outcome = evaluate(unflushed, [Batch(tuple(rows)) for rows in arrivals])
    return Counter(
        (report.key, report.window, report.id, repr(dict(report.values)))
        for report in outcome.reports
        if report.key != CLOCK
    ) + Counter(("late", late.arrival.values["number"]) for late in outcome.late)


def reported(query: Any, rows: Iterable[Row], late: Iterable[Row]) -> Counter[Any]:
    """The same of what was emitted."""
    alone, names = query.bound.query.windows[0].label, list(query.bound.query.aggregates)
    return Counter(
        (
            row["key"], row["window"].get("name", alone), row["window"]["id"],
            repr({name: row[name] for name in names}),
        )
        for row in rows
        if row["key"] != CLOCK
    ) + Counter(("late", row["number"]) for row in late)  # fmt: skip


def in_process(query: Any, rows: Iterable[Row] | None = None) -> Counter[str]:
    """Rows of a query over the whole input, or of a stream, without those of the clock."""
    found = query.collect().to_pylist() if rows is None else rows
    return Counter(
        repr({name: value for name, value in sorted(row.items()) if name != "batch"})
        for row in found
        if CLOCK not in row.values()
    )


def latest_by_definition(rows: Iterable[Row], events: Sequence[Row]) -> Counter[str]:
    """What the row of a key must be at each instant at which there is one."""
    return Counter(
        repr((row["key"], row["updated_at"], _folds(row["key"], row["updated_at"], events))) for row in rows
    )


def _folds(key: str | None, at: dt.datetime, events: Sequence[Row]) -> Row:
    found: Row = {}
    for name, seconds in LOOK_BACKS.items():
        since = at - dt.timedelta(seconds=seconds)
        held = [row["x"] for row in events if row["key"] == key and since < row["at"] <= at]
        found |= {f"n_{name}": len(held), f"total_{name}": sum(held) if held else None}
    return found


def latest_emitted(rows: Iterable[Row]) -> Counter[str]:
    names = [f"{aggregate}_{name}" for name in LOOK_BACKS for aggregate in ("n", "total")]
    return Counter(
        repr((row["key"], row["updated_at"], {name: row[name] for name in names})) for row in rows
    )


def _micros(at: dt.datetime) -> int:
    return round(at.timestamp()) * 1_000_000


@dataclass(frozen=True)
class Operator:
    """A query that is killed."""

    query: Callable[[Any], Any]
    """Of a table or of a streaming DataFrame."""
    elastic: str | None = None
    """A store; 'redis' is the server of the test."""
    judges_late: bool = False
    """Whether it gets the old events too, which must come out as late."""

    def start(self, arriving: DataFrame, home: Path, *, redis: str, trigger: str | None = EVERY) -> Any:
        query = self.query(arriving if self.judges_late else _where(arriving, "on time"))
        store = redis if self.elastic == "redis" else self.elastic
        elastic = store and sash.Elastic(max=3, controller=scripted, store=store, buckets=4)
        late = {"late": home / "late"} if self.judges_late else {}
        return query.start(
            home / "sink", **late, checkpoint=home / "checkpoint", elastic=elastic or None, trigger=trigger
        )  # fmt: skip

    def check(self, home: Path, batches: Sequence[Table]) -> None:
        """AssertionError unless the sinks have all that they must have, once."""
        table = pa.concat_tables(batches)
        rows, late = published_rows(home / "sink"), published_rows(home / "late")
        on_time = _where(table, "on time")
        if self.judges_late:
            query = self.query(table)
            expected, emitted = by_reference(query, batches), reported(query, rows, late)
        elif self.query is _latest:
            events = on_time.to_pylist()
            expected, emitted = latest_by_definition(rows, events), latest_emitted(rows)
            newest = {row["key"]: row for row in sorted(rows, key=lambda row: row["updated_at"])}
            assert {key: row["n_30_seconds"] for key, row in newest.items()} == {
                "a": 0, "b": 0, None: 0,
            } | {key: row["n_30_seconds"] for key, row in newest.items() if key == CLOCK}  # fmt: skip
        else:
            expected, emitted = in_process(self.query(on_time)), in_process(None, rows)
        assert sum(expected.values()) > 10
        assert emitted == expected, f"too many: {emitted - expected}, missing: {expected - emitted}"


@dataclass(frozen=True)
class Several(Operator):
    """Queries in one pass."""

    def start(self, arriving: DataFrame, home: Path, *, redis: str, trigger: str | None = EVERY) -> Any:
        queries = self.query(arriving)
        sinks, late = ({name: home / name / kind for name in queries} for kind in ("sink", "late"))
        return sash.together(**queries).start(
            sinks, late=late, checkpoint=home / "checkpoint", trigger=trigger
        )

    def check(self, home: Path, batches: Sequence[Table]) -> None:
        for name in self.query(pa.concat_tables(batches)):
            alone = Operator(lambda data, name=name: self.query(data)[name], judges_late=True)
            alone.check(home / name, batches)


def _together(data: Any) -> dict[str, Any]:
    return {
        "sliding": _windows(data, sash.sliding("20 seconds", every="5 seconds")),
        "sessions": _windows(data, sash.session("2 seconds")),
    }


def published_rows(folder: Path) -> list[Row]:
    """What is published there, each batch as its manifest has it."""
    rows: list[Row] = []
    for batch, manifest in sorted(_manifests_in(folder / "_sash").items()):
        for name in manifest["files"]:
            file = folder / f"batch={batch}" / manifest["execution"] / name
            rows += _zoned(pq.read_table(file, partitioning=None)).to_pylist()
    return rows


def _manifests_in(folder: Path) -> dict[int, Row]:
    found = {}
    for file in folder.glob("[0-9]*"):
        sealed = unseal(b"batch %d of a folder" % int(file.name), file.read_bytes())
        found[int(file.name)] = json.loads(bytes(sealed))
    for file in sorted((folder / "runs").glob("[0-9]*")):
        sealed = unseal(file.name.encode(), file.read_bytes())
        content = json.loads(bytes(sealed))
        every = content if isinstance(content, list) else content["manifests"]
        found |= {one["batch"]: one for one in every}
    return found


def _zoned(table: Table) -> Table:
    """Spark's files have instants without a zone."""
    types = [
        SCHEMA.field("at").type if pa.types.is_timestamp(one.type) else one.type for one in table.schema
    ]
    return table.cast(pa.schema(list(zip(table.column_names, types, strict=True))))


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
    "together": Several(_together),
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
}
