"""The process that workers are forked from: what it imports before, and that its forks are clean."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sash.runtimes.spark.session import DAEMON, _workers_find_sash

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="nothing is imported ahead here")

AHEAD = """
import os, sys
from sash.runtimes import worker_daemon
assert worker_daemon.import_ahead()
print(len(os.listdir("/proc/self/task")), "JE_ARROW_MALLOC_CONF" in os.environ)
"""
RANDOM = (
    AHEAD
    + """
import numpy as np
sys.stdout.flush()
for _ in range(2):
    if not os.fork():
        print(np.random.random(), flush=True)
        os._exit(0)
    os.wait()
"""
)
BESIDE = """
from sash.runtimes import worker_daemon
worker_daemon.import_ahead.__defaults__ = (["a_module_with_a_thread"],)
worker_daemon.main()
"""


def _run(program: str, **variables: str) -> list[str]:
    own = os.environ | {"OMP_NUM_THREADS": "1"} | variables
    return subprocess.run(
        [sys.executable, "-c", program], env=own, capture_output=True, text=True, check=True
    ).stdout.split()


@linux
def test_imports_leave_one_thread_and_the_environment_as_it_was() -> None:
    assert _run(AHEAD) == ["1", "False"]


@linux
def test_two_forks_draw_different_numbers() -> None:
    _, _, one, other = _run(RANDOM)
    assert one != other


@linux
def test_where_a_module_starts_a_thread_the_daemon_begins_again_without_imports(tmp_path: Path) -> None:
    (tmp_path / "a_module_with_a_thread.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    )
    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("")
    (tmp_path / "pyspark" / "daemon.py").write_text(
        "import os, sys\n"
        "def manager():\n"
        "    print(len(os.listdir('/proc/self/task')), 'a_module_with_a_thread' in sys.modules)\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    assert _run(BESIDE, PYTHONPATH=path) == ["1", "False"]


@linux
@pytest.mark.spark
def test_workers_have_pyspark_from_files_and_sash_before_their_first_task(spark: SparkSession) -> None:
    def seen(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa
        import pyspark.worker

        for _ in batches:
            ours = "sash.runtimes.spark.epochs.epoch_step" in sys.modules
            yield pa.record_batch({"file": [pyspark.worker.__file__], "ours": [ours]})

    assert spark.conf.get(DAEMON) == "sash.runtimes.worker_daemon"
    (row,) = spark.range(1).coalesce(1).mapInArrow(seen, "file string, ours boolean").collect()
    assert row.ours
    assert ".zip" not in row.file


def test_a_python_of_their_own_keeps_the_daemon_of_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    assert _workers_find_sash({})
    assert not _workers_find_sash({"spark.pyspark.python": "python3"})
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/another")
    assert not _workers_find_sash({})


def test_sash_that_only_this_program_finds_keeps_the_daemon_of_pyspark(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As after `sys.path.append`, or with a zip that tasks bring."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setattr(
        "sash.runtimes.worker_daemon.__file__", str(tmp_path / "sash" / "runtimes" / "x.py")
    )
    assert not _workers_find_sash({})
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert _workers_find_sash({})
