"""The pieces of the streaming runtime, each by itself: buckets, blocks, clock, watermarks, fingerprints."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

import sash
from sash.aggregation import built_in
from sash.errors import ArgumentError, CorruptValue, DataError, DifferentQuery
from sash.operators.arena import ArenaHome
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.operators.joins.join_operator import JoinOperator
from sash.runtimes.spark.packing import blocks as packing
from sash.runtimes.spark.packing.balanced_bucket_ids import bucket_ids, partition_of
from sash.runtimes.spark.packing.columns import BUCKET, ORDINAL
from sash.runtimes.spark.state.checkpoint_compatibility import change_of
from sash.runtimes.spark.state.fingerprint import canonical, describe, fingerprint
from sash.runtimes.spark.state.operators_in_state import OperatorCache
from sash.runtimes.spark.streaming.upstream_watermark import NEWEST, Upstream
from sash.runtimes.spark.streaming.watermark_units import TICKS_SHIFT, UNKNOWN, Clock
from sash.semantics import windows
from sash.semantics.expression import Side
from sash.semantics.query import Query
from sash.semantics.window import Window

TYPES = {
    "i": pa.array([1, None, 2**62], pa.int64()),
    "f": pa.array([0.5, float("nan"), None], pa.float64()),
    "s": pa.array(["a", None, "é"], pa.string()),
    "b": pa.array([b"\0", None, b""], pa.binary()),
    "d": pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(10, 2)),
    "t": pa.array([dt.datetime(1969, 12, 31), None, dt.datetime(2026, 1, 1)], pa.timestamp("us", "UTC")),
    "l": pa.array([[1, None], None, []], pa.list_(pa.int64())),
    "r": pa.array([{"x": 1}, None, {"x": None}], pa.struct([("x", pa.int32())])),
}


# Buckets


@given(partitions=st.integers(1, 64), each=st.integers(1, 6))
def test_every_partition_gets_its_share_of_buckets(partitions: int, each: int) -> None:
    buckets = bucket_ids(partitions=partitions, each=each)
    assert len(set(buckets)) == partitions * each
    shares = np.bincount([partition_of(bucket, partitions) for bucket in buckets], minlength=partitions)
    assert set(shares) == {each}


# Blocks


def packer(*, ticks: bool = True) -> packing.Packer:
    time = pa.int64() if ticks else pa.timestamp("us", "UTC")
    schema = pa.schema([("c0", time), ("c1", pa.string()), (ORDINAL, pa.int64())])
    return packing.Packer(schema, "c0", (7, 9, 11), Clock.of(ticks=ticks))


def arriving(times: list[int | None], shares: list[int], *, size: int = 3) -> list[pa.RecordBatch]:
    table = pa.table(
        {
            "c0": pa.array(times, pa.int64()),
            "c1": [f"row {number}" for number in range(len(times))],
            BUCKET: pa.array(shares, pa.int32()),
        }
    )
    return table.to_batches(max_chunksize=size)


def test_a_block_gives_back_what_went_in_whatever_its_types() -> None:
    table = pa.table(TYPES)
    opened = packing.opened(b"k", packing.block(b"k", table), table.schema)
    # Through lists: NaN is no reason to differ.
    assert str(pa.Table.from_batches([opened]).to_pylist()) == str(table.to_pylist())
    assert opened.schema == table.schema


def test_a_block_that_is_damaged_or_of_another_bucket_is_refused() -> None:
    block = packing.block(b"bucket 1", pa.table({"x": [1]}))
    schema = pa.schema([("x", pa.int64())])
    for name, bytes_ in ((b"bucket 2", block), (b"bucket 1", block[:-1]), (b"bucket 1", b"?" + block[1:])):
        with pytest.raises(CorruptValue):
            packing.opened(name, bytes_, schema)


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(-50, 50)), st.integers(0, 2)), max_size=30))
def test_packing_loses_no_row_and_keeps_their_order(rows: list[tuple[int | None, int]]) -> None:
    times, shares = [time for time, _ in rows], [share for _, share in rows]
    seen: list[tuple[int, int | None, str]] = []
    for packed in packer()(arriving(times, shares)):
        for bucket, payload in zip(packed["bucket"], packed["payload"], strict=True):
            block = packing.rows_of(bucket.as_py(), [payload.as_py()], packer().schema)
            assert {shares[number] for number in block[ORDINAL].to_pylist()} == {
                (7, 9, 11).index(bucket.as_py())
            }
            seen += zip(*(block[name].to_pylist() for name in (ORDINAL, "c0", "c1")), strict=True)
    assert sorted(seen) == [(n, time, f"row {n}") for n, time in enumerate(times)]


def test_small_batches_are_put_together_before_they_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = arriving([1] * 12, [0] * 12, size=2)
    assert [packed.num_rows for packed in packer()(batches)] == [1]
    monkeypatch.setattr(packing, "ROWS", 4)
    assert [packed.num_rows for packed in packer()(batches)] == [1, 1, 1]


def test_the_newest_time_of_a_block_tells_spark_how_far_it_is() -> None:
    (packed,) = packer()(arriving([5, None, -3, None], [0, 0, 1, 2]))
    stamps = packed["newest"].cast(pa.int64()).to_pylist()
    assert stamps == [(TICKS_SHIFT + 5) * 1000, (TICKS_SHIFT - 3) * 1000, 0]


def test_a_large_answer_is_cut_into_blocks_and_an_empty_one_is_a_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(packing, "ROWS", 4)
    table = pa.table({"x": list(range(10))})
    blocks = list(packing.blocks_of(table))
    assert len(blocks) == 3
    batch = pa.record_batch({packing.PAYLOAD: pa.array(blocks, pa.binary())})
    assert pa.Table.from_batches(packing.Unpacker(table.schema)([batch])) == table
    (empty,) = packing.blocks_of(table.slice(0, 0))
    batch = pa.record_batch({packing.PAYLOAD: pa.array([empty], pa.binary())})
    assert list(packing.Unpacker(table.schema)([batch])) == []


# Clock


@given(
    time=st.integers(-(10**15), 10**15),
    delay=st.integers(0, 10**7),
    ticks=st.booleans(),
)
def test_a_timer_is_the_least_millisecond_at_which_the_watermark_has_come(
    time: int, delay: int, ticks: bool
) -> None:
    clock = Clock.of(ticks=ticks, delay=delay)
    timer = clock.timer(time)
    assert clock.watermark(timer) >= time
    assert timer == 1 or clock.watermark(timer - 1) < time


@given(times=st.lists(st.integers(0, 10**15), min_size=1), delay=st.integers(0, 10**7))
def test_sparks_watermark_is_never_ahead_of_the_definition(times: list[int], delay: int) -> None:
    clock = Clock.of(ticks=False)
    spark = clock.stamp(np.array(times)) // 1000 - int(clock.spark_delay(delay).split()[0])
    assert clock.watermark(spark) <= max(times) - delay
    assert spark <= 0 or clock.watermark(spark) > max(times) - delay - 2000


def test_before_the_first_watermark_everything_is_on_time() -> None:
    assert Clock.of(ticks=True).watermark(0) == Clock.of(ticks=False).watermark(0) == UNKNOWN


def test_integer_times_that_sparks_clock_cannot_hold_are_refused() -> None:
    with pytest.raises(DataError, match=r"within ±2\*\*52"):
        Clock.of(ticks=True).stamp(np.array([2**53]))


# Upstream

PLAIN = "~Project [ts#1, x#2]\n+- StreamingRelation FileSource[/data], [ts#1, x#2], name=<Unassigned>"
OWN = "~EventTimeWatermark 8c5a, event time#3: timestamp, 10 seconds\n+- " + PLAIN
AGGREGATED = "~Aggregate [k#1], [count(1) AS n#2]\n+- ~EventTimeWatermark 8c5a, ts#3: timestamp, 0 seconds"
FOLLOWED = "~EventTimeWatermark 8c5a, ts#3: timestamp, 0 seconds\n+- ~Aggregate [k#1], [k#1]"


@pytest.mark.parametrize(
    ("plan", "columns", "derived"),
    [
        (PLAIN, (), False),
        (OWN, ("event time",), False),
        (AGGREGATED, ("ts",), True),
        (FOLLOWED, ("ts",), False),
    ],
    ids=["none", "own", "aggregated", "static side"],
)
def test_watermarks_are_read_from_a_plan(plan: str, columns: tuple[str, ...], derived: bool) -> None:
    upstream = Upstream.in_plan(plan)
    assert (upstream.columns, upstream.derived) == (columns, derived)


def test_an_own_watermark_is_described_with_how_far_it_is_behind() -> None:
    assert Upstream.in_plan(PLAIN).own() is None
    own = Upstream.in_plan(OWN).own()
    assert own is not None
    assert own.words == "the stream's own, newest event time − 10 seconds"
    slower = OWN.replace("10 seconds", "1 minutes 30.0 seconds")
    several = Upstream.in_plan(f"Union\n{OWN}\n{slower}").own()
    assert several is not None
    assert several.words == "the slowest of the stream's own, newest event time − 1 minute 30 seconds"
    windows = Upstream.in_plan(OWN.replace("event time", NEWEST)).own()
    assert windows is not None
    assert windows.words == "that of the windows before"


# Fingerprint


def bound(window: Window, **aggregates: object) -> BoundQuery:
    schema = pa.schema([("t", pa.int64()), ("x", pa.int64())])
    return BoundQuery(Query((window,), aggregates or {"n": built_in.count()}), schema, "t", ())


def description(window: Window, **aggregates: object) -> dict:
    return describe(bound(window, **aggregates), buckets=8)


def above(limit: int) -> Window:
    return windows.threshold(lambda row: row.x > limit)


def test_a_description_of_the_same_query_is_the_same() -> None:
    assert fingerprint(description(above(3))) == fingerprint(description(above(3)))
    change_of(canonical(description(above(3))), description(above(3)))


@pytest.mark.parametrize(
    ("one", "other", "message"),
    [
        (above(3), above(4), "limit was 3 and is 4"),
        (
            windows.threshold(lambda row: row.x > 3),
            windows.threshold(lambda row: row.x < 3),
            "the code of windows.*is another",
        ),
        (windows.session(3), windows.session(4), "windows"),
        (windows.rows(3), windows.rows(3).named("w"), "windows"),
    ],
    ids=["closed over", "code", "parameter", "name"],
)
def test_a_different_window_is_told_apart(one: Window, other: Window, message: str) -> None:
    with pytest.raises(DifferentQuery, match=message):
        change_of(canonical(description(one)), description(other))


def test_parameters_of_aggregates_are_told_apart() -> None:
    median = description(windows.rows(3), q=built_in.quantile("x", 0.5))
    upper = description(windows.rows(3), q=built_in.quantile("x", 0.9))
    with pytest.raises(DifferentQuery, match=r"aggregates\.q"):
        change_of(canonical(median), upper)


def test_byte_code_of_another_python_is_not_compared() -> None:
    kept = canonical(description(above(3))).replace(b"code of Python 3.", b"code of Python 2.")
    change_of(kept, description(above(3)))


def test_a_function_that_closes_over_itself_can_be_described() -> None:
    def knows_itself(row: object) -> bool:
        return knows_itself is not None

    assert description(windows.punctuated(knows_itself)) == description(windows.punctuated(knows_itself))


# Operators at hand


@dataclass
class Held:
    """What a cache sees of an operator."""

    memory: int = 0


def at_hand(cache: OperatorCache, names: str) -> str:
    return "".join(name for name in names if cache.take(name.encode(), b"writing") is not None)


def test_the_operators_at_hand_are_bounded_in_bytes_and_the_one_used_longest_ago_leaves() -> None:
    cache = OperatorCache(memory=100)
    for name in "abc":
        cache.keep(name.encode(), b"writing", Held(30))
    cache.keep(b"a", b"writing", cache.take(b"a", b"writing"))
    assert cache.size == 90
    cache.keep(b"d", b"writing", Held(50))
    assert cache.size == 80
    assert at_hand(cache, "abcd") == "ad"
    assert cache.size == 0
    for name, size in (("e", 10), ("f", 1000)):  # what is larger than all is at hand alone
        cache.keep(name.encode(), b"writing", Held(size))
    assert at_hand(cache, "ef") == "f"


def test_the_bound_in_bytes_is_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SASH_WORKER_MEMORY", "1k")
    cache = OperatorCache()
    for name in "abc":
        cache.keep(name.encode(), b"writing", Held(500))
    assert at_hand(cache, "abc") == "bc"
    monkeypatch.setenv("SASH_WORKER_MEMORY", "much")
    with pytest.raises(ArgumentError, match="SASH_WORKER_MEMORY must be a number of bytes"):
        cache.keep(b"a", b"writing", Held(1))


def test_an_operator_counts_what_it_holds_and_not_the_files_that_it_maps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SASH_ARENA_DIR", str(tmp_path))
    query = bound(windows.session(10))
    rows = pa.table({"t": np.arange(0, 10**6, 100), "x": np.arange(10**4)}).cast(query.schema)
    sizes = []
    for name in (None, "mapped"):
        operator = WindowOperator.load(query, None, {}, name=name)
        operator.insert(rows, np.arange(len(rows)))
        assert operator.memory >= rows.nbytes / 2, "they wait"
        operator.advance(10**7)
        sizes.append(operator.memory)
    in_memory, mapped = sizes
    assert mapped == 0 < in_memory


def test_a_join_counts_the_rows_that_it_holds_until_they_expire() -> None:
    rows = pa.table({"t": np.arange(1_000) // 10, "x": np.arange(1_000)})
    sides = (sash.stream(rows.slice(0, 0), time="t", delay=5) for _ in Side)
    query = next(sides).join(next(sides), within=10).bound
    join, chunks = JoinOperator(query), dict[int, bytes]()
    for side in Side:
        join.insert(side, rows.cast(query.of(side).schema), np.arange(1_000))
    join.advance(50)
    saved = join.save()
    saved.put_into(chunks)
    assert join.memory >= 2 * rows.nbytes
    assert JoinOperator.load(query, saved.header, chunks).memory == pytest.approx(join.memory, rel=0.1)
    join.advance(10**6)
    assert join.memory == 0


def test_the_operators_at_hand_are_bounded_in_number() -> None:
    cache = OperatorCache(limit=2)
    for name in (b"a", b"b", b"c"):
        cache.keep(name, b"writing", Held())
    assert cache.take(b"a", b"writing") is None
    assert cache.take(b"c", b"writing") is not None


def test_an_operator_that_was_taken_is_not_at_hand_any_more() -> None:
    cache = OperatorCache()
    cache.keep(b"a", b"writing", Held())
    assert cache.take(b"a", b"writing") is not None
    assert cache.take(b"a", b"writing") is None


@pytest.mark.parametrize("removed", ["the arena", "its tables, by a process that built them again"])
def test_operators_whose_arenas_were_removed_are_let_go_of(
    removed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is mapped stays on the disk until nobody maps it."""
    monkeypatch.setenv("SASH_ARENA_DIR", str(tmp_path))
    cache, query = OperatorCache(), bound(windows.session(10))
    for name in ("one", "other"):
        operator = WindowOperator.load(query, None, {}, name=name)
        operator.insert(pa.table({"t": [1, 2], "x": [1, 2]}).cast(query.schema), np.arange(2))
        operator.advance(0)
        operator.save()
        cache.keep(name.encode(), b"writing", operator)
    if removed == "the arena":
        ArenaHome.default().remove("one")
    else:
        WindowOperator.load(query, None, {}, name="one").arena.release()
    cache.clean_up()
    assert cache.take(b"one", b"writing") is None
    assert cache.take(b"other", b"writing") is not None
