"""SIGKILL of the driver with all its processes, of executors, hosts and the broker, while windows go from a
topic to a topic.

Kafka's sink is at-least-once: a batch that was written and not committed is written again. So a window may
be in the topic twice; then both are the same, and a reader who knows windows by key and identifier cannot
tell. No window is lost.
"""

from __future__ import annotations

import random
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sash.aggregation.kernels.compiler.module_cache import directory
from tests.cluster.standalone import Cluster
from tests.faults.victim import Victim
from tests.kafka import run_topic
from tests.kafka.windows import as_json, expected, known, trades

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka.broker import Broker

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

STEPS = {"dataframe": ("offsets", "state/0/0", "commits"), "start": ("offsets", "commits", "offsets")}
SIX = {"marks": pytest.mark.soak}


@pytest.mark.parametrize(
    ("how", "kills"),
    [("start", 1), pytest.param("start", 6, **SIX), pytest.param("dataframe", 6, **SIX)],
)
def test_kills_of_the_driver_lose_no_window(
    spark: SparkSession,
    broker: Broker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    kills: int,
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    choice, checkpoint = random.Random(5), tmp_path / "checkpoint"
    rows = trades((2 * kills + 2) * 40)
    source, sink = f"{how}-trades-{kills}", f"{how}-windows-{kills}"
    broker.create(spark, source, sink)
    broker.send(spark, source, as_json(rows))
    arguments, steps = (broker.address, source, sink, checkpoint, how), STEPS[how]
    for kill in range(kills):
        folder = checkpoint / steps[kill % len(steps)]
        with Victim(Path(run_topic.__file__), *arguments, log=tmp_path / f"{kill}.log") as victim:
            before = steps_in(folder)
            victim.wait_until(lambda folder=folder, before=before: len(steps_in(folder) - before) > 1)
            time.sleep(choice.uniform(0, 0.3) * (kill % 2))
            assert victim.kill() > 1
    with Victim(Path(run_topic.__file__), *arguments, log=tmp_path / "last.log") as victim:
        victim.finish()
    values = broker.received(spark, sink)
    assert known(values) == expected(rows)


KILLS = ("executor", "broker", "worker", "driver") * 3
PATIENCE = 600


@pytest.mark.soak
def test_twelve_kills_of_executors_hosts_broker_and_driver_in_one_stream(
    spark: SparkSession, broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'src'}")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.delenv("SASH_ARENA_DIR", raising=False)
    choice, checkpoint = random.Random(7), tmp_path / "checkpoint"
    rows = trades((3 * len(KILLS) + 4) * 40)
    broker.create(spark, "twelve-trades", "twelve-windows")
    broker.send(spark, "twelve-trades", as_json(rows))
    with Cluster(tmp_path / "cluster", cache=directory()) as cluster:

        def run(number: int) -> Victim:
            arguments = (broker.address, "twelve-trades", "twelve-windows", checkpoint, "dataframe")
            where = (cluster.master, cluster.archive)
            return Victim(Path(run_topic.__file__), *arguments, *where, log=tmp_path / f"{number}.log")

        running = run(0)
        try:
            for number, kill in enumerate(KILLS):
                seen = steps_in(checkpoint / "commits")
                running.wait_until(
                    lambda seen=seen: len(steps_in(checkpoint / "commits") - seen) > 1, seconds=PATIENCE
                )
                time.sleep(choice.uniform(0, 1.5))  # anywhere in the next batch
                host = cluster.hosts[number // len(set(KILLS)) % 2]
                if kill == "executor":
                    assert host.kill_executors() > 1, "a JVM and Python workers"
                elif kill == "worker":
                    host.kill()
                    for folder in host.arenas:
                        shutil.rmtree(folder)
                    host.start()
                elif kill == "broker":
                    broker.kill()
                    time.sleep(choice.uniform(0, 3))
                    broker.start()
                else:
                    assert running.kill() > 1
                    running = run(number + 1)
            running.finish(seconds=PATIENCE)
        finally:
            running.kill()
    values = broker.received(spark, "twelve-windows")
    once = known(values)
    print(f"{len(once):,} windows, {len(values) - len(once):,} of them sent again")
    assert once == expected(rows)


def steps_in(folder: Path) -> set[str]:
    """Those that are there as a whole; more than one of them, since a first batch must be planned."""
    found = folder.iterdir() if folder.exists() else ()
    return {path.name for path in found if not path.name.startswith(".")}
