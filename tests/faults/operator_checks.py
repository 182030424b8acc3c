"""An operator that is killed: how it is started, and what its sinks must have at the end, once."""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import sash
from sash.aggregation.stores.values import unseal
from sash.operators.bound_query import BoundLatest, BoundRolling
from sash.runtimes.spark.epochs.epoch_journal import LAYOUT_KEY, SHARED, WITH_SHARED_KEYS, SharedKeysKept
from sash.runtimes.spark.epochs.store_of_state import StateLocation
from sash.runtimes.spark.session_requirements import PARTITIONS
from sash.semantics.event import Event
from sash.semantics.look_back_rows import FeatureEvaluation
from sash.semantics.reference import Arrival, Batch, evaluate
from sash.semantics.time_format import EPOCH
from sash.serving.published_state import published_in
from tests.faults.operator_events import CLOCK, SCHEMA, Row, Table, part_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EVERY = "1 second"
"""The batches of all queries begin together, and so one kill hits all of them."""
DEGREES = (1, 3, 2)


def scripted(samples: Sequence[Any]) -> int:
    return DEGREES[len(samples) // 2 % len(DEGREES)]


@dataclass(frozen=True)
class Operator:
    """A query that is killed."""

    query: Callable[[Any], Any]
    """Of a table or of a streaming DataFrame."""
    elastic: str | None = None
    """A store; 'redis' is the server of the test."""
    judges_late: bool = False
    """Whether it gets the old events too, which must come out as late."""
    online: bool = False
    """Whether its look-backs are published, in LMDB."""

    def start(self, arriving: DataFrame, home: Path, *, redis: str, trigger: str | None = EVERY) -> Any:
        query = self.query(arriving if self.judges_late else part_of(arriving, "on time"))
        store = redis if self.elastic == "redis" else self.elastic
        elastic = store and sash.Elastic(max=3, controller=scripted, store=store, buckets=4)
        late = {"late": home / "late"} if self.judges_late else {}
        online = {"online": home / "online"} if self.online else {}
        return query.start(
            home / "sink", **late, **online, checkpoint=home / "checkpoint", elastic=elastic or None,
            trigger=trigger,
        )  # fmt: skip

    def check(self, home: Path, batches: Sequence[Table]) -> None:
        """AssertionError unless the sinks have all that they must have, once."""
        table = pa.concat_tables(batches)
        query = self.query(table if self.judges_late else part_of(table, "on time"))
        rows = published_rows(home / "sink")
        if self.judges_late:
            expected, emitted = by_reference(query, batches), reported(query, rows, home / "late")
        elif isinstance(getattr(query, "bound", None), BoundLatest):
            events = part_of(table, "on time").to_pylist()
            expected, emitted = latest_by_reference(query, rows, events), latest_emitted(query, rows)
            require_over(query, rows)
        else:
            expected, emitted = in_process(query), in_process(None, rows)
        assert sum(expected.values()) > 10
        assert emitted == expected, f"too many: {emitted - expected}, missing: {expected - emitted}"
        if self.online:
            require_served(home / "online", query)


@dataclass(frozen=True)
class Several(Operator):
    """Queries in one pass."""

    def start(self, arriving: DataFrame, home: Path, *, redis: str, trigger: str | None = EVERY) -> Any:
        queries = self.query(arriving if self.judges_late else part_of(arriving, "on time"))
        sinks, late = ({name: home / name / kind for name in queries} for kind in ("sink", "late"))
        return sash.together(**queries).start(
            sinks, late=late if self.judges_late else None, checkpoint=home / "checkpoint", trigger=trigger
        )

    def check(self, home: Path, batches: Sequence[Table]) -> None:
        given = batches if self.judges_late else [part_of(table, "on time") for table in batches]
        for name, query in self.query(pa.concat_tables(given)).items():
            alone = Operator(
                lambda data, name=name: self.query(data)[name],
                judges_late=not isinstance(query.bound, BoundRolling),
            )
            alone.check(home / name, given)


@dataclass(frozen=True)
class HotKey(Operator):
    """Look-backs of a hot key, which as many buckets share as shuffles have partitions."""

    def start(self, arriving: DataFrame, home: Path, *, redis: str, trigger: str | None = EVERY) -> Any:
        settings = arriving.sparkSession.conf
        others = settings.get(PARTITIONS)
        settings.set(PARTITIONS, "2")
        try:
            return super().start(arriving, home, redis=redis, trigger=trigger)
        finally:
            settings.set(PARTITIONS, others)

    def check(self, home: Path, batches: Sequence[Table]) -> None:
        """Also unless the key was shared to the end, and for so long that not only its owner answers."""
        super().check(home, batches)
        with StateLocation.of("files", checkpoint=str(home / "checkpoint"), query="").journal() as store:
            layout, kept = store.get_many([LAYOUT_KEY, SHARED])
        ticks = [row["tick"] for row in pa.concat_tables(batches).to_pylist() if row["key"] != CLOCK]
        assert layout == b"%d" % WITH_SHARED_KEYS
        assert min(regime.answers for regime in SharedKeysKept.of(kept).regimes) < max(ticks)


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


def reported(query: Any, rows: Iterable[Row], late: Path) -> Counter[Any]:
    """The same of what was emitted."""
    alone, names = query.bound.query.windows[0].label, list(query.bound.query.aggregates)
    return Counter(
        (
            row["key"], row["window"].get("name", alone), row["window"]["id"],
            repr({name: row[name] for name in names}),
        )
        for row in rows
        if row["key"] != CLOCK
    ) + Counter(("late", row["number"]) for row in published_rows(late))  # fmt: skip


def in_process(query: Any, rows: Iterable[Row] | None = None) -> Counter[str]:
    """Rows of a query over the whole input, or of a stream, without those of the clock."""
    found = query.collect().to_pylist() if rows is None else rows
    return Counter(
        repr({name: value for name, value in sorted(row.items()) if name != "batch"})
        for row in found
        if CLOCK not in row.values()
    )


def latest_by_reference(query: Any, rows: Iterable[Row], events: Sequence[Row]) -> Counter[str]:
    """What the row of a key must be at each instant at which there is one."""
    return Counter(
        repr((row["key"], row["updated_at"], features(query, row["key"], row["updated_at"], events)))
        for row in rows
    )


def latest_emitted(query: Any, rows: Iterable[Row]) -> Counter[str]:
    names = [field.name for field in query.bound.features]
    return Counter(
        repr((row["key"], row["updated_at"], {name: row[name] for name in names})) for row in rows
    )


def require_over(query: Any, rows: Iterable[Row]) -> None:
    """The last row of each key is over no events, in look-backs that have an end."""
    newest = {row["key"]: row for row in sorted(rows, key=lambda row: row["updated_at"])}
    counts = [f"n_{window.label}" for window in query.bound.query.windows if not window.endless]
    left = {key: [row[name] for name in counts] for key, row in newest.items() if key != CLOCK}
    assert left == {key: [0] * len(counts) for key in ("a", "b", None)}


def require_served(folder: Path, query: Any) -> None:
    """What is served of each key at the end of the stream is what the definition has then: a look-back
    without end shows each event that was published twice, or never. The store is whole."""
    rows = [row for row in query.collect().to_pylist() if row["key"] != CLOCK]
    last = max(row["at"] for row in rows)
    with sash.online(folder) as online:
        served = online.get(["a", "b", None], at=last).to_pylist()
    assert served == [
        {"key": key, "at": last} | features(query, key, last, rows) for key in ("a", "b", None)
    ]
    found = published_in(folder)
    assert found is not None
    assert found.wrong == []


def features(query: Any, key: str | None, at: dt.datetime, rows: Iterable[Row]) -> Row:
    """What look-backs from an instant have, by the definition; `rows` are events."""
    events = [
        Event(_micros(row["at"]), ordinal, key, row)
        for ordinal, row in enumerate(rows)
        if row["key"] == key
    ]
    found = FeatureEvaluation(query.bound.query).row(events, _micros(at))
    return {f"{name}_{label}": value for (name, label), value in found.items()}


def _micros(at: dt.datetime) -> int:
    return (at - EPOCH) // dt.timedelta(microseconds=1)


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
