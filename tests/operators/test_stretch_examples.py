"""The examples of the STRETCH paper as operators. Its window lengths and distances are the paper's (30
and 60 minutes; 3, 10 and unlimited words); the tweets, words and traces are ours."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sash
from benchmarks.stretch.tweets import DISTANCES, pair_keys
from sash.operators import Aggregate, Arrival, InBulk, Input, Join, Stateful, WindowSet
from sash.operators.interleaved import END_OF_TIME, interleave
from sash.operators.stateful.interpreted import Interpreted
from sash.operators.stateful.matching import CompiledJoin
from tests.operators.reference_operator import comparable, reference, told

MINUTE = 60_000_000
TWEETS = Input(
    pa.schema([("ts", pa.timestamp("us")), ("text", pa.string()), ("hashtags", pa.list_(pa.string()))]),
    time="ts",
)
WORDS = Input(pa.schema([("t", pa.int64()), ("words", pa.list_(pa.int64()))]), time="t")


def longest_tweet() -> Stateful:
    """For every hashtag the longest tweet of the last hour, every half hour."""

    def longer(windows: WindowSet, tweet: Arrival) -> None:
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
    said = [tuple(row.values()) for row in longest_tweet().over(rows).to_pylist()]
    assert sorted(said) == [
        (at(9, 0), "red", a),
        (at(9, 30), "pink", b),
        (at(9, 30), "red", a),
        (at(10, 0), "pink", c),
        (at(10, 0), "red", b),
        (at(10, 30), "pink", c),
    ]
    assert [time for time, *_ in said] == sorted(time for time, *_ in said)


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
        keys=InBulk(lambda table: pair_keys(table["words"], distance), distinct=True),
    )  # fmt: skip
    found = operator.over({"t": [t for t, _ in rows], "words": [words for _, words in rows]})
    expected: Counter[tuple[int, int]] = Counter()
    for t, words in rows:
        once = list(dict.fromkeys(words))
        near = {
            (min(once[i], once[j]) << 32) | max(once[i], once[j])
            for i, j in combinations(range(len(once)), 2)
            if j - i <= distance
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


def scale_join(size: int, shares: int) -> Join:
    """The band of the paper's benchmark: ±10 on two attributes."""
    return Join(
        size=size, inputs=[LEFT, RIGHT], shares=shares,
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


@settings(deadline=None, max_examples=50)
@given(lefts, rights, st.integers(1, 15), st.integers(1, 5))
def test_oracle_scalejoin_pairs_every_two_tuples_of_a_window_once(
    some: Any, others: Any, size: int, shares: int
) -> None:
    operator = scale_join(size, shares)
    batches = sides(some, others)
    run = interleave(operator.inputs, enumerate(batches), watermark=END_OF_TIME)
    fast = operator.start()
    assert isinstance(fast, CompiledJoin)
    said = told(fast.process(run).to_pylist())
    expected = sorted(
        (max(l[0], r[0]) + 1, l[0], float(l[2]), r[0], float(r[2]))
        for l in some  # noqa: E741
        for r in others
        if abs(l[0] - r[0]) < size and abs(l[1] - r[1]) <= 10 and abs(l[2] - r[2]) <= 10
    )
    found = sorted(
        (time, row["left_t"], row["left_y"], row["right_t"], row["right_b"]) for time, row in said
    )
    assert found == expected
    retold = comparable(reference(operator, run, lambda row, number: range(shares)))
    assert comparable(said) == retold
    assert comparable(told(Interpreted(operator).process(run).to_pylist())) == retold


@settings(deadline=None, max_examples=30)
@given(lefts, st.integers(1, 15), st.integers(1, 6))
def test_oracle_a_self_join_pairs_the_older_with_the_newer_tuple_however_the_input_is_cut(
    some: Any, size: int, pieces: int
) -> None:
    operator = Join(size=size, inputs=LEFT, shares=3, where=lambda l, r: l.x < r.x)  # noqa: E741
    rows = sorted(some, key=lambda row: row[0])
    running, found = operator.start(), []
    for part in np.array_split(np.arange(len(rows)), pieces):
        batch = sides([rows[i] for i in part], [])[0]
        ordered = {
            "t": [rows[i][0] for i in part],
            "x": [rows[i][1] for i in part],
            "y": [float(i) for i in part],
        }
        if len(batch["t"]):
            found += running.process(interleave([LEFT], [(0, ordered)])).to_pylist()
    assert sorted((row["left_y"], row["right_y"]) for row in found) == [
        (i, j)
        for i, j in combinations(range(len(rows)), 2)
        if rows[j][0] - rows[i][0] < size and rows[i][1] < rows[j][1]
    ]


def test_a_join_keeps_no_more_than_its_window() -> None:
    operator = scale_join(10, 2)
    running = operator.start()
    assert isinstance(running, CompiledJoin)
    for t in range(0, 2000, 5):
        running.process(interleave(operator.inputs, enumerate(sides([(t, 1, 1)], [(t, 1, 1)]))))
    assert sum(len(stored) for share in running._shares for stored in share) <= 8
    assert max(len(stored.columns[0]) for share in running._shares for stored in share) <= 64
    assert len(running._past) <= 4


def test_a_predicate_that_cannot_be_compiled_is_interpreted_with_the_same_pairs() -> None:
    operator = Join(size=10, inputs=[LEFT, RIGHT], where=lambda l, r: r.c.startswith(str(l.x)))  # noqa: E741
    assert isinstance(operator.start(), Interpreted)
    assert operator.over(*sides([(1, 3, 0)], [(2, 3, 4), (3, 4, 3)])).num_rows == 1


def test_bad_predicates_and_values_are_refused_by_name() -> None:
    with pytest.raises(sash.errors.ArgumentError, match="where"):
        Join(size=10, inputs=LEFT, where=3)  # type: ignore[arg-type]
    with pytest.raises(sash.errors.ArgumentError, match="inputs"):
        Join(size=10, inputs=[LEFT] * 3, where=lambda l, r: True)  # noqa: E741
    with pytest.raises(sash.errors.PredicateError, match="True or False"):
        Join(size=10, inputs=LEFT, where=lambda l, r: l.x + r.x).over(sides([(1, 3, 0), (2, 4, 0)], [])[0])  # noqa: E741
    with pytest.raises(sash.errors.DataError, match="'x' in 64 bits"):
        scale_join(10, 2).over({"t": [1], "x": [2**40], "y": [1.0]}, sides([], [])[1])
    with pytest.raises(sash.errors.DataError, match="'y', which holds a null"):
        scale_join(10, 2).over({"t": [1], "x": [1], "y": [None]}, sides([], [])[1])
