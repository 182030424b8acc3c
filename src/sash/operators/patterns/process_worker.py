"""What a worker process does.

It gets a computation once, then windows over chunks of rows, and returns their values. Chunks are
Arrow files in shared memory: they are mapped, not read, and a window is a slice of them. It ends when its
parent closes the connection, or when nothing was requested in a while.

Only what it needs is imported here, without Numba: a worker starts in the time that Arrow takes to load.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

import cloudpickle
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.folding.whole_windows import WholeWindow, whole_windows
from sash.operators.windows.ranges import Ranges

IDLE_SECONDS = 120


@dataclass(frozen=True)
class WorkerSetup:
    """A computation for all windows that follow, as cloudpickle writes it, and the schema of the rows."""

    computation: bytes
    schema: pa.Schema
    path: tuple[str, ...]
    """Where modules are found that the computation refers to by name."""


@dataclass(frozen=True)
class WindowRequest:
    """Windows over the rows of these files, one after the other."""

    files: tuple[str, ...]
    ranges: Ranges


@dataclass(frozen=True)
class WorkerFailure:
    """The computation raised."""

    message: str
    trace: str


@dataclass
class Worker:
    """A computation, and the chunks that are mapped."""

    computation: WholeWindow
    schema: pa.Schema
    mapped: dict[str, pa.Table] = field(default_factory=dict)

    @classmethod
    def set_up(cls, setup: WorkerSetup) -> Worker:
        sys.path[:] = [*setup.path, *(entry for entry in sys.path if entry not in setup.path)]
        return cls(cloudpickle.loads(setup.computation), setup.schema)

    def values(self, request: WindowRequest) -> tuple[Ints, pa.Table]:
        # A file that is not requested again is let go, so that its memory is free once it is unlinked.
        kept = self.mapped
        self.mapped = {name: kept[name] if name in kept else _mapped(name) for name in request.files}
        rows = pa.concat_tables(self.mapped.values()) if request.files else self.schema.empty_table()
        return whole_windows(self.computation, rows, request.ranges)


def _mapped(name: str) -> pa.Table:
    with pa.memory_map(name) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def serve(connection: Connection) -> None:
    """Answer requests until the other side is gone."""
    worker: Worker | None = None
    while connection.poll(IDLE_SECONDS):
        message: WorkerSetup | WindowRequest = connection.recv()
        try:
            if isinstance(message, WorkerSetup):
                worker = Worker.set_up(message)
                connection.send(None)
            else:
                assert worker is not None
                connection.send(worker.values(message))
        except Exception as error:
            connection.send(WorkerFailure(str(error), traceback.format_exc()))


def main(descriptor: int) -> None:
    with suppress(EOFError, ConnectionResetError, BrokenPipeError, KeyboardInterrupt):
        serve(Connection(descriptor))
