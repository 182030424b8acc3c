"""Which batches are packed and computed in one task."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sash.runtimes.spark.epochs.epoch_metering import BatchMetrics
from sash.runtimes.spark.epochs.one_task import LATELY, PAUSE, WARM_UP, OneTask

SMALL = BatchMetrics(
    batch=0, degree=2, events=100, late=0, reports=0, forgotten=0, restored=0, read=0, written=0,
    watermark=0, began=0.0, waited=0.0, seconds=0.2, step=0.02, busy=0.02, packers=2,
)  # fmt: skip


def after(choice: OneTask, batches: list[BatchMetrics]) -> bool:
    """The choice after these, one after the other."""
    return [choice.suits_next(batch) for batch in batches][-1]


def test_the_first_batches_are_shared_out() -> None:
    choice = OneTask()
    assert not choice.suits_next(None)
    assert [choice.suits_next(SMALL) for _ in range(WARM_UP)] == [False] * (WARM_UP - 1) + [True]


@pytest.mark.parametrize(
    "large",
    [{"events": 20_000}, {"packers": 64}, {"keys": 10**6}],
    ids=["events", "partitions", "keys"],
)
def test_a_large_batch_is_followed_by_one_that_is_shared_out(large: dict[str, float]) -> None:
    choice = OneTask()
    after(choice, [SMALL] * WARM_UP)
    assert not choice.suits_next(replace(SMALL, **large))  # type: ignore[arg-type]
    assert choice.suits_next(SMALL)


def test_batches_with_much_work_are_shared_out_and_one_that_was_delayed_is_not() -> None:
    choice = OneTask()
    after(choice, [SMALL] * WARM_UP)
    much = replace(SMALL, busy=0.2)
    assert [choice.suits_next(much) for _ in range(LATELY)] == [True] * (LATELY - 1) + [False]
    assert choice.suits_next(SMALL)


def test_one_batch_that_was_delayed_does_not_count_against_one_task() -> None:
    choice = OneTask()
    after(choice, [SMALL] * WARM_UP)
    alone = replace(SMALL, in_one_task=True)
    slow = replace(alone, seconds=1.0)
    assert all(choice.suits_next(batch) for batch in [slow, slow, alone] * 5)


def test_one_task_that_was_slower_is_not_tried_again_for_a_while() -> None:
    choice = OneTask()
    after(choice, [SMALL] * WARM_UP)
    slow = replace(SMALL, seconds=1.0, in_one_task=True)
    assert not after(choice, [slow] * LATELY)
    assert not after(choice, [SMALL] * (PAUSE - 2))
    assert choice.suits_next(SMALL)


def test_batches_that_have_grown_are_compared_again() -> None:
    choice = OneTask()
    after(choice, [SMALL] * WARM_UP)
    larger = replace(SMALL, events=1_000, in_one_task=True, seconds=1.0)
    assert not choice.suits_next(larger)  # no batch of this size had two stages
    assert choice.suits_next(replace(larger, in_one_task=False))
    assert choice.suits_next(larger)
    assert not after(choice, [replace(larger, seconds=2.0)] * LATELY)  # slower than the one that had


def test_now_and_then_a_batch_has_two_stages_to_compare() -> None:
    choice = OneTask()
    after(choice, [SMALL] * WARM_UP)
    alone = replace(SMALL, in_one_task=True)
    chosen = [choice.suits_next(alone) for _ in range(PAUSE)]
    assert chosen == [True] * (PAUSE - 1) + [False]
    assert choice.suits_next(SMALL)
