"""What a join means, on examples that are small enough to draw."""

from __future__ import annotations

from typing import Any

import pytest

from sash.errors import ArgumentError, DurationError, PredicateError, UnitError, UnknownColumn
from sash.semantics.durations import Duration, Unit
from sash.semantics.expression import Side
from sash.semantics.join import How, IntervalJoin, JoinBatch, JoinOutcome, evaluate
from sash.semantics.reference import Arrival


def ticks(length: int) -> Duration:
    return Duration(length, Unit.TICKS)


def side(*times: int | None, key: Any = None, **values: Any) -> list[Arrival]:
    return [Arrival(time, key, {"t": time, **values}) for time in times]


def times(outcome: JoinOutcome) -> list[tuple[int, int]]:
    return [(pair.left.time, pair.right.time) for pair in outcome.pairs if pair.left and pair.right]


def test_events_exactly_within_apart_meet_and_no_others() -> None:
    # left    10              |τ_l − τ_r| ≤ 5:   [5 … 15]
    # right   4 5  10  15 16
    outcome = evaluate(IntervalJoin(ticks(5)), [JoinBatch(side(10), side(4, 5, 10, 15, 16))])
    assert times(outcome) == [(10, 5), (10, 10), (10, 15)]


def test_pairs_are_ordered_by_the_later_time_then_by_arrival_on_the_left_and_right() -> None:
    outcome = evaluate(IntervalJoin(ticks(9)), [JoinBatch(side(3, 1), side(2, 3))])
    assert [pair.place for pair in outcome.pairs] == [(2, 1, 0), (3, 0, 0), (3, 0, 1), (3, 1, 1)]


def test_only_events_of_one_key_meet_and_null_is_a_key() -> None:
    left = [*side(1, key="a"), *side(1, key=None)]
    right = [*side(1, key="b"), *side(1, key=None), *side(2, key="a")]
    outcome = evaluate(IntervalJoin(ticks(5)), [JoinBatch(left, right)])
    keys = [(pair.left.key, pair.right.key) for pair in outcome.pairs if pair.left and pair.right]
    assert keys == [(None, None), ("a", "a")]


def test_a_null_that_the_predicate_reads_matches_nothing() -> None:
    both = [JoinBatch([*side(1, x=None), *side(1, x=3)], [*side(1, x=None), *side(1, x=3)])]
    assert len(evaluate(IntervalJoin(ticks(5), lambda a, b: a.x == b.x), both).pairs) == 1
    assert len(evaluate(IntervalJoin(ticks(5), lambda a, b: a.t == b.t), both).pairs) == 4


def test_the_watermark_is_the_lesser_of_both_sides_and_pairs_wait_until_it_has_passed_them() -> None:
    #            left        right       watermark          final: pairs before it
    # batch 1    10, 20                  none: right is unknown
    # batch 2                12          min(20 − 0, 12 − 5) = 7
    # batch 3                30          min(20 − 0, 30 − 5) = 20     (10, 12) at 12
    # batch 4    40          7           7 is late; then 25           (20, 12) at 20
    join = IntervalJoin(ticks(9), left_delay=ticks(0), right_delay=ticks(5))
    given = [JoinBatch(side(10, 20)), JoinBatch((), side(12)), JoinBatch((), side(30))]
    given.append(JoinBatch(side(40), side(7)))
    pairs = [times(evaluate(join, given[:count], flush=False)) for count in range(1, 5)]
    assert pairs == [[], [], [(10, 12)], [(10, 12), (20, 12)]]
    (missed,) = evaluate(join, given).late
    assert (missed.side, missed.arrival.time, missed.reason) == (Side.RIGHT, 7, "behind the watermark")


def test_an_outer_join_emits_what_stays_alone_when_no_partner_can_come_any_more() -> None:
    # left    10         40             90      10 meets 12; 40 is alone, known when 45 has passed
    # right       12               70   90      70 is alone, known when 75 has passed
    given = [
        JoinBatch(side(10, 40), side(12)),
        JoinBatch(side(60), side(70)),
        JoinBatch(side(90), side(90)),
    ]
    found: dict[How, list[tuple[int, int | None, int | None]]] = {
        "inner": [(12, 10, 12)],
        "left": [(12, 10, 12), (45, 40, None), (65, 60, None)],
        "right": [(12, 10, 12), (75, None, 70)],
        "full": [(12, 10, 12), (45, 40, None), (65, 60, None), (75, None, 70)],
    }
    for how, expected in found.items():
        pairs = evaluate(IntervalJoin(ticks(5), None, how), given, flush=False).pairs
        assert [(p.time, p.left and p.left.time, p.right and p.right.time) for p in pairs] == expected


def test_an_event_without_a_time_is_late() -> None:
    (missed,) = evaluate(IntervalJoin(ticks(1)), [JoinBatch(side(None))]).late
    assert missed.reason == "time is null"


@pytest.mark.parametrize(
    ("where", "error", "words"),
    [
        (lambda a, b: a.x, PredicateError, "must return True or False; it returned 1 for left Row"),
        (lambda a, b: a.x / 0 > 1, PredicateError, r"raised ZeroDivisionError.*left Row\(t=1, x=1\)"),
        (lambda a, b: a.z == b.x, UnknownColumn, r"there is no column 'z'\. There are 't', 'x'"),
    ],
)
def test_a_bad_predicate_is_an_error_that_names_the_rows(where: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        evaluate(IntervalJoin(ticks(5), where), [JoinBatch(side(1, x=1), side(1, x=2))])


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(DurationError, match="within must be zero or longer"):
        IntervalJoin(ticks(-1))
    with pytest.raises(ArgumentError, match=r"where must be a function such as lambda l, r"):
        IntervalJoin(ticks(1), "l.x == r.x")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="how must be 'inner', 'left', 'right' or 'full'; got 'outer'"):
        IntervalJoin(ticks(1), None, "outer")  # type: ignore[arg-type]
    with pytest.raises(UnitError, match="right delay"):
        IntervalJoin(ticks(1), right_delay=Duration(5, Unit.MICROSECONDS))
