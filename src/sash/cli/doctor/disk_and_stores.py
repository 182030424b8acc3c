"""The machine around Sash: room on disk, memory, and stores that answer."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from shlex import quote

from sash.cli.doctor.health_check import HealthCheck, install

ROOM = 2**30
"""Bytes of disk that shuffles and checkpoints of small queries fit in."""
MEMORY = 2 * 2**30
"""Bytes: Spark's driver takes one gigabyte, its Python workers and this process the other."""
REDIS = ("127.0.0.1", 6379)


def machine() -> HealthCheck:
    memory, cores = _memory(), _cores()
    words = f"{cores} core{'s' * (cores != 1)}"
    if memory is not None:
        words += f", {_gigabytes(memory)} of memory"
    if memory is None or memory >= MEMORY:
        return HealthCheck("machine", "ok", words, needed=False)
    fix = f"give this machine or container {_gigabytes(MEMORY)} or more"
    return HealthCheck("machine", "wrong", f"{words}; Spark may run out of it", fix, needed=False)


def disk() -> HealthCheck:
    """Where Spark shuffles and temporary checkpoints go."""
    folder = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or _temporary()
    fix = "export SPARK_LOCAL_DIRS=… TMPDIR=…   (a folder that you may write, with more room)"
    reason = _unwritable(Path(folder))
    if reason:
        return HealthCheck("disk", "wrong", f"{folder} cannot be written: {reason}", fix)
    free = shutil.disk_usage(folder).free
    words = f"{_gigabytes(free)} free in {folder}"
    return HealthCheck("disk", "ok", words) if free >= ROOM else HealthCheck("disk", "wrong", words, fix)


def machine_code() -> HealthCheck:
    """Where compiled kernels are kept for the next process. Without it each process compiles them again."""
    name, fix = "machine code", f"export SASH_CACHE_DIR={quote(_temporary())}/sash-cache"
    try:
        from sash.aggregation.kernels.compiler.module_cache import directory

        folder = directory()
    except ImportError:
        return HealthCheck(
            name, "missing", "not looked at: a package is missing", "see above", needed=False
        )
    except (OSError, ValueError) as error:
        return HealthCheck(name, "wrong", str(error), fix, needed=False)
    reason = _unwritable(folder)
    if reason:
        return HealthCheck(name, "wrong", f"{folder} cannot be written: {reason}", fix, needed=False)
    return HealthCheck(name, "ok", f"kept in {folder}", needed=False)


def lmdb_store() -> HealthCheck:
    """An LMDB environment, opened, written and read."""
    name = "LMDB store"
    try:
        from sash.aggregation.stores.lmdb import LMDB
        from sash.errors import StoreError
    except ImportError:
        return HealthCheck(name, "missing", "not tried: a package is missing", "see above")
    try:
        with tempfile.TemporaryDirectory(prefix="sash-doctor-") as folder, LMDB(folder) as store:
            store.put_many({b"key": b"value"})
            store.commit(0)
            store.get_many([b"key"])
    except (OSError, StoreError) as error:
        fix = "export TMPDIR=…   (a folder on a local disk that can be mapped into memory)"
        return HealthCheck(name, "wrong", str(error), fix)
    return HealthCheck(name, "ok", "written and read")


def redis_server(address: tuple[str, int] = REDIS) -> HealthCheck:
    """Whether one answers where `sash.Elastic(store="redis")` looks for it. Even a refusal is an answer."""
    name, where = "Redis server", f"{address[0]}:{address[1]}"
    try:
        with socket.create_connection(address, timeout=0.5) as connection:
            connection.sendall(b"PING\r\n")
            answers = connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
    except OSError:
        words = f"nothing answers at {where}; only sash.Elastic(store='redis') needs one"
        begin = "redis-server --daemonize yes" if shutil.which("redis-server") else None
        return HealthCheck(name, "missing", words, begin or install("redis-server", "redis"), needed=False)
    if answers:
        return HealthCheck(name, "ok", f"answers at {where}", needed=False)
    return HealthCheck(
        name, "wrong", f"something else answers at {where}", "redis-server --port 6380", needed=False
    )


def _temporary() -> str:
    """Where temporary files go, or should: on a full disk Python finds no place for them at all."""
    try:
        return tempfile.gettempdir()
    except OSError:
        return "/tmp"


def _unwritable(folder: Path) -> str:
    """Why no file can be made there; empty when it can."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return ""
    except OSError as error:
        return error.strerror or str(error)


def _cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _memory() -> int | None:
    """What the machine has, or what its container may use."""
    limits: list[int] = []
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    limits += _numbers_in(
        Path("/sys/fs/cgroup") / name for name in ("memory.max", "memory/memory.limit_in_bytes")
    )
    return min(limits, default=None)


def _numbers_in(files: Iterable[Path]) -> Iterator[int]:
    for file in files:
        try:
            text = file.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():
            yield int(text)


def _gigabytes(count: int) -> str:
    """
    >>> _gigabytes(3 * 2**29)
    '1.5 GB'
    """
    return f"{count / 2**30:.3g} GB"
