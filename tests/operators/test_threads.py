"""Pieces of work in threads: results in order, one error, no thread per call, and no waiting in circles."""

from __future__ import annotations

import os
import threading
import time
import warnings
from functools import partial

import pytest

from sash.operators import threads
from sash.operators.step_counter import watched
from sash.operators.threads import in_threads


def test_results_come_in_the_order_of_the_work() -> None:
    def slowly(number: int) -> int:
        time.sleep(0.002 * (7 - number))
        return number

    assert in_threads([partial(slowly, number) for number in range(8)]) == list(range(8))
    assert in_threads([]) == []


def test_threads_stay() -> None:
    def work() -> str:
        time.sleep(0.001)
        return threading.current_thread().name

    seen = {name for _ in range(50) for name in in_threads([work] * 8)}
    assert len(seen) <= 1 + threads.available_cores(), "the caller, and helpers"


def test_work_within_work_does_not_wait_for_a_thread() -> None:
    def deep(level: int) -> int:
        return 1 if level == 0 else sum(in_threads([partial(deep, level - 1)] * 4))

    assert deep(5) == 4**5


def test_the_first_piece_that_fails_ends_the_work() -> None:
    done = []

    def work(number: int) -> None:
        if number in (3, 5):
            raise ValueError(f"piece {number}")
        time.sleep(0.001)
        done.append(number)

    with pytest.raises(ValueError, match="piece 3"):
        in_threads([partial(work, number) for number in range(1000)])
    assert len(done) < 100
    assert in_threads([lambda: 1] * 3) == [1, 1, 1], "helpers go on"


def test_a_child_process_has_threads_of_its_own() -> None:
    assert in_threads([lambda: time.sleep(0.001)] * 4) == [None] * 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12: here it is the point
        child = os.fork()
    if child == 0:
        pieces = min(2, threads.available_cores())
        met = threading.Barrier(pieces)
        both = in_threads([partial(met.wait, 10)] * pieces)
        os._exit(0 if sorted(both) == list(range(pieces)) else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_pieces_are_steps_of_who_asked() -> None:
    with watched() as steps:
        shares = in_threads([lambda: steps.share] * 4, workers=1, steps=True)
    assert shares == [0.0, 0.25, 0.5, 0.75]
