"""On two standalone workers whose executors get Sash with the application: the same answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from tests.cluster import on_cluster
from tests.cluster.standalone import Cluster
from tests.cluster.trades import expected, put, reports
from tests.faults.victim import Victim

pytestmark = [pytest.mark.spark, pytest.mark.soak]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(__file__).parents[2]
    monkeypatch.setenv("PYTHONPATH", f"{root}:{root / 'src'}")
    monkeypatch.delenv("SASH_ARENA_DIR", raising=False)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    put(tmp_path)
    return tmp_path


def victim(cluster: Cluster, place: Path, what: str) -> Victim:
    program = Path(on_cluster.__file__)
    return Victim(program, cluster.master, cluster.archive, what, place, log=place / f"{time.time()}.log")


def written(place: Path) -> Any:
    """The batches that are done, each once."""
    return reports(ds.dataset(place / "out", format="parquet", exclude_invalid_files=True).to_table())


@pytest.mark.parametrize("what", ["batch", "stream", "elastic"])
def test_windows_on_a_cluster_whose_executors_do_not_have_sash(
    cluster: Cluster, place: Path, what: str
) -> None:
    with victim(cluster, place, what) as running:
        running.finish()
    assert written(place) == expected()
    assert all("sash.zip" in line for line in (place / "from").read_text().splitlines())
    assert any(any((host.folder / "cache").rglob("*")) for host in cluster.hosts)
