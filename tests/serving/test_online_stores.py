"""Training rows, stream rows and served rows are equal, with real stores."""

from __future__ import annotations

import json
import math
import shutil
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import lmdb
import numpy as np
import pyarrow as pa
import pytest

import sash
from sash.errors import ArgumentError, DifferentQuery, StoreError, StoreUnavailable, Unsupported
from sash.serving.feature_stores import place_of
from sash.serving.key_bytes import key_bytes
from sash.serving.publisher import HISTORY, INPUT, Publisher
from sash.serving.store_names import LABEL, head_name
from tests.runtimes.micro_batches import read_batches, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS, EVENTS, INSTANTS = 40, 30_000, 10_000
MICROSECONDS = 86_400 * 10**6


def features(data: Any, **options: Any) -> Any:
    stream = sash.stream(data, time="ts", key=["card", "country"], delay="1 hour")
    return stream.rolling("5 minutes", "1 hour", "24 hours", sash.lifetime(), **options).agg(
        n=sash.count("amount"),
        total=sash.sum("amount"),
        mean=sash.mean("price"),
        top=sash.max("price", where=lambda row: row.amount > 10),
        spread=sash.stddev("amount"),
    )


def payments(events: int, *, seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.sort(random.integers(0, MICROSECONDS, events))).cast(
                pa.timestamp("us", "UTC")
            ),
            "card": pa.array(random.integers(0, KEYS // 4, events), pa.int32()),
            "country": pa.array(np.array(["se", "de", "fr", None])[random.integers(0, 4, events)]),
            "amount": pa.array(random.integers(-100, 100, events), mask=random.random(events) < 0.1),
            "price": pa.array(random.normal(size=events), mask=random.random(events) < 0.1),
        }
    )


def same(one: Any, other: Any) -> bool:
    """Floats up to rounding: folds of the same events in other groups."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def published(store: str, table: pa.Table, *, batches: int) -> None:
    publisher, size = Publisher.of(features(table).bound, store), -(-table.num_rows // batches)
    for batch in range(batches):
        publisher.begin(batch)
        publisher.done(batch, publisher.publish(table.slice(batch * size, size), batch))


def probes_at(instants: int, *, seed: int) -> pa.Table:
    """Events without values at random instants, of keys of which some have no events: a probe has a row in
    training and on the stream, and adds to no aggregate."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(random.integers(-MICROSECONDS // 10, MICROSECONDS * 2, instants)).cast(
                pa.timestamp("us", "UTC")
            ),
            "card": pa.array(random.integers(0, KEYS // 4 + 1, instants), pa.int32()),
            "country": pa.array(np.array(["se", "de", "fr", None])[random.integers(0, 4, instants)]),
            "amount": pa.nulls(instants, pa.int64()),
            "price": pa.nulls(instants, pa.float64()),
        }
    )


