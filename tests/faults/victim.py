"""A program and everything that it starts, to be killed as a whole. Linux only: it looks into /proc.

Spark's Python workers leave the process group of their driver, but not its session. So the program gets a
session of its own, and what is killed is every process in it: driver, JVM and workers.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""A JVM that lives for seconds, or sees ever new queries, gains nothing from its best compiler. Tests of
a shared session take a third less of the processors with it."""


class EndedTooEarly(AssertionError):
    """A program ended, well or not, before it has come as far as it must."""


class Victim:
    """A running Python program. Leaving the `with` block leaves nothing of it behind."""

    def __init__(
        self, program: Path, *arguments: str | Path, log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self._log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(program), *map(str, arguments)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"JDK_JAVA_OPTIONS": QUICK_START} | dict(environment or {}),
            )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def kill(self) -> int:
        """SIGKILL to every process of the session; how many there were."""
        killed = 0
        while members := list(self._members()):
            killed = max(killed, _signal(members, signal.SIGKILL))
        self.process.wait()
        return killed

    def kill_workers(self) -> int:
        """SIGKILL to Spark's Python workers and to the process that starts them; how many there were."""
        return self.signal_workers(signal.SIGKILL)

    def signal_workers(self, number: signal.Signals) -> int:
        return _signal([member for member in self._members() if self._is_worker(member)], number)

    def signal(self, number: signal.Signals) -> int:
        """To every process of the session: driver, JVM and workers."""
        return _signal(list(self._members()), number)

    def wait_until(self, condition: Callable[[], bool], *, seconds: float = 180) -> None:
        """Look every few milliseconds. A program that ends before the condition holds is an error."""
        deadline = time.monotonic() + seconds
        while not condition():
            if self.process.poll() is not None:
                raise EndedTooEarly(f"it ended too early:\n{self.printed}")
            assert time.monotonic() < deadline, f"it did not come so far:\n{self.printed}"
            time.sleep(0.003)

    def finish(self, *, seconds: float = 180) -> None:
        """Let it come to its own end, which must be a good one."""
        assert self.process.wait(timeout=seconds) == 0, self.printed

    @property
    def printed(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]

    def _is_worker(self, member: int) -> bool:
        with suppress(OSError):
            # As PySpark starts them, and as a session of ours does (`runtimes.worker_daemon`).
            return b"daemon\0pyspark.worker\0" in Path(f"/proc/{member}/cmdline").read_bytes()
        return False

    def _members(self) -> Iterator[int]:
        for entry in Path("/proc").glob("[0-9]*/stat"):
            # Any process of the machine may end while it is looked at.
            with suppress(OSError):
                state, _, _, session = entry.read_text().rpartition(")")[2].split()[:4]
                if int(session) == self.process.pid and state != "Z":
                    yield int(entry.parent.name)


def _signal(members: Sequence[int], number: signal.Signals) -> int:
    for member in members:
        with suppress(ProcessLookupError):
            os.kill(member, number)
    return len(members)
