"""SIGKILL of driver, JVM and workers while windows go from a topic to a topic.

Kafka's sink is at-least-once: a batch that was written and not committed is written again. So a window may
be in the topic twice; then both are the same, and a reader who knows windows by key and identifier cannot
tell. No window is lost.
"""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.faults.victim import Victim
from tests.kafka import run_topic
from tests.kafka.windows import as_json, expected, known, trades

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.soak]

STEPS = ("offsets", "state/0/0", "commits")
BATCHES = 14


def test_kills_of_the_driver_lose_no_window(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    choice, checkpoint = random.Random(5), tmp_path / "checkpoint"
    rows = trades(BATCHES * 40)
    broker.create(spark, "kill-trades", "kill-windows")
    broker.send(spark, "kill-trades", as_json(rows))
    arguments = (broker.address, "kill-trades", "kill-windows", checkpoint)
    for kill in range(6):
        folder = checkpoint / STEPS[kill % len(STEPS)]
        with Victim(Path(run_topic.__file__), *arguments, log=tmp_path / f"{kill}.log") as victim:
            before = steps_in(folder)
            victim.wait_until(lambda folder=folder, before=before: len(steps_in(folder) - before) > 1)
            time.sleep(choice.uniform(0, 0.3) * (kill % 2))
            assert victim.kill() > 1
    with Victim(Path(run_topic.__file__), *arguments, log=tmp_path / "last.log") as victim:
        victim.finish()
    values = broker.received(spark, "kill-windows")
    assert known(values) == expected(rows)


def steps_in(folder: Path) -> set[str]:
    """Those that are there as a whole; more than one of them, since a first batch must be planned."""
    found = folder.iterdir() if folder.exists() else ()
    return {path.name for path in found if not path.name.startswith(".")}
