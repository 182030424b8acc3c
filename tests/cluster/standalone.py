"""A standalone Spark cluster out of the installed pyspark: a master and workers with folders of their own.

A worker stands for a host: it has its own local folder, in which arenas lie, and its own cache of machine
code, which is empty at first. Its executors get Sash with the application, in an archive.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

SOURCES = Path(__file__).parents[2] / "src"
HOME = Path(pyspark.__file__).parent
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
PATIENCE = 180.0
"""Seconds that a process may take to be there, on a machine that has other things to do."""


def archive(folder: Path) -> Path:
    """The package as `--py-files` takes it."""
    path = folder / "sash.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for file in sorted((SOURCES / "sash").rglob("*.py")):
            packed.write(file, file.relative_to(SOURCES))
    return path


class Host:
    """A worker with all that it starts."""

    def __init__(self, folder: Path, master: str, cache: Path | None) -> None:
        self.folder, self._master = folder, master
        self._local, self._cache = folder / "local", cache or folder / "cache"
        self.start()

    def start(self) -> None:
        for each in (self._local, self._cache):
            each.mkdir(parents=True, exist_ok=True)
        places = {"SPARK_LOCAL_DIRS": str(self._local), "SASH_CACHE_DIR": str(self._cache)}
        self.process = _java(
            "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0",
            "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / "work"), self._master,
            log=self.folder / "worker.log", settings=places,
        )  # fmt: skip

    @property
    def arenas(self) -> list[Path]:
        return [path for path in self._local.rglob("sash-arenas-*") if any(path.iterdir())]

    @property
    def has_kernels(self) -> bool:
        """Whether machine code has been compiled here."""
        return any(path.is_file() for path in self._cache.rglob("*"))

    def kill_executors(self) -> int:
        """SIGKILL to executors and their Python workers, not to the worker, which starts others; how many
        processes there were."""
        mine = [pid for pid in _session(self.process.pid) if pid != self.process.pid]
        for pid in mine:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return len(mine)

    def replace(self) -> None:
        """SIGKILL to everything here, and another host in its place: no arenas, no machine code."""
        self.kill()
        for folder in (self._local, self._cache):
            shutil.rmtree(folder)
        self.start()

    def kill(self) -> None:
        while members := list(_session(self.process.pid)):
            for pid in members:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.wait()


class Cluster:
    """A master and two workers of one core. `cache`: machine code that they share, and need not compile."""

    def __init__(self, folder: Path, *, cache: Path | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.master = f"spark://127.0.0.1:{port}"
        folder.mkdir(parents=True, exist_ok=True)
        self.archive = archive(folder)
        self._log = folder / "master.log"
        self._process = _java(
            "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port),
            "--webui-port", "0", log=self._log, settings={},
        )  # fmt: skip
        self._wait("I have been elected leader")
        self.hosts = [Host(folder / name, self.master, cache) for name in ("one", "two")]
        self._wait("Registering worker", times=2)

    def _wait(self, words: str, *, times: int = 1) -> None:
        until = time.monotonic() + PATIENCE
        while self._log.read_text().count(words) < times:
            if time.monotonic() > until or self._process.poll() is not None:
                raise RuntimeError(f"no cluster: {self._log.read_text()[-2000:]}")
            time.sleep(0.2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for host in self.hosts:
            host.kill()
        self._process.kill()
        self._process.wait()


def _java(main: str, *arguments: str, log: Path, settings: dict[str, str]) -> subprocess.Popen[bytes]:
    surroundings = {
        name: value for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "SASH_ARENA_DIR", "SPARK_LOCAL_DIRS")
    }  # fmt: skip
    surroundings |= {"SPARK_HOME": str(HOME), "JDK_JAVA_OPTIONS": _QUICK, "PYSPARK_PYTHON": sys.executable}
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(HOME / "bin" / "spark-class"), main, *arguments], stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True, env=surroundings | settings,
        )  # fmt: skip


def _session(leader: int) -> Iterator[int]:
    """The processes of a session. Linux only."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, IndexError, ValueError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] != "Z":
                    yield int(entry.name)
