"""As-of joins in process: what they mean, whole inputs and batch after batch, and what polars answers."""

from __future__ import annotations

import random
from typing import Any

import polars
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import sash
from sash.errors import ArgumentError, DurationError, UnitError, Unsupported
from sash.operators.joins.asof import asof_operator, rows_by_key_hash
from sash.operators.joins.asof.asof_columns import matches
from sash.operators.joins.asof.asof_operator import SLACK, AsofOperator
from sash.operators.joins.asof.bound_asof import BoundAsof
from sash.operators.joins.bound_join import BoundSide
from sash.operators.joins.bounded_join import join_tables
from sash.semantics.asof import DIRECTIONS, Asof, AsofOutcome, Direction, evaluate, match
from sash.semantics.durations import Duration, Unit
from sash.semantics.expression import Side
from sash.semantics.join import JoinBatch, judged
from sash.semantics.reference import Arrival
from tests.joins.streams import LEFT, RIGHT, batches, table_of
from tests.joins.two_sided_runtime import TwoSidedRuntime

Answer = tuple[int, int | None]
"""The numbers of a left row and of the right row that answers it."""


def bound(
    direction: Direction, *, tolerance: int | None, keys: bool, delays: tuple[int, int] = (0, 0)
) -> BoundAsof:
    ticks = [None if length is None else Duration(length, Unit.TICKS) for length in (tolerance, *delays)]
    asof = Asof(direction, ticks[0], left_delay=ticks[1], right_delay=ticks[2])  # type: ignore[arg-type]
    left, right = ("k",) if keys else (), ("key",) if keys else ()
    return BoundAsof(asof, BoundSide(Side.LEFT, LEFT, "t", left), BoundSide(Side.RIGHT, RIGHT, "t", right))


def numbers_of(outcome: AsofOutcome) -> list[Answer]:
    return [(a.left.values["e"], a.right and a.right.values["e"]) for a in outcome.answers]


def numbers_in(table: pa.Table) -> list[Answer]:
    return list(zip(table["e"].to_pylist(), table["e_right"].to_pylist(), strict=True))


joins = st.fixed_dictionaries(
    {
        "direction": st.sampled_from(DIRECTIONS),
        "tolerance": st.one_of(st.none(), st.integers(0, 12)),
        "keys": st.booleans(),
    }
)


def events(*times: int, key: Any = None) -> list[Arrival]:
    return [Arrival(time, key, {"t": time, "e": number}) for number, time in enumerate(times)]


@pytest.mark.parametrize(
    ("direction", "tolerance", "expected"),
    [
        ("backward", None, [(0, 1), (1, 1), (2, 2)]),
        ("backward", 2, [(0, 1), (1, None), (2, 2)]),
        ("forward", None, [(0, 2), (1, 2), (2, None)]),
        ("forward", 3, [(0, None), (1, 2), (2, None)]),
        ("nearest", None, [(0, 1), (1, 1), (2, 2)]),
        ("nearest", 1, [(0, None), (1, None), (2, None)]),
    ],
)
def test_the_answer_is_the_last_arrived_of_the_nearest_time_on_its_side(
    direction: Direction, tolerance: int | None, expected: list[Answer]
) -> None:
    # left           10 11           16            11 is as near to 8 as to 14
    # right     8 8            14
    length = None if tolerance is None else Duration(tolerance, Unit.TICKS)
    given = [JoinBatch(events(10, 11, 16), events(8, 8, 14))]
    assert numbers_of(evaluate(Asof(direction, length), given)) == expected


def test_an_answer_waits_until_the_watermark_shows_that_no_better_one_can_come() -> None:
    # tolerance 10        left    right     watermark         backward     forward     nearest
    # batch 1             10      7         7
    # batch 2             11      11        11                10 → 7                   (10 ↔ 7 until 13)
    # batch 3             14      14        14                11 → 11      10 → 11     10 → 11
    #                                                                      11 → 11     11 → 11
    given = [JoinBatch(events(time), events(right)) for time, right in ((10, 7), (11, 11), (14, 14))]
    found: dict[str, list[list[tuple[int, int | None]]]] = {direction: [] for direction in DIRECTIONS}
    for direction in DIRECTIONS:
        asof = Asof(direction, Duration(10, Unit.TICKS))
        for count in (1, 2, 3):
            answers = evaluate(asof, given[:count], flush=False).answers
            found[direction].append([(a.left.time, a.right and a.right.time) for a in answers])
    assert found["backward"] == [[], [(10, 7)], [(10, 7), (11, 11)]]
    assert found["forward"] == [[], [], [(10, 11), (11, 11)]]
    assert found["nearest"] == [[], [], [(10, 11), (11, 11)]]


