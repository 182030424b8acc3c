"""On two standalone workers whose executors get Sash with the application: the answers of the reference,
also when executors, hosts with their arenas and machine code, or the driver are lost."""

from __future__ import annotations

import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from sash.aggregation.kernels.compiler.module_cache import directory
from tests.cluster import on_cluster
from tests.cluster.on_cluster import RUNS
from tests.cluster.standalone import Cluster
from tests.cluster.trades import answers, expected, put
from tests.faults.victim import Victim

pytestmark = pytest.mark.spark

FEW, MANY = 4, 14
"""Files, and so micro-batches of a stream."""
PATIENCE = 900
"""Seconds; most of them are for a machine that has other things to do."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'src'}")
    monkeypatch.delenv("SASH_ARENA_DIR", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)


def victim(cluster: Cluster, place: Path, what: str) -> Victim:
    program = Path(on_cluster.__file__)
    return Victim(program, cluster.master, cluster.archive, what, place, log=place / f"{time.time()}.log")


def batches(place: Path, what: str) -> int:
    """Those that are done."""
    return sum(path.name.isdecimal() for path in (place / what / "checkpoint" / "commits").glob("*"))


def written(place: Path, what: str, name: str) -> Counter[tuple[Any, ...]]:
    folder = place / what / "out" / name
    return answers(ds.dataset(folder, format="parquet", exclude_invalid_files=True).to_table())


def require_answers(place: Path, what: str, *, files: int) -> None:
    for name in RUNS[what]:
        assert written(place, what, name) == expected(name, files)


@pytest.mark.soak
def test_a_batch_and_a_stream_that_loses_an_executor(tmp_path: Path) -> None:
    put(tmp_path, FEW)
    with (
        Cluster(tmp_path / "cluster", cache=directory()) as quick,
        victim(quick, tmp_path, "batch,stream") as running,
    ):
        running.wait_until(lambda: batches(tmp_path, "stream") >= 1)
        assert quick.hosts[0].kill_executors() > 1, "an executor is a JVM and Python workers"
        running.finish()
    require_answers(tmp_path, "batch", files=FEW)
    require_answers(tmp_path, "stream", files=FEW)
    assert all("sash.zip" in line for line in (tmp_path / "from").read_text().splitlines())


@pytest.mark.soak
@pytest.mark.parametrize("what", ["stream", "elastic", "join", "together"])
def test_losses_on_the_way_change_no_answer(cluster: Cluster, tmp_path: Path, what: str) -> None:
    """An executor, all arenas, a whole host, the driver: one after the other in one stream. A host
    that has never seen Sash takes the place of the lost one."""
    put(tmp_path, MANY)
    one, two = cluster.hosts
    with victim(cluster, tmp_path, what) as running:
        running.wait_until(lambda: batches(tmp_path, what) >= 2, seconds=PATIENCE)
        assert one.kill_executors()
        running.wait_until(lambda: batches(tmp_path, what) >= 4, seconds=PATIENCE)
        arenas = [*one.arenas, *two.arenas]
        assert arenas or what == "join", "only joins have none"
        for folder in arenas:
            shutil.rmtree(folder, ignore_errors=True)
        running.wait_until(lambda: batches(tmp_path, what) >= 6, seconds=PATIENCE)
        two.replace()
        running.wait_until(lambda: batches(tmp_path, what) >= 9, seconds=PATIENCE)
        running.kill()
    with victim(cluster, tmp_path, what) as again:
        again.finish(seconds=PATIENCE)
    require_answers(tmp_path, what, files=MANY)
    assert two.has_kernels, "the new host has worked"


@pytest.mark.soak
def test_executors_come_and_go_with_the_degree(cluster: Cluster, tmp_path: Path) -> None:
    put(tmp_path, MANY)
    with victim(cluster, tmp_path, "executors") as running:
        running.finish(seconds=PATIENCE)
    require_answers(tmp_path, "executors", files=MANY)
    numbers = [int(line) for line in (tmp_path / "executors" / "numbers").read_text().split()]
    assert [number for number, _ in groupby(numbers)] == [1, 2, 1]
