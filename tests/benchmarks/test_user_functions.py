"""Functions of users in processes: two instances share the calls, and the busiest of them computes less."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.user_functions import BUSIEST, EVENTS, Run, computing, steps_of
from sash.operators import Stateful, setup

TUPLES = 400
BUSY = 0.8
"""Twice as fast is 0.5. Another program on the cores makes a process slower, and not by so much."""


def calls_by_process(instances: int) -> Counter[int]:
    """Which process was at work for how many tuples."""

    def update(windows: Any, arrival: Any) -> None:
        windows[0].append(os.getpid())

    def output(windows: Any) -> Any:
        return {"process": windows[0][0], "n": len(windows[0])}

    operator = Stateful(
        advance=1_000_000, size=1_000_000, inputs=EVENTS, keys="k", update=update, output=output,
        schema=pa.schema([("process", pa.int64()), ("n", pa.int64())]),
    )  # fmt: skip
    found: Counter[int] = Counter()
    with setup(operator, instances, instances, processes=True) as elastic:
        times = np.arange(TUPLES)
        elastic.add("source", {"t": times, "k": times * 7919 % 1009})
        elastic.stop()
        while (rows := elastic.get("reader")) is not None:
            for row in rows.to_pylist():
                found[row["process"]] += row["n"]
    return found


def test_two_processes_share_the_calls_of_a_function_about_equally() -> None:
    [alone] = calls_by_process(1).values()
    both = calls_by_process(2)
    assert alone == sum(both.values()) == TUPLES
    assert len(both) == 2
    assert os.getpid() not in both
    assert max(both.values()) <= 0.6 * TUPLES


def test_two_processes_compute_a_function_in_plain_python_sooner_than_one() -> None:
    operator = computing(steps_of(1.0))
    computed = {}
    for instances in (1, 2):
        run = Run(operator, instances, TUPLES, processes=True)
        run()
        computed[instances] = min(run()[BUSIEST] for _ in range(2))
        run.end()
    assert computed[2] <= BUSY * computed[1]