@settings(max_examples=100, deadline=None)
@given(data=st.data(), join=joins)
def test_oracle_answers_of_a_stream_are_those_of_all_its_events_at_once(
    data: st.DataObject, join: dict[str, Any]
) -> None:
    given = data.draw(batches(keys=join["keys"], nulls=True))
    delays = data.draw(st.tuples(st.integers(0, 15), st.integers(0, 15)))
    asof = bound(**join, delays=delays).join
    *_, (arrived, _) = judged(asof, given, [], flush=True)
    at_once = {left.ordinal: match(asof, left, arrived[Side.RIGHT]) for left in arrived[Side.LEFT]}
    found = evaluate(asof, given).answers
    assert {answer.left.ordinal: answer.right for answer in found} == at_once
    assert len(found) == len(at_once)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), join=joins)
def test_oracle_whole_inputs_give_the_answers_of_the_definition_in_order(
    data: st.DataObject, join: dict[str, Any]
) -> None:
    given = data.draw(batches(keys=join["keys"], nulls=True))
    asof = bound(**join)
    (whole,) = [JoinBatch(*([a for b in given for a in b.arrivals(side)] for side in Side))]
    answer = join_tables(asof, {side: table_of(side, whole.arrivals(side)) for side in Side})
    assert answer.schema == asof.output
    outcome = evaluate(asof.join, [whole])
    outcome.answers.sort(key=lambda answer: (answer.left.time, answer.left.ordinal))
    assert numbers_in(answer) == numbers_of(outcome)


class Runtime(TwoSidedRuntime[AsofOperator, Answer]):
    """Of an as-of join."""

    def __init__(self, asof: BoundAsof, *, restart: bool) -> None:
        super().__init__(AsofOperator(asof), numbers_in, restart=restart)


