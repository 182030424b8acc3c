"""Executors that follow the degree of an elastic query, without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

import sash
from sash.errors import ArgumentError, Unsupported
from sash.runtimes.spark.epochs.executors import ExecutorDegree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Manager:
    """Starts and ends executors at once, as Spark counts them."""

    running: dict[str, int] = field(default_factory=dict)
    wanted: int = 0

    def tasks(self) -> dict[str, int]:
        return dict(sorted(self.running.items(), reverse=True))

    def want(self, number: int) -> None:
        self.wanted = number
        while len(self.running) < number:
            self.running[str(max(map(int, self.running), default=0) + 1)] = 0

    def end(self, names: Sequence[str]) -> None:
        for name in names:
            assert not self.running.pop(name)
        self.wanted = max(0, self.wanted - len(names))


def test_more_are_requested_before_a_step_and_fewer_are_left_after_it() -> None:
    manager = Manager()
    executors = ExecutorDegree(manager, tasks=4)
    for degree, before, after in ((1, 1, 1), (9, 3, 3), (8, 3, 2), (4, 2, 1), (5, 2, 2)):
        executors.before(degree)
        assert len(manager.running) == before
        executors.after()
        assert len(manager.running) == manager.wanted == after


def test_executors_with_tasks_of_another_query_stay() -> None:
    manager = Manager({"1": 0, "2": 0, "3": 1})
    executors = ExecutorDegree(manager, tasks=1)
    executors.before(1)
    executors.after()
    assert (set(manager.running), manager.wanted) == ({"3"}, 1)


def test_the_newest_go_first() -> None:
    manager = Manager({"1": 0, "2": 0, "3": 0})
    executors = ExecutorDegree(manager, tasks=1)
    executors.before(2)
    executors.after()
    assert set(manager.running) == {"1", "2"}


def test_what_is_no_flag_is_refused() -> None:
    with pytest.raises(ArgumentError, match="executors must be True or False; got 3"):
        sash.Elastic(max=4, executors=3)  # type: ignore[arg-type]


@pytest.mark.spark
def test_local_mode_has_no_executors(spark: SparkSession) -> None:
    with pytest.raises(Unsupported, match=r"left out with the master 'local\[2\]'"):
        ExecutorDegree.of(spark)
