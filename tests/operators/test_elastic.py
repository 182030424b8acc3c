"""Instances that come and go: one owner a share, no state moved, and always the same answer."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from benchmarks.stretch.stress import disorder, stress
from sash.errors import ArgumentError, PredicateError, Unsupported
from sash.operators import Aggregate, ElasticOperator, Input, InputEvent, Join, Stateful, WindowSet, setup
from sash.operators.elastic.instance_of_share import balanced
from sash.operators.stateful.process_shares import ProcessShares
from sash.operators.stateful.running_operator import Running

EVENTS = Input(pa.schema([("t", pa.int64()), ("ks", pa.list_(pa.int64())), ("x", pa.int64())]), time="t")


def events(n: int, *, seed: int = 3, keys: int = 40) -> dict[str, Any]:
    draw = np.random.default_rng(seed)
    sets = [draw.integers(0, keys, draw.integers(0, 5)).tolist() for _ in range(n)]
    return {"t": np.sort(draw.integers(0, n // 2, n)), "ks": sets, "x": draw.integers(-9, 9, n)}


def part(rows: dict[str, Any], lo: int, hi: int) -> dict[str, Any]:
    return {name: column[lo:hi] for name, column in rows.items()}


def totals(**more: Any) -> Aggregate:
    return Aggregate(
        advance=10,
        size=40,
        inputs=EVENTS,
        keys="ks",
        n=sash.count(),
        s=sash.sum("x"),
        **{"shares": 8} | more,
    )


def everything(operator: ElasticOperator, reader: str = "reader") -> pa.Table:
    found = [operator.operator.schema.empty_table()]
    while (rows := operator.get(reader)) is not None:
        found.append(rows)
    return pa.concat_tables(found)


def canonical(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


class Watched:
    """Asserts at every access to a share that its owner, and nobody else, holds it."""

    def __init__(self, running: Running) -> None:
        self.running, self.take = running, running.share
        self.operator: ElasticOperator | None = None
        self.holders: dict[int, str] = {}
        self.accesses = 0
        self.owners: dict[int, set[str]] = {}
        running.share = self.share  # type: ignore[method-assign]

    @contextmanager
    def share(self, number: int) -> Iterator[Any]:
        me = threading.current_thread().name
        assert self.operator is not None
        owner = f"instance {self.operator.epochs.present.mapping[number]}"
        assert me == owner, f"{me} took share {number} of {owner}"
        assert number not in self.holders, f"{me} took share {number} while {self.holders[number]} held it"
        self.holders[number] = me
        self.accesses += 1
        self.owners.setdefault(number, set()).add(me)
        with self.take(number) as state:
            yield state
        del self.holders[number]


def watched(operator: Stateful, m: int, n: int, **more: Any) -> tuple[ElasticOperator, Watched]:
    watches: list[Watched] = []
    start = operator.start

    def starting() -> Running:
        watches.append(Watched(start()))
        return watches[0].running

    operator.start = starting  # type: ignore[method-assign]
    elastic = setup(operator, m, n, **more)
    watches[0].operator = elastic
    return elastic, watches[0]


OPERATORS = {
    "compiled aggregate": totals,
    "interpreted aggregate": lambda: totals(c=sash.collect("x")),
    "plain functions": lambda: Stateful(
        advance=1, size=30, inputs=EVENTS, keys="ks", window="single", shares=8,
        update=_count, schema=pa.schema([("key", pa.int64()), ("n", pa.int64())]),
    ),
    "join": lambda: Join(within=20, inputs=EVENTS, shares=8, where=lambda l, r: l.x == -r.x),  # noqa: E741
}  # fmt: skip


def _count(windows: WindowSet, arrival: InputEvent) -> Any:
    windows[0].append(arrival)
    return {"key": windows.key, "n": len(windows[0])}


@pytest.mark.parametrize("kind", OPERATORS)
def test_oracle_every_share_has_one_owner_at_every_access_and_the_answer_stays_the_same(kind: str) -> None:
    operator = OPERATORS[kind]()
    rows = events(1500)
    expected = canonical(operator.over(rows))
    draw = random.Random(5)
    elastic, watch = watched(operator, 2, 8)
    with elastic:
        for lo in range(0, 1500, 15):
            elastic.add("source", part(rows, lo, lo + 15))
            if draw.random() < 0.6:
                chosen = sorted(draw.sample(range(8), draw.randrange(1, 9)))
                elastic.reconfigure(chosen, [draw.choice(chosen) for _ in range(8)])
        elastic.stop()
        found = everything(elastic)
    assert canonical(found) == expected
    assert found["time"].to_pylist() == sorted(found["time"].to_pylist())
    assert watch.accesses > 300
    # Shares did change hands, or nothing was tested.
    assert max(len(owners) for owners in watch.owners.values()) > 3


def test_reconfigurations_that_are_requested_at_once_are_applied_one_after_the_other_and_once_each() -> (
    None
):
    operator = totals()
    rows = events(4000)
    with setup(operator, 1, 8) as elastic:
        changes: list[Any] = []
        stop = threading.Event()

        def request(number: int) -> None:
            draw = random.Random(number)
            while not stop.is_set() and len(changes) < 200:
                changes.append(elastic.reconfigure(draw.randrange(1, 9)))

        threads = [threading.Thread(target=request, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for lo in range(0, 4000, 100):
            elastic.add("source", part(rows, lo, lo + 100))
        for thread in threads:
            thread.join()
        elastic.stop()
        assert canonical(everything(elastic)) == canonical(operator.over(rows))
        applied = elastic.epochs.history
    assert sorted(map(id, applied)) == sorted(map(id, changes))
    assert [change.epoch for change in applied] == list(range(1, len(changes) + 1))
    assert elastic.epochs.present.instances == applied[-1].instances
    assert [change.gamma for change in applied] == sorted(change.gamma for change in applied)


def test_a_reconfiguration_moves_no_byte_of_state() -> None:
    with setup(totals(shares=64), 1, 64) as elastic:
        rows = events(2000)
        for lo in range(0, 2000, 100):
            elastic.add("source", part(rows, lo, lo + 100))
            change = elastic.reconfigure([1, 64, 2, 33][lo // 100 % 4])
            assert change.wait(30)
            assert change.moved_bytes == 0
            assert elastic.degree == len(change.instances)
        state = elastic.running.buffers()
        assert sum(size for _, size in state) > 50_000
        elastic.stop()


def test_moved_bytes_would_be_counted_if_there_were_any() -> None:
    elastic = setup(totals(), 1, 2)
    with elastic:
        honest = elastic._switch

        def moving(*arguments: Any) -> None:
            honest(*arguments)
            table = elastic.running._tables[0][0]  # type: ignore[attr-defined]
            table.book = table.book.copy()

        elastic.epochs._switch = moving
        change = elastic.reconfigure(2)
        assert change.wait(30)
        assert change.moved_bytes == elastic.running._tables[0][0].book.nbytes  # type: ignore[attr-defined]


def test_a_tuple_reaches_each_instance_once_whatever_the_number_of_its_keys() -> None:
    rows = events(1000)
    assert sum(map(len, rows["ks"])) > 1900
    with setup(totals(), 2, 2) as elastic:
        elastic.add("source", rows)
        elastic.stop()
        assert elastic.deliveries == [1000, 1000]


def test_several_sources_and_inputs_and_readers_share_one_operator() -> None:
    left = Input(pa.schema([("t", pa.int64()), ("x", pa.int64())]), time="t")
    right = Input(pa.schema([("t", pa.int64()), ("a", pa.int64())]), time="t")
    operator = Join(within=5, inputs=[left, right], where=lambda l, r: l.x == r.a, shares=4)  # noqa: E741
    with setup(operator, 2, 4, sources={"l1": 0, "l2": 0, "r": 1}, readers=["one", "two"]) as elastic:
        elastic.add("l1", {"t": [1, 9], "x": [7, 7]})
        elastic.add("l2", {"t": [2, 9], "x": [8, 8]})
        elastic.reconfigure(4)
        elastic.add("r", {"t": [3, 9], "a": [7, 8]})
        elastic.stop()
        one, two = everything(elastic, "one"), everything(elastic, "two")
    assert one.equals(two)
    assert [(row["left_t"], row["right_t"]) for row in one.to_pylist()] == [(1, 3), (9, 9)]


def test_a_mapping_that_is_given_is_the_one_that_holds() -> None:
    with setup(totals(shares=4), 2, 4, mapping=[1, 1, 1, 0]) as elastic:
        assert elastic.epochs.present.mapping.tolist() == [1, 1, 1, 0]
        change = elastic.reconfigure([0, 3], [3, 3, 0, 3])
        assert change.wait(30)
        assert elastic.epochs.present.mapping.tolist() == [3, 3, 0, 3]
        assert change.epoch == 1


@pytest.mark.parametrize(
    ("instances", "mapping"),
    [
        (0, None),
        (5, None),
        ([], None),
        ([0, 0], None),
        ([4], None),
        ([True], None),
        (2, [0, 1]),
        (2, [0, 1, 2, 0]),
    ],
)
def test_impossible_reconfigurations_are_refused_before_anything_happens(
    instances: Any, mapping: Any
) -> None:
    with setup(totals(shares=4), 1, 4) as elastic:
        with pytest.raises(ArgumentError, match=r"^(instances|mapping) must be"):
            elastic.reconfigure(instances, mapping)
        assert elastic.epochs.history == []


@pytest.mark.parametrize(("m", "n"), [(0, 1), (3, 2), (1, 9)])
def test_there_are_at_least_one_and_at_most_as_many_instances_as_shares(m: int, n: int) -> None:
    with pytest.raises(ArgumentError, match="8, the number of shares"):
        setup(totals(), m, n)


def test_a_function_that_raises_in_an_instance_raises_where_the_output_is_read() -> None:
    operator = Stateful(advance=5, size=5, inputs=EVENTS, keys="ks", update=lambda w, a: 1 // 0)
    with setup(operator, 4, 8) as elastic:
        elastic.add("source", events(100))
        with pytest.raises(PredicateError, match="ZeroDivisionError"):
            elastic.get("reader")
        with pytest.raises(PredicateError, match="ZeroDivisionError"):
            elastic.reconfigure(8)


@settings(deadline=None, max_examples=50)
@given(
    st.integers(1, 100),
    st.lists(st.sets(st.integers(0, 30), min_size=1, max_size=16), min_size=1, max_size=6),
)
def test_balanced_mappings_are_even_and_move_no_more_shares_than_they_must(
    shares: int, sequence: list[set[int]]
) -> None:
    before = None
    for chosen in sequence:
        instances = sorted(chosen)
        mapping = balanced(shares, instances, before=before)
        counts = [int((mapping == each).sum()) for each in instances]
        assert sum(counts) == shares
        assert max(counts) - min(counts) <= 1
        if before is not None:
            most = -(-shares // len(instances))
            kept = sum(min(int((before == each).sum()), most) for each in instances)
            assert int((mapping == before).sum()) >= kept - len(instances)
        before = mapping


@settings(deadline=None, max_examples=80)
@given(
    st.lists(st.integers(0, 50), min_size=8, max_size=64),
    st.lists(st.sets(st.integers(0, 9), min_size=1, max_size=8), min_size=1, max_size=5),
)
def test_mappings_by_load_are_as_even_as_shares_allow_and_stay_where_they_are(
    load: list[int], sequence: list[set[int]]
) -> None:
    before = None
    for chosen in sequence:
        instances = sorted(chosen)
        mapping = balanced(len(load), instances, before=before, load=load)
        loads = np.array([sum(np.array(load)[mapping == each]) for each in instances])
        assert loads.sum() == sum(load)
        # No instance is heavier than the mean by more than its lightest share of any load.
        heaviest = instances[int(loads.argmax())]
        lightest = min(
            [cost for cost, own in zip(load, mapping, strict=True) if own == heaviest and cost] or [0]
        )
        assert loads.max() <= max(1.1 * loads.mean(), loads.min() + lightest) + 1e-9
        assert balanced(len(load), instances, before=mapping, load=load).tolist() == mapping.tolist()
        before = mapping


def test_a_hot_key_leaves_its_instance_little_else() -> None:
    hot = {"t": np.arange(4000), "ks": [[7] if n % 2 else [n % 40] for n in range(4000)], "x": [1] * 4000}
    with setup(totals(shares=16), 2, 2) as elastic:
        elastic.add("source", hot)
        while elastic.sample().pending:
            pass
        change = elastic.reconfigure(2)
        assert change.wait(30)
        elastic.stop()
        everything(elastic)
    assert change.mapping is not None
    home = change.mapping[int(elastic.running.load.argmax())]
    counts = [int((change.mapping == each).sum()) for each in (home, 1 - home)]
    assert counts[0] < counts[1]


@pytest.mark.parametrize("kind", ["interpreted aggregate", "plain functions"])
def test_oracle_functions_in_processes_give_the_same_answer_and_move_no_state(kind: str) -> None:
    operator, rows = OPERATORS[kind](), events(600)
    draw = random.Random(7)
    with setup(operator, 1, 3, processes=True) as elastic:
        changes = []
        for lo in range(0, 600, 60):
            elastic.add("source", part(rows, lo, lo + 60))
            chosen = sorted(draw.sample(range(3), draw.randrange(1, 4)))
            changes.append(elastic.reconfigure(chosen, [draw.choice(chosen) for _ in range(8)]))
        elastic.stop()
        found = everything(elastic)
    assert canonical(found) == canonical(operator.over(rows))
    assert found["time"].to_pylist() == sorted(found["time"].to_pylist())
    assert {change.moved_bytes for change in changes} == {0}


def test_a_function_that_fails_in_a_process_is_named_with_its_row_and_ends_the_processes() -> None:
    def fail(windows: WindowSet, arrival: InputEvent) -> Any:
        return {"key": 1 // arrival.row.x}

    bad = Stateful(
        advance=10, size=10, inputs=EVENTS, keys="ks", update=fail, schema=pa.schema([("key", pa.int64())])
    )
    with setup(bad, 1, 2, processes=True) as elastic:
        elastic.add("source", {"t": [1], "ks": [[1]], "x": [0]})
        with pytest.raises(PredicateError, match="ZeroDivisionError"):
            everything(elastic)
        running = elastic.running
    assert isinstance(running, ProcessShares)
    assert not any(process.alive for process in running._processes)


def test_processes_are_refused_where_kernels_do_the_work() -> None:
    with pytest.raises(Unsupported, match="processes must be left out"):
        setup(totals(), 1, 2, processes=True)


def test_a_short_stress_with_abrupt_rates_loses_repeats_and_disorders_nothing() -> None:
    record = stress(seconds=3.0, seed=11, most=4)
    assert record.reconfigurations > 10
    assert disorder(record) == []


@pytest.mark.soak
def test_two_minutes_of_stress_with_abrupt_rates_lose_repeat_and_disorder_nothing() -> None:
    record = stress(seconds=120.0, seed=12, most=8)
    assert record.reconfigurations > 400
    assert disorder(record) == []
