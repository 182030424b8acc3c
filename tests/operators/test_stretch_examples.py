"""The examples of the STRETCH paper as operators. Its window lengths and distances are the paper's (30
and 60 minutes; 3, 10 and unlimited words); the tweets, words and traces are ours."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from benchmarks.stretch.tweets import DISTANCES, key_sets
from sash.operators import Aggregate, InBulk, Input, InputEvent, Join, Stateful, WindowSet
from sash.operators.order.interleaved import END_OF_TIME, interleave
from sash.operators.stateful.interpreted_shares import InterpretedShares
from sash.operators.stateful.join_shares import JoinShares
from sash.semantics.durations import Duration, Unit
from sash.semantics.join import IntervalJoin, JoinBatch, evaluate
from sash.semantics.reference import Arrival as Event
from tests.operators.reference_operator import comparable, reference, timed_rows

MINUTE = 60_000_000
TWEETS = Input(
    pa.schema([("ts", pa.timestamp("us")), ("text", pa.string()), ("hashtags", pa.list_(pa.string()))]),
    time="ts",
)
WORDS = Input(pa.schema([("t", pa.int64()), ("words", pa.list_(pa.int64()))]), time="t")


def longest_tweet() -> Stateful:
    """For every hashtag the longest tweet of the last hour, every half hour."""

    def longer(windows: WindowSet, tweet: InputEvent) -> None:
        if len(tweet.row.text) > len(windows[0]):
            windows[0] = tweet.row.text

    return Stateful(
        advance="30 minutes", size="60 minutes", inputs=TWEETS, keys="hashtags", state=str, update=longer,
        output=lambda windows: {"hashtag": windows.key, "text": windows[0]},
        schema=pa.schema([("hashtag", pa.string()), ("text", pa.string())]),
    )  # fmt: skip


def at(hour: int, minute: int) -> Any:
    return pa.scalar((60 * hour + minute) * MINUTE, pa.timestamp("us")).as_py()


def test_the_longest_tweet_of_each_hashtag_red_and_pink() -> None:
    #            8:30      9:00      9:30      10:00     10:30
    # tweets       a(red)   b(red, pink)  c(pink)
    #              8:40     9:05          9:35
    # [8:00, 9:00)  a
    # [8:30, 9:30)  a, b            red: a (longer than b), pink: b
    # [9:00, 10:00)    b, c         red: b, pink: c
    # [9:30, 10:30)       c         pink: c
    a, b, c = "a long tweet about red", "red and pink", "pink, nothing but pink"
    rows = {
        "ts": pa.array([at(8, 40), at(9, 5), at(9, 35)], pa.timestamp("us")),
        "text": [a, b, c],
        "hashtags": [["red"], ["red", "pink"], ["pink"]],
    }
    emitted = [tuple(row.values()) for row in longest_tweet().over(rows).to_pylist()]
    assert sorted(emitted) == [
        (at(9, 0), "red", a),
        (at(9, 30), "pink", b),
        (at(9, 30), "red", a),
        (at(10, 0), "pink", c),
        (at(10, 0), "red", b),
        (at(10, 30), "pink", c),
    ]
    assert [time for time, *_ in emitted] == sorted(time for time, *_ in emitted)


def test_a_tweet_without_hashtags_reaches_no_window() -> None:
    rows = {"ts": pa.array([at(8, 40)], pa.timestamp("us")), "text": ["hm"], "hashtags": [[]]}
    assert longest_tweet().over(rows).num_rows == 0


tweets = st.lists(
    st.tuples(st.integers(0, 200), st.lists(st.integers(0, 12), max_size=14)), max_size=20
).map(lambda rows: sorted(rows, key=lambda row: row[0]))


@settings(deadline=None, max_examples=40)
@given(tweets)
def test_oracle_wordcount_counts_the_tweets_that_hold_a_word(rows: list[tuple[int, list[int]]]) -> None:
    operator = Aggregate(advance=30, size=60, inputs=WORDS, keys="words", n=sash.count())
    found = operator.over({"t": [t for t, _ in rows], "words": [words for _, words in rows]})
    expected: Counter[tuple[int, int]] = Counter()
    for t, words in rows:
        for word in set(words):
            for end in (t // 30 * 30 + 30, t // 30 * 30 + 60):
                expected[end, word] += 1
    assert {(row["time"], row["key"]): row["n"] for row in found.to_pylist()} == expected


@pytest.mark.parametrize("level", DISTANCES)
@settings(deadline=None, max_examples=25)
@given(rows=tweets)
def test_oracle_paircount_counts_the_tweets_that_hold_two_words_near_each_other(
    level: str, rows: list[tuple[int, list[int]]]
) -> None:
    distance = DISTANCES[level]
    operator = Aggregate(
        advance=30, size=60, inputs=WORDS, n=sash.count(),
        keys=InBulk(lambda table: key_sets(table["words"], distance), distinct=True),
    )  # fmt: skip
    found = operator.over({"t": [t for t, _ in rows], "words": [words for _, words in rows]})
    expected: Counter[tuple[int, int]] = Counter()
    for t, words in rows:
        near = {
            (words[i] << 32) | words[j] for i, j in combinations(range(len(words)), 2) if j - i <= distance
        }
        for pair in near:
            for end in (t // 30 * 30 + 30, t // 30 * 30 + 60):
                expected[end, pair] += 1
    assert {(row["time"], row["key"]): row["n"] for row in found.to_pylist()} == expected


def test_the_levels_of_paircount_are_those_of_the_paper() -> None:
    assert list(DISTANCES) == ["L", "M", "H"]
    assert (DISTANCES["L"], DISTANCES["M"]) == (3, 10)
    assert DISTANCES["H"] > 10**6


def test_a_forwarder_says_each_tuple_again_at_the_end_of_its_tick() -> None:
    operator = Stateful(
        advance=1, size=1, inputs=WORDS, schema=pa.schema([("n", pa.int64())]),
        update=lambda windows, arrival: {"n": len(arrival.row.words)},
    )  # fmt: skip
    found = operator.over({"t": [1, 1, 4], "words": [[1, 2], [3], []]})
    assert [tuple(row.values()) for row in found.to_pylist()] == [(2, 2), (2, 1), (5, 0)]


LEFT = Input(pa.schema([("t", pa.int64()), ("x", pa.int64()), ("y", pa.float64())]), time="t")
RIGHT = Input(
    pa.schema([("t", pa.int64()), ("a", pa.int64()), ("b", pa.float64()), ("c", pa.string())]), time="t"
)
lefts = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(0, 30)), max_size=20)
rights = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 30), st.integers(0, 30)), max_size=20)


def scale_join(within: int, shares: int) -> Join:
    """The band of the paper's benchmark: ±10 on two attributes."""
    return Join(
        within=within, inputs=[LEFT, RIGHT], shares=shares,
        where=lambda l, r: abs(l.x - r.a) <= 10 and abs(l.y - r.b) <= 10,  # noqa: E741
    )  # fmt: skip


