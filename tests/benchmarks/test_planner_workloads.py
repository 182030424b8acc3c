"""The workloads that the planner's choices are judged by."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.planner import process
from benchmarks.planner.contest import WORKLOADS, Contest, raced
from benchmarks.planner.spark_workloads import drawn


def test_twenty_are_drawn_for_each_place_and_the_same_ones_every_time() -> None:
    first, second = ([(one.name, one.table) for one in drawn(2_000)] for _ in range(2))
    assert len(first) == WORKLOADS
    assert first == second


def test_the_choice_is_one_of_the_contenders() -> None:
    for contest in process.contests(quick=True):
        assert contest.choice in contest.contenders
        assert len(contest.contenders) > 1
        assert not contest.contenders.keys() & contest.others.keys()
        assert all(of in contest.contenders for of, _ in contest.others.values())


@pytest.mark.parametrize("minutes", [0, 1])
def test_what_leaves_a_race_counts_and_other_degrees_join_while_there_is_time(minutes: int) -> None:
    now, ran = 0.0, list[str]()

    def of(name: str, *seconds: float) -> Callable[[], None]:
        def run() -> None:
            nonlocal now
            now += seconds[min(ran.count(name), len(seconds) - 1)]
            ran.append(name)

        return run

    contenders = {
        "a": of("a", 5.0, 3.0, 2.0),
        "b": of("b", 3.5, 1.0),
        "c": of("c", 2.0, 2.0),
        "d": of("d", 9.0),
    }
    others = {"c2": ("c", of("c2", 1.5, 1.2)), "d2": ("d", of("d2", 8.0))}
    found = raced(Contest("", "a", contenders, others), rounds=3, seconds=60 * minutes, clock=lambda: now)
    assert found.seconds["a"] == 2.0
    assert found.fastest == "b"
    assert ran.count("d") == 1  # too far behind in the warm-up
    assert ran.count("c") == 2  # and in the first round
    assert ran.count("a") == found.rounds + 2  # the choice never leaves
    assert (found.rounds, found.left_out, found.degrees) == ((3, 0, 2) if minutes else (2, 2, 0))
    assert set(found.seconds) == {*contenders, *(others if minutes else ())}