def rows_at(query: Any, history: pa.Table, probes: pa.Table) -> dict[str, list[dict[str, Any]]]:
    """The rows of the probes in training and on a stream of twelve tables, in the order of the probes."""
    marked = pa.concat_tables(
        table.append_column("probe", pa.array(numbers, pa.int64()))
        for table, numbers in ((history, [-1] * len(history)), (probes, range(len(probes))))
    )
    ordered, size = marked.sort_by("ts"), -(-len(marked) // 12)
    inputs = {"training": marked, "stream": [ordered.slice(at * size, size) for at in range(12)]}
    rows = {name: query(data).collect() for name, data in inputs.items()}
    only = pa.compute.field("probe") >= 0
    return {name: table.filter(only).sort_by("probe").to_pylist() for name, table in rows.items()}


def served_at(store: str, probes: pa.Table) -> tuple[list[str], list[dict[str, Any]]]:
    served = []
    with sash.online(store) as online:
        for first in range(0, len(probes), 500):
            some = probes.slice(first, 500)
            keys = some.select(["card", "country"]).to_pylist()
            served += online.get(keys, at=some["ts"].to_pylist()).to_pylist()
    return online.columns, served


def test_differential_training_stream_and_serving_agree_at_random_instants(store: str) -> None:
    history, probes = payments(EVENTS, seed=1), probes_at(INSTANTS, seed=2)
    published(store, history, batches=12)
    names, served = served_at(store, probes)
    assert len(served) == INSTANTS
    for where, rows in rows_at(features, history, probes).items():
        for expected, row in zip(rows, served, strict=True):
            assert all(same(expected[name], row[name]) for name in names), (where, expected, row)


def vocabulary(data: Any) -> Any:
    """Aggregates whose folds are not plain numbers, or depend on order and time."""
    stream = sash.stream(data, time="ts", key=["card", "country"], delay="1 hour")
    return stream.rolling("1 hour", "24 hours").agg(
        smooth=sash.ewm("price", alpha=0.3),
        decayed=sash.ewm("price", half_life="10 minutes"),
        recent=sash.last("amount", 3),
        kinds=sash.first("amount", 2, distinct=True),
        bins=sash.histogram("amount", edges=[-100, 0, 10, 100]),
        widths=sash.histogram("price", bins=4),
        rate=sash.rate("amount"),
        grown=sash.increase("amount"),
        p90=sash.quantile("price", 0.9, sketch="tdigest"),
        median=sash.quantile("price", 0.5, k=2000),
        different=sash.count_distinct("amount"),
        peaked=sash.kurtosis("price"),
    )


def near(one: Any, other: Any) -> bool:
    """Values inside of lists and structs too."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(near, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(near(one[name], other[name]) for name in one)
    return same(one, other)


def test_differential_every_kind_of_aggregate_agrees_at_random_instants(tmp_path: Path) -> None:
    """Floats up to 1e-9, everything else exactly; t-digests of some hundred values, which depend on how
    these were grouped, up to 0.05 standard deviations."""
    history, probes = payments(6_000, seed=11), probes_at(1_000, seed=12)
    store = str(tmp_path / "features")
    vocabulary(history).publish(store)
    held = pa.compute.field("ts") >= pa.scalar(0, pa.timestamp("us", "UTC"))
    probes = probes.filter(held)
    names, served = served_at(store, probes)
    for where, rows in rows_at(vocabulary, history, probes).items():
        for expected, row in zip(rows, served, strict=True):
            for name in names:
                one, other = expected[name], row[name]
                if name.startswith("p90") and one is not None and other is not None:
                    assert math.isclose(one, other, abs_tol=0.05), (where, name, one, other)
                else:
                    assert near(one, other), (where, name, one, other)


def test_a_store_that_was_deleted_under_a_reader_is_a_new_one(tmp_path: Path) -> None:
    table, store = payments(100, seed=3), tmp_path / "features"
    features(table).publish(store)
    with sash.online(store) as old:
        key = table.select(["card", "country"]).to_pylist()[:1]
        before = old.get(key, at=MICROSECONDS)
        shutil.rmtree(store)
        features(table.slice(0, 0)).publish(store)
        with sash.online(store) as new:
            assert new.get(key, at=MICROSECONDS)["n_24_hours"].to_pylist() == [0]
        assert old.get(key, at=MICROSECONDS) == before


def test_a_task_that_was_taken_for_dead_changes_nothing_when_it_goes_on(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has read the heads of its keys, and stands still until a later batch is there."""
    table = payments(400, seed=5)
    parts = [table.slice(at, 100) for at in range(0, 400, 100)]
    publisher = Publisher.of(features(table).bound, store)
    stalled = Publisher.of(features(table).bound, store)
    publisher.begin(0)
    publisher.done(0, publisher.publish(parts[0], 0))
    publisher.begin(1)
    forest = Publisher._forest

    def late(self: Publisher, *read: Any) -> Any:
        if self is stalled:
            monkeypatch.setattr(Publisher, "_forest", forest)
            for batch in (1, 2):
                publisher.begin(batch)
                publisher.done(batch, publisher.publish(parts[batch], batch))
        return forest(self, *read)

    monkeypatch.setattr(Publisher, "_forest", late)
    with pytest.raises(StoreError, match="this execution has nothing to add"):
        stalled.publish(parts[1], 1)
    with pytest.raises(StoreError, match="this execution has nothing to add"):
        stalled.publish(parts[1], 1)
    publisher.begin(3)
    publisher.done(3, publisher.publish(parts[3], 3))
    keys = table.select(["card", "country"]).group_by(["card", "country"]).aggregate([]).to_pylist()
    with sash.online(store) as online:
        counts = online.get(keys, at=table["ts"][-1].as_py())["n_lifetime"].to_pylist()
    assert sum(counts) == 400 - table["amount"].null_count


def test_a_reader_needs_neither_spark_nor_the_query(tmp_path: Path) -> None:
    store = str(tmp_path / "features")
    published(store, payments(500, seed=3), batches=2)
    program = (
        "import sys, sash\n"
        f"rows = sash.online({store!r}).get([(3, 'se'), {{'card': 99, 'country': None}}], "
        "at='1970-01-01T12:00:00')\n"
        "print(rows.num_rows, rows['n_5_minutes'][1], 'pyspark' in sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["2", "0", "False"]


@pytest.mark.spark
@pytest.mark.parametrize("emit", ["close", "arrival"])
@pytest.mark.parametrize("elastic", [None, sash.Elastic(max=2, buckets=4)], ids=["fixed", "elastic"])
def test_stream_rows_and_served_rows_agree_also_after_a_restart(
    spark: SparkSession, tmp_path: Path, emit: str, elastic: sash.Elastic | None
) -> None:
    folder, store, table = tmp_path / "input", tmp_path / "features", payments(3000, seed=4)
    folder.mkdir()
    # Within a batch events are not in order; one that is empty lies between two that are not.
    mixed = table.take(
        pa.array(np.argsort(np.arange(3000) + np.random.default_rng(5).integers(0, 60, 3000)))
    )
    parts = [mixed.slice(0, 1000), mixed.slice(1000, 700), mixed.slice(0, 0), mixed.slice(1700, 1300)]
    rows: dict[Any, dict[str, Any]] = {}
    for first, some in ((0, parts[:2]), (2, parts[2:])):  # the query is stopped and goes on
        write_batches(folder, some, first=first)
        query = features(read_batches(spark, folder, table.schema), emit=emit)

        def keep(df: Any, number: int) -> None:
            for row in df.toArrow().sort_by("revision" if emit == "arrival" else "ts").to_pylist():
                rows[row["ts"], row["card"], row["country"]] = row

        started = query.start(
            keep, checkpoint=tmp_path / "checkpoint", trigger="available now", online=store, elastic=elastic
        )
        started.awaitTermination()
    assert len(rows) > 2000
    with closing(place_of(store)) as place, place.reading() as read:
        (label,) = read([LABEL])
        named = json.loads(bytes(label))
    assert (named["checkpoint"], named["host"]) == (str(tmp_path / "checkpoint"), socket.gethostname())
    assert named["query"] == json.loads((tmp_path / "checkpoint" / "metadata").read_text())["id"]
    with sash.online(store) as online:
        keys = [(row["card"], row["country"]) for row in rows.values()]
        served = online.get(keys, at=[row["ts"] for row in rows.values()])
    for row, found in zip(rows.values(), served.to_pylist(), strict=True):
        assert all(same(row[name], found[name]) for name in online.columns), (row, found)


def test_a_batch_that_is_missing_is_noticed(tmp_path: Path) -> None:
    store, table = str(tmp_path / "features"), payments(10, seed=6)
    publisher = Publisher.of(features(table).bound, store)
    with pytest.raises(StoreError, match="continue with batch 0, and this is batch 3"):
        publisher.begin(3)
    publisher.begin(0)
    with pytest.raises(StoreError, match="continue with batch 0, and this is batch 1"):
        publisher.begin(1)  # batch 0 may have been executed without a store
    publisher.done(0)  # it had no rows
    assert publisher.begin(1) is False
    publisher.publish(table, 1)
    with pytest.raises(StoreError, match="continue with batch 1, and this is batch 2"):
        publisher.begin(2)
    assert publisher.begin(1) is False  # it is executed again
    publisher.done(1, publisher.publish(table, 1))
    assert publisher.begin(1) is True
    assert publisher.begin(2) is False
    with pytest.raises(StoreError, match="of another checkpoint"):
        publisher.begin(0, owner="another")


def test_a_bounded_input_that_was_published_in_part_is_noticed(tmp_path: Path) -> None:
    store, table = str(tmp_path / "features"), payments(10, seed=6)
    publisher = Publisher.of(features(table).bound, store)
    publisher.begin(HISTORY, owner=INPUT)
    publisher.publish(table.slice(0, 5), HISTORY)
    with pytest.raises(StoreError, match="not published to its end; publish it again"):
        publisher.begin(0, owner="a stream")
    features(table).publish(store)
    assert publisher.begin(0, owner="a stream") is False


@pytest.mark.parametrize("lifetime", [False, True])
def test_keys_that_went_silent_leave_the_store(store: str, lifetime: bool) -> None:
    """One card pays once, 1,500 others come and go, and one pays all the time; look-backs of 10.

    card 0   ·                                   let go when the newest event is 20 later
    card 1   · · · · · · · · · · ·               stays
    """
    look_backs = (10, 5, sash.lifetime()) if lifetime else (10, 5)
    schema = pa.schema([("t", pa.int64()), ("card", pa.int64()), ("x", pa.int64())])
    query = sash.stream(schema.empty_table(), time="t", key="card").rolling(*look_backs)
    query = query.agg(n=sash.count(), last=sash.last("x"))
    publisher = Publisher.of(query.bound, store)
    cards = [
        [0, 1],
        *([1, *range(100 * batch, 100 * batch + 100)] for batch in range(1, 16)),
        [1],
        [1],
        [1],
    ]
    for batch, some in enumerate(cards):
        publisher.begin(batch)
        rows = {"t": [4 * batch] * len(some), "card": some, "x": some}
        publisher.done(batch, publisher.publish(pa.table(rows, schema), batch))
    now, place = 4 * (len(cards) - 1), place_of(store)
    silent, recent = (
        4 * 1,
        [card for batch in range(len(cards)) for card in cards[batch] if now - 4 * batch < 20],
    )
    with place.reading() as read, sash.online(store) as online:
        heads = read([head_name(name) for name in key_bytes(pa.table({"card": range(1600)}), 1600)])
        there = {card for card, head in enumerate(heads) if head is not None}
        expected = {card for some in cards for card in some} if lifetime else set(recent)
        assert there == expected
        rows = online.get([0, 1, 100, 1599], at=now).to_pylist()
        assert [row["n_10"] for row in rows] == [0, 3, 0, 0]
        assert [row["last_5"] for row in rows] == [None, 1, None, None]
        if lifetime:
            assert [row["n_lifetime"] for row in rows] == [1, len(cards), 1, 1]
        # Within the look-back before the newest event nothing is missing.
        assert online.get([1500], at=now - 10).to_pylist()[0]["n_10"] == 1
        with pytest.raises(ArgumentError, match="have been dropped"):
            online.get([0], at=silent - 1)
    # A card that comes back starts from nothing, and what it had before is not answered from a part.
    batch = len(cards)
    publisher.begin(batch)
    rows = pa.table({"t": [now + 1], "card": [100], "x": [7]}, schema)
    publisher.done(batch, publisher.publish(rows, batch))
    with sash.online(store) as online:
        assert online.get([100], at=now + 1).to_pylist()[0]["n_10"] == 1
        with pytest.raises(ArgumentError, match="have been dropped"):
            online.get([100], at=5)
    place.close()


def test_a_bounded_input_comes_before_a_stream(tmp_path: Path) -> None:
    store, table = str(tmp_path / "features"), payments(400, seed=9)
    features(table.slice(0, 300)).publish(store)
    with pytest.raises(StoreError, match="published already; a bounded input needs an empty store"):
        features(table.slice(300)).publish(store)
    publisher = Publisher.of(features(table).bound, store)
    with pytest.raises(StoreError, match="continue with batch 0"):
        publisher.begin(1, owner="a stream")
    assert publisher.begin(0, owner="a stream") is False
    publisher.done(0, publisher.publish(table.slice(300), 0))
    with pytest.raises(StoreError):
        features(table).publish(store)
    with sash.online(store) as online:
        rows = features(table).collect().sort_by("ts")
        served = online.get(rows.select(["card", "country"]).to_pylist(), at=rows["ts"].to_pylist())
        pairs = zip(rows.select(online.columns).to_pylist(), served.to_pylist(), strict=True)
        assert all(same(one[name], other[name]) for one, other in pairs for name in online.columns)


def test_a_store_belongs_to_one_query(tmp_path: Path) -> None:
    store, table = str(tmp_path / "features"), payments(10, seed=7)
    published(store, table, batches=1)
    stream = sash.stream(table, time="ts", key=["card", "country"])
    other = stream.rolling("5 minutes").agg(n=sash.count())
    with pytest.raises(DifferentQuery, match="other look-backs and aggregates"):
        Publisher.of(other.bound, store).begin(1)
    with pytest.raises(DifferentQuery):
        sash.online(store, query=other)


@sash.monoid(commutative=True)
class Product:
    """An aggregate of a user's own."""

    def identity():
        return 1.0

    def lift(x):  # noqa: N805
        return x

    def combine(a, b):  # noqa: N805
        return a * b


def test_aggregates_of_ones_own_need_the_query(tmp_path: Path) -> None:
    store, table = str(tmp_path / "features"), pa.table({"t": [1, 2, 3], "x": [2.0, 3.0, 4.0]})
    query = sash.stream(table, time="t").rolling(2).agg(p=Product("x"))
    publisher = Publisher.of(query.bound, store)
    publisher.begin(0)
    publisher.publish(table, 0)
    with pytest.raises(Unsupported, match=r"the code of p: give the query, sash\.online\(store, query=q\)"):
        sash.online(store)
    with sash.online(store, query=query) as online:
        assert online.get(at=3).to_pylist() == [{"t": 3, "p_2": 12.0}]
        with pytest.raises(ArgumentError, match="left out for a query without keys"):
            online.get(["a"], at=3)
        with pytest.raises(ArgumentError, match="at must be an integer"):
            online.get()


def test_a_store_without_features_is_not_kept_open(tmp_path: Path) -> None:
    sash.stores.LMDB(tmp_path).close()
    with pytest.raises(StoreError, match="there are no features at"):
        sash.online(tmp_path)
    lmdb.open(str(tmp_path), max_dbs=4).close()  # which a process can do once at a time


def test_what_cannot_be_served_is_refused(tmp_path: Path) -> None:
    table = payments(10, seed=8)
    windows = sash.stream(table, time="ts").window(sash.tumbling("1 hour")).agg(n=sash.count())
    with pytest.raises(Unsupported, match=r"online must be used with \.rolling"):
        Publisher.of(windows.bound, tmp_path)
    latest = sash.stream(table, time="ts", key="card").latest("1 hour").agg(n=sash.count())
    with pytest.raises(Unsupported, match=r"\.rolling over the same look-backs has its values"):
        latest.publish(tmp_path)
    with pytest.raises(ArgumentError, match=r"query must be the \.rolling"):
        sash.online(tmp_path, query=latest)
    forgetful = sash.stream(table, time="ts", forget_after="1 minute").rolling("1 hour").agg(n=sash.count())
    with pytest.raises(Unsupported, match="forget_after=1 minute"):
        Publisher.of(forgetful.bound, tmp_path)
    with pytest.raises(StoreError, match="there are no features at"):
        sash.online(tmp_path / "empty")
    assert not (tmp_path / "empty").exists()
    with pytest.raises(StoreUnavailable, match=r"127\.0\.0\.1:1/0 does not answer"):
        sash.online("redis://user:secret@127.0.0.1:1/0")
    with pytest.raises(ArgumentError, match="'redis://host:port/db' or the path"):
        sash.online("http://somewhere")
    published(str(tmp_path / "features"), table, batches=1)
    with sash.online(tmp_path / "features") as online:
        for wrong in ("a", None, [3], [("x", "y", "z")], [("a", "se")], [{"card": 3}]):
            with pytest.raises(ArgumentError, match="keys must be"):
                online.get(wrong)
        with pytest.raises(ArgumentError, match="one, or one for each of 1 keys"):
            online.get([(3, "se")], at=[1, 2])
        with pytest.raises(ArgumentError, match="a time such as"):
            online.get([(3, "se")], at="soon")
        for whole in (table, table.to_pandas()):
            with pytest.raises(ArgumentError, match=r"got 'a (Table|DataFrame)'\. Of an Arrow") as refused:
                online.get(whole)
            assert "\n" not in str(refused.value)
        with pytest.raises(ArgumentError, match="at must be a datetime"):
            online.get([(3, "se")], at=np.datetime64("NaT"))
        instants = [np.datetime64("1970-01-02", unit) for unit in ("D", "ns")]
        expected = online.get([(3, "se")] * 2, at=MICROSECONDS)
        assert online.get([(3, "se")] * 2, at=instants) == expected
        assert online.get([(3, "se")] * 2, at=expected["ts"]) == expected
        assert online.get([]).num_rows == 0
        assert online.get([(3, "se")])["n_5_minutes"].to_pylist() == [0]  # now
