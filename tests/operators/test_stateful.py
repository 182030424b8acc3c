"""O+ against its literal retelling: keys, windows, inputs and the defaults of the paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError, OutOfOrder, PredicateError, UnitError, UnknownColumn
from sash.operators.order.interleaved import END_OF_TIME, Input, Interleaved, interleave
from sash.operators.stateful.aggregate import Aggregate
from sash.operators.stateful.compiled_aggregate import CompiledAggregate
from sash.operators.stateful.declaration import Stateful
from sash.operators.stateful.interpreted_shares import InterpretedShares
from sash.operators.stateful.keys import ByRow, InBulk
from sash.operators.stateful.windows import InputEvent, WindowSet
from tests.operators.reference_operator import comparable, reference, timed_rows

POSTS = Input(pa.schema([("t", pa.int64()), ("tags", pa.list_(pa.string())), ("n", pa.int64())]), time="t")
LIKES = Input(pa.schema([("at", pa.int64()), ("tag", pa.string())]), time="at")

tags = st.lists(st.sampled_from(["red", "pink", "blue", "teal"]), max_size=4)
posts = st.lists(st.tuples(st.integers(0, 60), tags, st.none() | st.integers(-9, 9)), max_size=25)
likes = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(["red", "pink", "blue"])), max_size=15)
shapes = st.tuples(st.integers(1, 12), st.integers(1, 20))


def columns(names: list[str], rows: list[tuple[Any, ...]]) -> dict[str, list[Any]]:
    ordered = sorted(rows, key=lambda row: row[0])
    return {name: [row[at] for row in ordered] for at, name in enumerate(names)}


def posts_of(rows: list[tuple[Any, ...]]) -> Interleaved:
    return interleave([POSTS], [(0, columns(["t", "tags", "n"], rows))], watermark=END_OF_TIME)


def tags_of(row: Any, number: int) -> Any:
    return row.tags if number == 0 else [row.tag]


def remember(windows: WindowSet, arrival: InputEvent) -> Any:
    windows[arrival.input].append((arrival.time, arrival.ordinal))
    return {"key": windows.key, "what": f"met {arrival.ordinal} from {windows.start}"}


def conclude(windows: WindowSet) -> Any:
    return [{"key": windows.key, "what": f"{list(windows)}"}]


def keep_newer(windows: WindowSet) -> None:
    for number, state in enumerate(windows):
        windows[number] = [one for one in state if one[0] >= windows.start]


def talkative(WA: int, WS: int, window: Any, **more: Any) -> Stateful:
    return Stateful(
        advance=WA, size=WS, inputs=[POSTS, LIKES], keys=["tags", "tag"], window=window, shares=5,
        update=remember, output=conclude, slide=keep_newer,
        schema=pa.schema([("key", pa.string()), ("what", pa.string())]), **more,
    )  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(posts, likes, shapes, st.sampled_from(["single", "multi"]))
def test_oracle_two_inputs_with_sets_of_keys_meet_their_windows_as_in_the_paper(
    some: Any, others: Any, shape: tuple[int, int], window: str
) -> None:
    operator = talkative(*shape, window)
    batches = [(0, columns(["t", "tags", "n"], some)), (1, columns(["at", "tag"], others))]
    run = interleave(operator.inputs, batches, watermark=END_OF_TIME)
    emitted = timed_rows(operator.start().process(run).to_pylist())
    assert comparable(emitted) == comparable(reference(operator, run, tags_of))
    assert [time for time, _ in emitted] == sorted(time for time, _ in emitted)


@settings(deadline=None, max_examples=40)
@given(posts, shapes, st.sampled_from(["single", "multi"]), st.integers(1, 5))
def test_output_times_never_decrease_and_are_watermarks_however_the_input_is_cut(
    some: Any, shape: tuple[int, int], window: str, pieces: int
) -> None:
    operator = talkative(*shape, window)
    whole = operator.start().process(
        interleave(operator.inputs, [(0, columns(["t", "tags", "n"], some))], watermark=END_OF_TIME)
    )
    running, rows, latest = operator.start(), [], -(10**9)
    ordered = sorted(some, key=lambda row: row[0])
    for part in np.array_split(np.arange(len(ordered)), pieces):
        batch = columns(["t", "tags", "n"], [ordered[i] for i in part])
        piece = interleave(operator.inputs, [(0, batch)]) if len(part) else None
        if piece is None:
            continue
        new = timed_rows(running.process(piece).to_pylist())
        assert all(time >= latest for time, _ in new)
        # What is still to come ends after the watermark: the operator may promise that much downstream.
        latest = operator.next_end(piece.watermark)
        assert all(time <= latest for time, _ in new)
        rows += new
    rows += timed_rows(running.finish().to_pylist())
    assert comparable(rows) == comparable(timed_rows(whole.to_pylist()))


@settings(deadline=None, max_examples=60)
@given(posts, shapes)
def test_differential_monoids_in_hash_tables_of_panes_and_as_plain_functions_agree(
    some: Any, shape: tuple[int, int]
) -> None:
    operator = Aggregate(
        advance=shape[0], size=shape[1], inputs=POSTS, keys="tags", shares=3,
        n=sash.count(), known=sash.count("n"), total=sash.sum("n"), low=sash.min("n"), last=sash.last("n"),
    )  # fmt: skip
    run = posts_of(some)
    fast = operator.start()
    assert isinstance(fast, CompiledAggregate)
    expected = comparable(reference(operator, run, tags_of))
    assert comparable(timed_rows(fast.process(run).to_pylist())) == expected
    assert comparable(timed_rows(InterpretedShares(operator).process(run).to_pylist())) == expected


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 3000), st.integers(0, 2**32), st.integers(1, 400))
def test_oracle_a_table_of_panes_grows_and_forgets_without_losing_a_key(
    n: int, seed: int, keys: int
) -> None:
    draw = np.random.default_rng(seed)
    numbers = Input(pa.schema([("t", pa.int64()), ("k", pa.int64()), ("x", pa.int64())]), time="t")
    times = np.sort(draw.integers(-500, 500, n))
    # Keys drift with time, so that tables fill with keys of the past.
    rows = {"t": times, "k": draw.integers(0, keys, n) + times * 3, "x": draw.integers(-9, 9, n)}
    operator = Aggregate(advance=10, size=30, inputs=numbers, keys="k", shares=2, s=sash.sum("x"))
    emitted = {(row["time"], row["key"]): row["s"] for row in operator.over(rows).to_pylist()}
    expected: dict[tuple[int, int], int] = {}
    for t, k, x in zip(*(rows[name].tolist() for name in ("t", "k", "x")), strict=True):
        for end in range(t // 10 * 10 + 10, t // 10 * 10 + 31, 10):
            expected[end, k] = expected.get((end, k), 0) + x
    assert emitted == expected


def test_by_default_tuples_are_stored_nothing_is_said_and_stale_tuples_are_purged() -> None:
    operator = Stateful(advance=1, size=10, inputs=POSTS, keys="tags", window="single", shares=1)
    running = operator.start()
    assert isinstance(running, InterpretedShares)
    rows = {"t": [0, 4, 12], "tags": [["red"], ["red"], ["red"]], "n": [1, 2, 3]}
    assert running.process(interleave([POSTS], [(0, rows)])).num_rows == 0
    with running.share(0) as share:
        (windows,) = share.keys.values()
        # At time 12 the window is [3, 13): the tuple of time 0 is stale.
        assert (windows.start, [arrival.time for arrival in windows[0]]) == (3, [4, 12])
    assert running.finish().num_rows == 0
    with running.share(0) as share:
        assert share.keys == {}


def test_a_subclass_overrides_the_functions_by_name() -> None:
    class Counting(Stateful):
        def output(self, windows: WindowSet) -> Any:
            return {"key": windows.key, "n": len(windows[0])}

    operator = Counting(
        advance=10,
        size=10,
        inputs=POSTS,
        keys="tags",
        schema=pa.schema([("key", pa.string()), ("n", pa.int64())]),
    )
    rows = {"t": [1, 2, 11], "tags": [["a"], ["a", "b"], ["a"]], "n": [0, 0, 0]}
    assert comparable(timed_rows(operator.over(rows).to_pylist())) == comparable(
        [(10, {"key": "a", "n": 2}), (10, {"key": "b", "n": 1}), (20, {"key": "a", "n": 1})]
    )


@pytest.mark.parametrize(
    "keys",
    [
        ByRow(lambda row: row.tags, keys=pa.string()),
        InBulk(
            lambda rows: (_offsets(rows["tags"]), rows["tags"].combine_chunks().flatten()), keys=pa.string()
        ),
    ],
    ids=["by row", "in bulk"],
)
def test_keys_can_be_given_by_row_or_in_bulk(keys: Any) -> None:
    rows = {"t": [1, 2, 3], "tags": [["a", "b", "a"], [], ["b"]], "n": [1, 2, 3]}
    wanted: dict[str, Any] = {"advance": 5, "size": 5, "inputs": POSTS, "n": sash.count()}
    assert Aggregate(keys=keys, **wanted).over(rows).equals(Aggregate(keys="tags", **wanted).over(rows))


def _offsets(lists: pa.ChunkedArray) -> Any:
    return np.concatenate(([0], np.cumsum(lists.combine_chunks().value_lengths().to_numpy())))


def test_null_is_a_key_of_its_own_and_a_null_list_has_no_keys() -> None:
    numbers = Input(pa.schema([("t", pa.int64()), ("k", pa.int64())]), time="t")
    rows = {"t": [1, 2, 3], "k": [None, 7, None]}
    found = Aggregate(advance=5, size=5, inputs=numbers, keys="k", n=sash.count()).over(rows)
    assert {row["key"]: row["n"] for row in found.to_pylist()} == {None: 2, 7: 1}
    lists = {"t": [1, 2], "tags": [None, ["a"]], "n": [0, 0]}
    assert Aggregate(advance=5, size=5, inputs=POSTS, keys="tags", n=sash.count()).over(lists).num_rows == 1


def test_aggregates_over_objects_are_interpreted_with_the_same_windows() -> None:
    operator = Aggregate(
        advance=5, size=10, inputs=POSTS, keys="tags", all=sash.collect("tags"), n=sash.count()
    )
    assert isinstance(operator.start(), InterpretedShares)
    rows = {"t": [1, 7], "tags": [["a"], ["a"]], "n": [0, 0]}
    assert [len(row["all"]) for row in operator.over(rows).to_pylist()] == [1, 2, 1]


def test_windows_over_timestamps_end_with_timestamps() -> None:
    minutes = Input(pa.schema([("ts", pa.timestamp("us")), ("k", pa.string())]), time="ts")
    operator = Aggregate(advance="30 minutes", size="60 minutes", inputs=minutes, keys="k", n=sash.count())
    half_past = pa.scalar(1_800_000_000, pa.int64()).cast(pa.timestamp("us")).as_py()
    found = operator.over(pa.table({"ts": pa.array([half_past], pa.timestamp("us")), "k": ["a"]}))
    assert [row["time"].minute for row in found.to_pylist()] == [0, 30]


def test_old_names_are_forgotten_once_no_window_can_hold_them() -> None:
    running = Aggregate(advance=10, size=10, inputs=LIKES, keys="tag", n=sash.count(), shares=4).start()
    total = 0
    for batch in range(30):
        at = np.full(500, 100 * batch)
        rows = {"at": at, "tag": [f"word {batch} {i}" for i in range(500)]}
        total += running.process(interleave([LIKES], [(0, rows)])).num_rows
    assert len(running.names) < 6_000
    assert total + running.finish().num_rows == 15_000


def test_what_cannot_be_used_is_refused_by_name() -> None:
    good: dict[str, Any] = {"advance": 1, "size": 1, "inputs": POSTS}
    for error, wrong in [
        (ArgumentError, {"window": "double"}),
        (ArgumentError, {"shares": 0}),
        (ArgumentError, {"inputs": []}),
        (ArgumentError, {"keys": 3}),
        (ArgumentError, {"keys": ["tags", "tags"]}),
        (UnknownColumn, {"keys": "tag"}),
        (UnitError, {"advance": "1 hour", "size": "1 hour"}),
        (ArgumentError, {"schema": pa.schema([("time", pa.int64())])}),
    ]:
        with pytest.raises(error):
            Stateful(**good | wrong)
    with pytest.raises(ArgumentError, match="ByRow"):
        Aggregate(**good, keys=lambda row: row.tags, n=sash.count())
    with pytest.raises(ArgumentError, match="at least one"):
        Aggregate(**good)


def test_functions_that_raise_or_answer_wrongly_are_named_with_the_row() -> None:
    rows = {"t": [1], "tags": [["a"]], "n": [5]}
    schema = pa.schema([("x", pa.int64())])
    wanted: dict[str, Any] = {"advance": 1, "size": 1, "inputs": POSTS, "schema": schema}
    with pytest.raises(PredicateError, match=r"update raised ZeroDivisionError.*n=5"):
        Stateful(update=lambda windows, arrival: 1 // 0, **wanted).over(rows)
    with pytest.raises(PredicateError, match=r"output must return rows with the columns \['x'\]"):
        Stateful(output=lambda windows: {"y": 1}, **wanted).over(rows)
    with pytest.raises(PredicateError, match="keys must return"):
        Stateful(keys=lambda row: row.wibble, **wanted).over(rows)


def test_tuples_behind_the_watermark_are_refused() -> None:
    running = Stateful(advance=1, size=1, inputs=LIKES).start()
    running.process(interleave([LIKES], [(0, {"at": [5], "tag": ["a"]})]))
    with pytest.raises(OutOfOrder, match="at time 5; 4 is before it"):
        running.process(interleave([LIKES], [(0, {"at": [4], "tag": ["a"]})]))
