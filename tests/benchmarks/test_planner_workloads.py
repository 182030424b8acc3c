"""The workloads that the planner's choices are judged by."""

from __future__ import annotations

from benchmarks.planner import process
from benchmarks.planner.contest import WORKLOADS
from benchmarks.planner.spark_workloads import drawn


def test_twenty_are_drawn_for_each_place_and_the_same_ones_every_time() -> None:
    first, second = ([(one.name, one.table) for one in drawn(2_000)] for _ in range(2))
    assert len(first) == WORKLOADS
    assert first == second


def test_the_choice_is_one_of_the_contenders() -> None:
    for contest in process.contests(quick=True):
        assert contest.choice in contest.contenders
        assert len(contest.contenders) > 1