def sides(some: Any, others: Any) -> list[dict[str, Any]]:
    left, right = sorted(some), sorted(others)
    return [
        {"t": [t for t, _, _ in left], "x": [x for _, x, _ in left], "y": [float(y) for _, _, y in left]},
        {
            "t": [t for t, _, _ in right],
            "a": [a for _, a, _ in right],
            "b": [float(b) for _, _, b in right],
            "c": [f"{a}-{b}" for _, a, b in right],
        },
    ]


def defined(operator: Join, *batches: dict[str, list[Any]]) -> list[dict[str, Any]]:
    """The pairs of the definition of window joins, in the form and at the times of J+."""
    sides = [
        [
            Event(t, None, dict(zip(batch, row, strict=True)))
            for t, row in zip(batch["t"], rows(batch), strict=True)
        ]
        for batch in (batches[0], batches[-1])
    ]
    join = IntervalJoin(Duration(operator.join.within.length, Unit.TICKS), operator.join.where)
    return [
        {"time": pair.time + 1}
        | {f"left_{name}": value for name, value in pair.left.values.items()}
        | {f"right_{name}": value for name, value in pair.right.values.items()}
        for pair in evaluate(join, [JoinBatch(*sides)]).pairs
    ]


def rows(batch: dict[str, list[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*batch.values(), strict=True))


@settings(deadline=None, max_examples=50)
@given(lefts, rights, st.integers(0, 15), st.integers(1, 5))
def test_oracle_scalejoin_pairs_every_two_tuples_of_a_window_once(
    some: Any, others: Any, within: int, shares: int
) -> None:
    operator = scale_join(within, shares)
    batches = sides(some, others)
    run = interleave(operator.inputs, enumerate(batches), watermark=END_OF_TIME)
    found = operator.start().process(run).to_pylist()
    assert found == defined(operator, *batches)
    expected = comparable(reference(operator, run, lambda row, number: range(shares)))
    assert comparable(timed_rows(found)) == expected
    assert comparable(timed_rows(InterpretedShares(operator).process(run).to_pylist())) == expected


def test_tuples_exactly_the_window_apart_meet_as_in_the_operator_of_the_paper() -> None:
    #  l  ├──── 5 ────┤ r          purged when τ + WS < t.τ, which 1 + 5 < 6 is not
    operator = Join(within=5, inputs=[LEFT, RIGHT], where=lambda l, r: l.x == r.a)  # noqa: E741
    batches = sides([(1, 3, 0)], [(6, 3, 0), (7, 3, 0)])
    assert [(row["left_t"], row["right_t"]) for row in operator.over(*batches).to_pylist()] == [(1, 6)]


def test_a_window_of_no_length_pairs_simultaneous_tuples() -> None:
    operator = Join(within=0, inputs=[LEFT, RIGHT], where=lambda l, r: l.x == r.a)  # noqa: E741
    batches = sides([(1, 3, 0), (2, 3, 0)], [(2, 3, 0), (3, 3, 0)])
    assert [(row["left_t"], row["right_t"]) for row in operator.over(*batches).to_pylist()] == [(2, 2)]


PREDICATES = {
    "an equality": lambda l, r: l.x == r.x,  # noqa: E741
    "a band": lambda l, r: abs(l.x - r.x) <= 2,  # noqa: E741
    "two bands": lambda l, r: (abs(l.x - r.x) <= 2) & (abs(l.y - r.y) <= 5),  # noqa: E741
    "an equality and a band": lambda l, r: (l.x == r.x) & (abs(l.y - r.y) <= 5),  # noqa: E741
    "theta": lambda l, r: l.x < r.x,  # noqa: E741
    "a product": lambda l, r: l.x * r.x > 40,  # noqa: E741
    "and": lambda l, r: l.x < r.x and r.y > 2,  # noqa: E741
}
numbers = st.none() | st.integers(0, 12) | st.integers(2**40, 2**40 + 2)
with_nulls = st.lists(st.tuples(st.integers(0, 40), numbers, numbers), max_size=25)


@pytest.mark.parametrize("name", PREDICATES)
@settings(deadline=None, max_examples=25)
@given(some=with_nulls, within=st.integers(0, 15), pieces=st.integers(1, 6))
def test_oracle_a_self_join_has_the_pairs_of_the_definition_however_the_input_is_cut(
    name: str, some: Any, within: int, pieces: int
) -> None:
    """Nulls make a predicate false, integers may be large, and every tuple is on both sides."""
    operator = Join(within=within, inputs=LEFT, shares=3, where=PREDICATES[name])
    ordered = sorted(some, key=lambda row: row[0])
    batch = {
        "t": [t for t, _, _ in ordered],
        "x": [x for _, x, _ in ordered],
        "y": [None if y is None else float(y) for _, _, y in ordered],
    }
    running, found = operator.start(), []
    for part in np.array_split(np.arange(len(ordered)), pieces):
        if len(part):
            piece = {column: [values[i] for i in part] for column, values in batch.items()}
            found += running.process(interleave([LEFT], [(0, piece)])).to_pylist()
    expected = defined(operator, batch)
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert [row["time"] for row in found] == sorted(row["time"] for row in found)
    expected = timed_rows(InterpretedShares(operator).process(interleave([LEFT], [(0, batch)])).to_pylist())
    assert comparable(expected) == comparable(timed_rows(found))


def test_a_join_keeps_no_more_than_its_window() -> None:
    operator = scale_join(9, 2)
    running = operator.start()
    assert isinstance(running, JoinShares)
    for t in range(0, 2000, 5):
        running.process(interleave(operator.inputs, enumerate(sides([(t, 1, 1)], [(t, 1, 1)]))))
    assert running.store.stored <= 8
    assert all(len(archive) <= 8 for archive in running.store.archives.values())


def test_groups_without_rows_are_forgotten_while_shares_stand_at_different_runs() -> None:
    operator = Join(within=5, inputs=LEFT, shares=2, where=lambda l, r: l.x == r.x)  # noqa: E741
    running, first, found = operator.start(), 0, []
    assert isinstance(running, JoinShares)
    runs = []
    for t in range(0, 600, 3):
        own = interleave(
            [LEFT], [(0, {"t": [t] * 20, "x": list(range(20 * t, 20 * t + 20)), "y": [0.0] * 20})]
        )
        runs.append(replace(own, first=first))
        first += len(own)
    for number, run in enumerate(runs):
        found += running.step(run, np.array([0])).to_pylist()
        if number >= 10:
            found += running.step(runs[number - 10], np.array([1])).to_pylist()
    for run in runs[-10:]:
        found += running.step(run, np.array([1])).to_pylist()
    assert len(running.store._index.groups) < 3000 < 20 * 200
    assert sorted(row["left_x"] for row in found) == sorted(
        x for run in runs for x in run.tables[0]["x"].to_pylist()
    )


def test_a_predicate_that_cannot_be_compiled_is_interpreted_with_the_same_pairs() -> None:
    operator = Join(within=10, inputs=[LEFT, RIGHT], where=lambda l, r: r.c.startswith(str(l.x)))  # noqa: E741
    with pytest.warns(sash.errors.SashWarning, match="is interpreted"):
        found = operator.over(*sides([(1, 3, 0)], [(2, 3, 4), (3, 4, 3)]))
    assert found.num_rows == 1


def test_bad_predicates_and_names_are_refused_by_name() -> None:
    with pytest.raises(sash.errors.ArgumentError, match="where"):
        Join(within=10, inputs=LEFT, where=3)  # type: ignore[arg-type]
    with pytest.raises(sash.errors.ArgumentError, match="inputs"):
        Join(within=10, inputs=[LEFT] * 3, where=lambda l, r: True)  # noqa: E741
    with pytest.raises(sash.errors.PredicateError, match="True or False"):
        Join(within=10, inputs=LEFT, where=lambda l, r: l.x + r.x)  # noqa: E741
    with pytest.raises(sash.errors.ArgumentError, match="prefixes"):
        Join(within=10, inputs=LEFT, where=lambda l, r: l.x < r.x, prefixes=("", ""))  # noqa: E741
