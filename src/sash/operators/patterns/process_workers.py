"""Windows computed by other processes, which read the rows from shared memory.

A user's Python function holds the GIL, and so does a monoid over objects: threads would take turns. Rows
are written once, as Arrow files on a file system in memory, and mapped by the workers; what travels is a
descriptor and the results. Workers
are plain interpreters that were started for this, not forks: a fork of a process with threads (Arrow's,
Numba's, a JVM's) may inherit locks that nobody will ever release. They stay for the next query.
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
from typing import Any

import cloudpickle
import pyarrow as pa

from sash.arrays import Ints
from sash.errors import PredicateError, Unsupported
from sash.operators.arena.owned_folders import owned_folder
from sash.operators.folding.values import Values
from sash.operators.folding.whole_windows import WholeWindow
from sash.operators.patterns import worker_process_main as process_worker
from sash.operators.patterns.element_bytes import ElementsStay, NotSent
from sash.operators.patterns.folding import Folds
from sash.operators.patterns.worker_process_main import (
    CombineRequest,
    OverRanges,
    PartsRequest,
    Request,
    Setup,
    WindowRequest,
    WorkerFailure,
    WorkerSetup,
)
from sash.operators.windows.ranges import Ranges

IN_MEMORY = Path("/dev/shm")


class Process:
    """One worker process and the connection to it."""

    def __init__(self) -> None:
        mine, its = socket.socketpair()
        with its:
            start = f"from {process_worker.__name__} import main; main({its.fileno()})"
            command = [sys.executable, "-c", f"import sys; sys.path[:] = {list(module_path())!r}; {start}"]
            # As in Spark's workers: a function that calls BLAS has the core of its worker and no other.
            environment = {"OMP_NUM_THREADS": "1", **os.environ}
            self._child = subprocess.Popen(
                command, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, env=environment
            )
        self._connection = Connection(mine.detach())

    def request(self, message: Setup | Request) -> Any:
        """The answer; PredicateError when the computation raised, or when the process died of it."""
        try:
            self._connection.send(message)
            answer = self._connection.recv()
        except (EOFError, OSError):
            raise PredicateError(
                f"a worker process ended with exit code {self.end()} while it computed windows; the "
                "function that it called may have used too much memory, or ended the process"
            ) from None
        if isinstance(answer, WorkerFailure):
            error = PredicateError(answer.message)
            error.add_note(f"In the worker process:\n{answer.trace}")
            raise error
        return answer

    @property
    def alive(self) -> bool:
        return self._child.poll() is None and not self._connection.closed

    def end(self) -> int:
        """Close the connection, which ends the process; its exit code."""
        self._connection.close()
        try:
            return self._child.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()


_idle: list[Process] = []
_idle_lock = Lock()


@atexit.register
def _end_idle() -> None:
    while _idle:
        _idle.pop().end()


def idle() -> int:
    """How many processes wait for work."""
    return len(_idle)


@contextmanager
def lent(number: int) -> Iterator[list[Process]]:
    """Processes of one's own for a while: those that are idle, and new ones for the rest."""
    with _idle_lock:
        taken = [_idle.pop() for _ in range(min(number, len(_idle)))]
    taken = [process for process in taken if process.alive]
    taken += [Process() for _ in range(number - len(taken))]
    try:
        yield taken
    except BaseException:
        # Some may still be at work on what nobody wants any more.
        for process in taken:
            process.end()
        raise
    with _idle_lock:
        _idle.extend(taken)


@dataclass
class ProcessWorkers:
    """A pool in shared memory, with worker processes. A chunk is a file whose name is a number."""

    directory: Path
    processes: Sequence[Process]
    _free: SimpleQueue[Process] = field(default_factory=SimpleQueue)
    _numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    @contextmanager
    def of(
        cls, computation: WholeWindow | OverRanges, schema: pa.Schema, *, workers: int
    ) -> Iterator[ProcessWorkers]:
        setup = WorkerSetup(pickled(computation), schema, module_path())
        with (
            owned_folder(f"sash-{os.getpid()}-", inside=_fastest()) as directory,
            lent(workers) as processes,
        ):
            pool = cls(directory, processes)
            for process in processes:
                process.request(setup)
                pool._free.put(process)
            yield pool

    def put(self, rows: pa.Table, start: int, stop: int) -> str:
        # The numbers of `count` are handed out whole, whichever thread calls.
        name = str(self.directory / str(next(self._numbers)))
        with pa.OSFile(name, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows.slice(start, stop - start))
        return name

    def free(self, chunk: str) -> None:
        Path(chunk).unlink()

    def values(self, chunks: Sequence[str], ranges: Ranges) -> Values:
        return Values(*self._answer(WindowRequest(tuple(chunks), ranges)))

    def lift_and_fold(self, rows: pa.Table, lo: Ints, hi: Ints, slot: Ints) -> Folds:
        chunk = self.put(rows, 0, rows.num_rows)
        try:
            folds: Folds | NotSent = self._answer(PartsRequest(chunk, lo, hi, slot))
        finally:
            self.free(chunk)
        if isinstance(folds, NotSent):
            raise ElementsStay(folds.reason)
        return folds

    def fold_and_lower(self, folds: Folds, lo: Ints, hi: Ints, slot: Ints) -> Values:
        return Values(*self._answer(CombineRequest(folds, lo, hi, slot)))

    def _answer(self, request: Request) -> Any:
        """Of the next process that is free."""
        process = self._free.get()
        try:
            return process.request(request)
        finally:
            self._free.put(process)


def pickled(computation: Any, *, argument: str = "fn", instead: str = "with sash.WinSeq()") -> bytes:
    """As a worker process can read it; Unsupported where it refers to what cannot be sent."""
    try:
        data: bytes = cloudpickle.dumps(computation)
    except Exception as error:  # whatever a captured object raises when it is pickled
        raise Unsupported(
            argument, computation, "something that can be sent to a worker process",
            hint=f"It refers to something that cannot be pickled ({error}). Make that inside the function, "
            f"or compute in this process {instead}.",
        ) from error  # fmt: skip
    return data


def _fastest() -> Path | None:
    """A directory in memory where there is one, otherwise the usual one for temporary files."""
    return IN_MEMORY if IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK) else None


def module_path() -> tuple[str, ...]:
    """Where this process finds modules."""
    return tuple(entry or str(Path.cwd()) for entry in sys.path)