@pytest.fixture(params=[0, SLACK])
def slack(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With none, chunks are written and parts merged all the time."""
    monkeypatch.setattr(asof_operator, "SLACK", request.param)
    monkeypatch.setattr(rows_by_key_hash, "SMALL", request.param)


@pytest.mark.usefixtures("slack")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), join=joins)
def test_oracle_batches_give_the_answers_of_the_definition_after_each_of_them(
    data: st.DataObject, join: dict[str, Any]
) -> None:
    given = data.draw(batches(keys=join["keys"], nulls=True))
    delays = data.draw(st.tuples(st.integers(0, 15), st.integers(0, 15)))
    asof = bound(**join, delays=delays)
    runtime = Runtime(asof, restart=data.draw(st.booleans()))
    answers: list[Answer] = []
    for count, batch in enumerate(given, start=1):
        answers += runtime.step(batch)
        assert answers == numbers_of(evaluate(asof.join, given[:count], flush=False))
        next_timer = runtime.operator.next_timer()
        if next_timer is not None and next_timer > runtime.now:
            header = runtime.operator.save().header
            runtime.operator.resume(header, runtime.chunks)
            early = AsofOperator.load(asof, header, runtime.chunks)
            assert early.advance(next_timer - 1).num_rows == 0
    answers += runtime.flush()
    outcome = evaluate(asof.join, given)
    assert answers == numbers_of(outcome)
    assert sorted(runtime.late, key=str) == sorted(
        ((late.side.value, late.arrival.values["e"], late.reason) for late in outcome.late), key=str
    )


def row(side: Side, time: int, key: str, number: int) -> Arrival:
    names = ("k", "x", "y") if side is Side.LEFT else ("key", "a", "b")
    return Arrival(time, key, {"t": time, "e": number, names[0]: key, names[1]: 1, names[2]: 1.0})


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_right_rows_are_held_as_far_as_needed_and_chunks_are_let_go_of(direction: Direction) -> None:
    runtime = Runtime(bound(direction, tolerance=50, keys=True), restart=False)
    held, chunks = [], []
    for start in range(0, 4000, 10):
        sides = [[row(side, t, f"key {t % 7}", t) for t in range(start, start + 10)] for side in Side]
        runtime.step(JoinBatch(*sides))
        held.append(runtime.operator.held(Side.RIGHT))
        chunks.append(len(runtime.operator._chunks.of(Side.RIGHT)))
    # one newest of each of seven keys, those that answer an open row, and what waits
    assert max(held) <= 7 + 7 + 10
    assert max(chunks) <= SLACK // 10 + 2 * max(held)


def test_without_a_tolerance_one_row_of_each_key_is_held_and_with_one_none_for_ever() -> None:
    for tolerance, expected in ((None, 3), (100, 0)):
        runtime = Runtime(bound("backward", tolerance=tolerance, keys=True), restart=True)
        rows = [[row(side, t, f"key {t % 3}", t) for t in range(30)] for side in Side]
        runtime.step(JoinBatch(*rows))
        runtime.operator.advance(1000)
        assert runtime.operator.held(Side.RIGHT) == expected
        assert runtime.operator.next_timer() is None


@pytest.mark.parametrize("direction", ["backward", "nearest"])
def test_a_batch_looks_at_the_rows_of_its_own_keys_only(
    direction: Direction, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []

    def counted(bound: BoundAsof, left: Any, right: Any) -> Any:
        looked_at.append(len(right))
        return matches(bound, left, right)

    monkeypatch.setattr(asof_operator, "matches", counted)
    runtime = Runtime(bound(direction, tolerance=10**6, keys=True), restart=False)
    first = [row(Side.RIGHT, t, f"key {t}", t) for t in range(3000)]
    runtime.step(JoinBatch([row(Side.LEFT, 0, "no such key", 0)], first))
    runtime.step(JoinBatch([row(Side.LEFT, 3000, "no such key", 1)], [row(Side.RIGHT, 3000, "key 1", 0)]))
    for time in range(3001, 3031):
        sides = [[row(side, time, f"key {time % 7}", time)] for side in Side]
        runtime.step(JoinBatch(*sides))
    assert runtime.operator.held(Side.RIGHT) >= 3000
    assert max(looked_at[-30:]) <= 4


def quotes_and_trades(seed: int, rows: int) -> list[dict[str, Any]]:
    rng = random.Random(seed)
    return [
        {"t": time, "k": rng.choice(["a", "b", "c"]), "v": number}
        for number, time in enumerate(sorted(rng.randrange(300) for _ in range(rows)))
    ]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("tolerance", [None, 0, 4])
def test_differential_the_answers_are_those_of_polars(direction: Direction, tolerance: int | None) -> None:
    for seed in range(10):
        left, right = (polars.DataFrame(quotes_and_trades(2 * seed + n, 200)) for n in (0, 1))
        # Of rows of one time polars takes the first when it looks forward: here is one of each. Of two that
        # are equally near it takes the later: they are compared by how near they are.
        right = right.unique(["t", "k"], keep="last", maintain_order=True)
        theirs = left.join_asof(
            right,
            on="t",
            by="k",
            strategy=direction,
            tolerance=tolerance,
            coalesce=False,
            check_sortedness=False,
        )
        ours = (
            sash.stream(left, time="t", key="k")
            .join_asof(sash.stream(right, time="t", key="k"), direction=direction, tolerance=tolerance)
            .dataframe()
        )
        assert isinstance(ours, polars.DataFrame)
        assert ours.columns == ["t", "k", "v", "t_right", "v_right"]
        assert ours["v"].to_list() == theirs["v"].to_list()
        if direction != "nearest":
            assert ours["v_right"].to_list() == theirs["v_right"].to_list()
        distances = [(frame["t"] - frame["t_right"]).abs().to_list() for frame in (ours, theirs)]
        assert distances[0] == distances[1]


def test_of_one_time_the_last_arrived_answers_whatever_the_order_of_the_table() -> None:
    left = pa.table({"t": [10, 3], "x": ["later", "sooner"]})
    right = pa.table({"t": [9, 2, 2, 9], "v": [1, 2, 3, 4]})
    answer = sash.stream(left, time="t").join_asof(sash.stream(right, time="t")).collect()
    assert answer.to_pydict() == {
        "t": [3, 10], "x": ["sooner", "later"], "t_right": [2, 9], "v": [3, 4],
    }  # fmt: skip


def test_keys_of_several_columns_and_of_two_widths() -> None:
    left = pa.table({"t": [5, 5], "k": pa.array([1, 2], pa.int32()), "w": ["u", None]})
    right = pa.table({"t": [4, 3], "key": [2, 1], "word": [None, "u"], "v": [7, 8]})
    query = sash.stream(left, time="t", key=["k", "w"]).join_asof(
        sash.stream(right, time="t", key=["key", "word"])
    )
    assert query.collect()["v"].to_pylist() == [8, 7]


def test_what_is_late_and_what_explain_has() -> None:
    left = sash.stream(pa.table({"t": [5, None]}), time="t")
    query = left.join_asof(sash.stream(pa.table({"t": [4]}), time="t"), tolerance=3)
    assert query.late("left").collect()["late_reason"].to_pylist() == ["time is null"]
    text = query.explain()
    assert "the latest right event with τ_r ≤ τ_l and τ_l − τ_r ≤ 3" in text
    assert repr(query) == "<sash as-of join, backward within 3 → t, t_right>"
    assert "merge by time" in query._repr_html_()


def test_what_cannot_be_meant_is_refused() -> None:
    stream = sash.stream(pa.table({"t": [1], "t_right": [2]}), time="t")
    with pytest.raises(ArgumentError, match="direction must be 'backward', 'forward' or 'nearest'"):
        stream.join_asof(stream, direction="before")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="suffix must be such that 't_right' names one column only"):
        stream.join_asof(stream)
    with pytest.raises(DurationError, match="tolerance must be zero or longer"):
        stream.join_asof(stream, tolerance=-1, suffix="_2")
    with pytest.raises(UnitError, match="tolerance"):
        stream.join_asof(stream, tolerance="1 minute", suffix="_2")
    with pytest.raises(Unsupported, match="one pass over both sides"):
        stream.join_asof(stream, suffix="_2").parallel(2)
    with pytest.raises(ArgumentError, match=r"a stream, such as .* A table has times too: sash\.stream"):
        stream.join_asof(pa.table({"t": [1]}))  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"The rows of a query are a table: .*query\.dataframe\(\)"):
        stream.join_asof(stream.rolling(5).agg(n=sash.count()))  # type: ignore[arg-type]
    tables = sash.stream([pa.table({"t": [1]})], time="t")
    with pytest.raises(Unsupported, match="In this process streams are not joined, bounded tables are"):
        tables.join_asof(tables, suffix="_2")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_tolerances_and_times_at_the_ends_of_the_integers(direction: Direction) -> None:
    ends = [-(2**61), 2**61]
    for tolerance in (2**62, 2**80):
        runtime = Runtime(bound(direction, tolerance=tolerance, keys=False), restart=True)
        rows = [[row(side, t, "a", number) for number, t in enumerate(ends)] for side in Side]
        assert runtime.step(JoinBatch(*rows)) == [(0, 0)]
        assert numbers_in(runtime.operator.advance(2**61 + 1)) == [(1, 1)]
        alone = Runtime(bound(direction, tolerance=tolerance, keys=False), restart=True)
        alone.step(JoinBatch(rows[0], [row(Side.RIGHT, 2**61, "a", 7)]))
        answered = numbers_in(alone.operator.advance(2**61 + 1, flush=True))
        assert [right for _, right in answered][-1] == 7


def test_a_checkpoint_shows_what_it_was_made_by() -> None:
    from sash.runtimes.spark.inspection.query_words import query_lines
    from sash.runtimes.spark.state.fingerprint import describe_join

    words = query_lines(describe_join(bound("nearest", tolerance=5, keys=True), buckets=8))
    assert words[0] == "as of      nearest at most 5 away, left.k = right.key"
    assert "found      one pass by time" in words
