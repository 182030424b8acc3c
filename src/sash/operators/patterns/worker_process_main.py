"""What a worker process does.

It is set up once for what it computes, and then answers requests: windows over chunks of rows here, steps
of an operator in `stateful.share_worker`. Chunks are Arrow files in shared memory: they are mapped, not
read, and a window is a slice of them. It ends when its parent closes the connection, or, if it holds no
state, when nothing was requested in a while.

Only what it needs is imported here, without Numba: a worker starts in the time that Arrow takes to load.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

import cloudpickle
import pyarrow as pa

from sash.arrays import Ints
from sash.operators.folding.whole_windows import WholeWindow, whole_windows
from sash.operators.windows.ranges import Ranges

IDLE_SECONDS = 120


@runtime_checkable
class Setup(Protocol):
    """The first message: what all requests that follow are answered by."""

    holds_state: ClassVar[bool]

    def set_up(self) -> Any: ...


@runtime_checkable
class OverRanges(Protocol):
    """What computes many windows at a time, where neighbours share their work."""

    def over(self, rows: pa.Table, ranges: Ranges) -> tuple[Ints, pa.Table]:
        """The result rows, and for each the index of the window that it belongs to."""
        ...


class FoldsPartsAndWindows(Protocol):
    """What folds parts of windows, and windows from those. `folds` are elements as bytes (see
    `element_bytes`)."""

    def lift_and_fold(self, rows: pa.Table, lo: Ints, hi: Ints, slot: Ints) -> Any: ...
    def fold_and_lower(self, folds: Any, lo: Ints, hi: Ints, slot: Ints) -> tuple[Ints, pa.Table]: ...


class Request(Protocol):
    def answered_by(self, worker: Any) -> Any: ...


@dataclass(frozen=True)
class WorkerSetup:
    """A computation for all windows that follow, as cloudpickle writes it, and the schema of the rows."""

    computation: bytes
    schema: pa.Schema
    path: tuple[str, ...]
    """Where modules are found that the computation refers to by name."""

    holds_state: ClassVar[bool] = False

    def set_up(self) -> Worker:
        find_modules(self.path)
        return Worker(cloudpickle.loads(self.computation), self.schema)


@dataclass(frozen=True)
class WindowRequest:
    """Windows over the rows of these files, one after the other."""

    files: tuple[str, ...]
    ranges: Ranges

    def answered_by(self, worker: Worker) -> tuple[Ints, pa.Table]:
        return worker.values(self)


@dataclass(frozen=True)
class PartsRequest:
    """The first of two steps: one element for each [lo, hi) of the rows of a file."""

    file: str
    lo: Ints
    hi: Ints
    slot: Ints

    def answered_by(self, worker: Worker) -> Any:
        return worker.two_steps.lift_and_fold(worker.rows((self.file,)), self.lo, self.hi, self.slot)


@dataclass(frozen=True)
class CombineRequest:
    """The second one: one value for each [lo, hi) of the elements."""

    folds: Any
    lo: Ints
    hi: Ints
    slot: Ints

    def answered_by(self, worker: Worker) -> tuple[Ints, pa.Table]:
        return worker.two_steps.fold_and_lower(self.folds, self.lo, self.hi, self.slot)


@dataclass(frozen=True)
class WorkerFailure:
    """The computation raised."""

    message: str
    trace: str


@dataclass
class Worker:
    """A computation, and the chunks that are mapped."""

    computation: WholeWindow | OverRanges
    schema: pa.Schema
    mapped: dict[str, pa.Table] = field(default_factory=dict)

    def values(self, request: WindowRequest) -> tuple[Ints, pa.Table]:
        rows = self.rows(request.files)
        if isinstance(self.computation, OverRanges):
            return self.computation.over(rows, request.ranges)
        return whole_windows(self.computation, rows, request.ranges)

    def rows(self, files: tuple[str, ...]) -> pa.Table:
        """The rows of these files, one after the other."""
        # A file that is not requested again is let go, so that its memory is free once it is unlinked.
        kept = self.mapped
        self.mapped = {name: kept[name] if name in kept else _mapped(name) for name in files}
        return pa.concat_tables(self.mapped.values()) if files else self.schema.empty_table()

    @property
    def two_steps(self) -> FoldsPartsAndWindows:
        computation: Any = self.computation
        assert isinstance(computation, OverRanges)  # what has no combine is refused for two steps
        return cast(FoldsPartsAndWindows, computation)


def _mapped(name: str) -> pa.Table:
    with pa.memory_map(name) as source, pa.ipc.open_file(source) as reader:
        return reader.read_all()


def find_modules(path: tuple[str, ...]) -> None:
    sys.path[:] = [*path, *(entry for entry in sys.path if entry not in path)]


def serve(connection: Connection) -> None:
    """Answer requests until the other side is gone."""
    worker: Any = None
    patience: float | None = IDLE_SECONDS
    while connection.poll(patience):
        message: Setup | Request = connection.recv()
        try:
            if isinstance(message, Setup):
                worker, patience = message.set_up(), None if message.holds_state else IDLE_SECONDS
                connection.send(None)
            else:
                connection.send(message.answered_by(worker))
        except Exception as error:
            connection.send(WorkerFailure(str(error), traceback.format_exc()))


def main(descriptor: int) -> None:
    with suppress(EOFError, ConnectionResetError, BrokenPipeError, KeyboardInterrupt):
        serve(Connection(descriptor))
