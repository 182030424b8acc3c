"""Runs that instances read together, piece by piece, and the tables that the pieces go to."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.aggregation.kernels.rows.key_sets import by_share
from sash.errors import PredicateError
from sash.operators import Aggregate, InBulk, Input, setup
from sash.operators.order.interleaved import interleave
from sash.operators.stateful import shared_preparation
from sash.operators.stateful.compiled_aggregate import CompiledAggregate
from sash.operators.stateful.shared_preparation import Piece, Prepared, cuts

EVENTS = Input(pa.schema([("t", pa.int64()), ("k", pa.int64()), ("x", pa.int64())]), time="t")
rows = st.lists(
    st.tuples(st.integers(0, 80), st.integers(-3, 9), st.none() | st.integers(-9, 9)), max_size=60
)


def neighbours(table: pa.Table) -> tuple[Any, Any]:
    """The keys k and k + 1 of every row, repeated to be made distinct."""
    k = table["k"].to_numpy()
    return np.arange(0, 3 * len(k) + 1, 3), np.column_stack([k, k + 1, k]).reshape(-1)


def operator(advance: int, size: int, **more: Any) -> Aggregate:
    return Aggregate(
        advance=advance, size=size, inputs=EVENTS, shares=6,
        n=sash.count(), s=sash.sum("x"), last=sash.last("x"),
        **{"keys": InBulk(neighbours)} | more,
    )  # fmt: skip


def table(found: list[tuple[int, int, int | None]]) -> pa.Table:
    ordered = sorted(found, key=lambda row: row[0])
    return pa.Table.from_pylist(
        [dict(zip("tkx", row, strict=True)) for row in ordered], schema=EVENTS.schema
    )


def canonical(tables: list[pa.Table]) -> list[str]:
    return sorted(repr(row) for part in tables for row in part.to_pylist())


@settings(deadline=None, max_examples=60)
@given(rows, st.integers(1, 12), st.integers(1, 20), st.integers(1, 20))
def test_differential_pieces_of_a_run_change_nothing(
    found: list[tuple[int, int, int | None]], advance: int, size: int, batch: int
) -> None:
    data = table(found)
    runs = [interleave([EVENTS], [(0, data.slice(at, batch))]) for at in range(0, data.num_rows, batch)]
    owners = np.array([0, 2, 3]), np.array([1, 4, 5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_preparation, "SHORTEST", 1)
        running = operator(advance, size).start()
        assert isinstance(running, CompiledAggregate)
        tables = [running.step(run, mine) for run in runs for mine in owners]
        tables.append(running.finish())
    assert canonical(tables) == canonical([operator(advance, size).over(data)])


def test_instances_that_read_together_say_what_one_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_preparation, "SHORTEST", 64)
    draw = np.random.default_rng(4)
    times = np.sort(draw.integers(0, 900, 6_000))
    data = pa.table({"t": times, "k": draw.integers(0, 5_000, 6_000), "x": draw.integers(-9, 9, 6_000)})
    by = [("time", "ascending"), ("key", "ascending")]
    readers = Counter[str]()

    def noted(rows: pa.Table) -> tuple[Any, Any]:
        if rows.num_rows:
            readers[threading.current_thread().name] += rows.num_rows
        return neighbours(rows)

    one = operator(50, 150).over(data).sort_by(by)
    counted = operator(50, 150, keys=InBulk(noted))
    with setup(counted, 3, 3) as running:
        for at in range(0, 6_000, 500):
            running.add("source", data.slice(at, 500))
        running.stop()
        found = [counted.schema.empty_table()]
        while (part := running.get("reader")) is not None:
            found.append(part)
    assert pa.concat_tables(found).sort_by(by).equals(one)
    assert sum(readers.values()) == 6_000, "every tuple is read once, whatever the number of instances"


def test_each_piece_is_read_once_and_comes_in_its_place() -> None:
    read: list[int] = []

    def reader(number: int) -> Any:
        def make() -> Piece:
            read.append(number)
            return Piece(np.array([0, 1]), np.array([number]), np.array([number]))

        return make

    shared = Prepared([reader(number) for number in range(40)])
    with ThreadPoolExecutor(4) as pool:
        for pieces in pool.map(lambda _: shared.pieces(), range(4)):
            assert [int(piece.pairs(0)[1][0]) for piece in pieces] == list(range(40))
    assert sorted(read) == list(range(40))


def test_an_instance_that_fails_does_not_let_the_others_wait() -> None:
    waiting = threading.Event()

    def fails() -> Piece:
        waiting.wait()
        raise PredicateError("no keys")

    shared = Prepared([fails])
    with ThreadPoolExecutor(2) as pool:
        jobs = [pool.submit(shared.pieces) for _ in range(2)]
        waiting.set()
        for each in jobs:
            with pytest.raises(PredicateError, match="no keys"):
                each.result(timeout=10)


@given(st.integers(0, 500), st.floats(0, 10**6), st.integers(1, 70))
def test_pieces_cover_a_run_without_gap_or_overlap(tuples: int, keys: float, pieces: int) -> None:
    parts = cuts(tuples, keys, pieces=pieces)
    assert [at for part in parts for at in range(part.start, part.stop)] == list(range(tuples))
    assert 1 <= len(parts) <= pieces


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), max_size=20), st.integers(1, 9))
def test_every_pair_is_in_the_share_of_its_key_and_in_order(sets: list[list[int]], shares: int) -> None:
    offsets = np.cumsum([0, *map(len, sets)])
    keys = np.array([key for keys in sets for key in keys], np.int64)
    begins, events, grouped = by_share(offsets, keys, 10 * np.arange(len(sets)), shares)
    expected = Counter((10 * row, key) for row, keys_ in enumerate(sets) for key in keys_)
    assert Counter(zip(events.tolist(), grouped.tolist(), strict=True)) == expected
    homes: dict[int, int] = {}
    for share in range(shares):
        own = slice(begins[share], begins[share + 1])
        assert (np.diff(events[own]) >= 0).all()
        assert all(homes.setdefault(key, share) == share for key in grouped[own].tolist())


def test_oracle_a_stream_of_ever_new_keys_keeps_tables_small() -> None:
    counting = Aggregate(advance=10, size=20, inputs=EVENTS, keys="k", shares=2, n=sash.count())
    running, counts = counting.start(), Counter[int]()
    for batch in range(60):
        k = np.repeat(np.arange(batch * 1_000, batch * 1_000 + 1_000), 2)
        data = {"t": np.full(2_000, 10 * batch), "k": k, "x": np.zeros(2_000, np.int64)}
        counts.update(running.process(interleave([EVENTS], [(0, data)]))["key"].to_pylist())
    counts.update(running.finish()["key"].to_pylist())
    assert counts == Counter(dict.fromkeys(range(60_000), 2)), "each key is in two windows"
    assert sum(size for _, size in running.buffers()) < 2_000_000
