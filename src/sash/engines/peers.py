"""Engines that live in environments of their own, each driven over a subprocess with JSON lines.

PyFlink pins its own numpy, pandas, pyarrow and Beam, so it cannot share an environment with Sash, nor with
the Beam of today. `make peers` creates both environments under `.venv-peers` (or $SASH_PEERS):

    .venv-peers/flink    PyFlink                      .venv-peers/beam    Beam, Bytewax

The drivers under `drivers/` import the standard library and their engine only.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from types import MappingProxyType
from typing import IO, Any

from sash.engines.probe_run import ProbeRun, Seen
from sash.errors import EngineError, MissingDependency

DRIVERS = Path(__file__).parent / "drivers"
PATIENCE = 300.0
"""Seconds that one request may take; a request holds many runs."""


@dataclass(frozen=True, slots=True)
class PeerEnvironment:
    """Where a peer lives: the environment's name, what is installed there, and the driver's module."""

    environment: str
    requirements: tuple[str, ...]
    driver: str


PEERS: Mapping[str, PeerEnvironment] = MappingProxyType(
    {
        "beam": PeerEnvironment("beam", ("apache-beam==2.77.0", "bytewax==0.21.1"), "on_beam"),
        "bytewax": PeerEnvironment("beam", ("apache-beam==2.77.0", "bytewax==0.21.1"), "on_bytewax"),
        "pyflink": PeerEnvironment("flink", ("apache-flink==2.3.0",), "on_pyflink"),
    }
)


class Peer:
    """An engine behind a driver: `answer` sends runs, and reads what was seen. `close` ends the process."""

    def __init__(self, python: Path, driver: Path, *, patience: float = PATIENCE) -> None:
        self._python, self._driver, self.patience = python, driver, patience
        self._stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        self._process = self._start()
        try:
            greeting = self._read()
        except EngineError:
            self.close(grace=0)
            raise
        self.name, self.version = str(greeting["engine"]), str(greeting["version"])
        self.kinds = frozenset(map(str, greeting["kinds"]))

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        if not runs:
            return []
        return [_seen(one) for one in self._exchange({"runs": [_request(run) for run in runs]})["answers"]]

    def window_starts(self) -> list[int]:
        return list(map(int, self._exchange({"clock": True})["starts"]))

    def close(self, *, grace: float = 10.0) -> None:
        """End the process: by closing its input, and by force if it has not ended after `grace` seconds."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(timeout=grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._stderr.close()

    def _exchange(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._failed("it has ended") from None
        message = self._read()
        if "error" in message:
            raise self._failed(message["error"])
        return message

    def _start(self) -> subprocess.Popen[bytes]:
        # PyFlink starts more Pythons by name: its own must be the first on the path.
        path = f"{self._python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return subprocess.Popen(
            [self._python, DRIVERS / "serving.py", self._driver.stem],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "PATH": path, "PYTHONPATH": str(self._driver.parent)},
        )

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        with DefaultSelector() as waiting:
            waiting.register(self._process.stdout, EVENT_READ)
            if not waiting.select(self.patience):
                raise self._failed(f"no answer within {self.patience:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise self._failed("it has ended")
        message: dict[str, Any] = json.loads(line)
        return message

    def _failed(self, why: str) -> EngineError:
        self._stderr.seek(0)
        words = self._stderr.read().decode(errors="replace").strip().splitlines()[-5:]
        last = "; ".join(word.strip() for word in words) or "nothing"
        return EngineError(f"{self._driver.stem} failed: {why}. Its last lines: {last}")


def peer(name: str) -> Peer:
    """The peer of that name, started."""
    return Peer(python_of(name), DRIVERS / f"{PEERS[name].driver}.py")


def python_of(name: str) -> Path:
    """The interpreter of a peer; if it is not there, an error with the command that installs it."""
    home = PEERS[name]
    root = Path(os.environ.get("SASH_PEERS", ".venv-peers")) / home.environment
    python = root / "bin" / "python"
    if not python.exists():
        packages = " ".join(home.requirements)
        by_hand = f"python3.11 -m venv {root} && {root}/bin/pip install {packages}"
        raise MissingDependency(f"{name} is not installed in {root}: run `make peers`, or {by_hand}")
    return python.absolute()


def _request(run: ProbeRun) -> dict[str, Any]:
    shape = {"kind": run.kind, "size": run.size, "slide": run.slide, "delay": run.delay}
    shape |= {"lateness": run.lateness}
    keys = [run.key(index) for index in range(len(run.times))]
    return {"times": run.times, "keys": keys, "groups": run.groups(), **shape}


def _seen(message: Mapping[str, Any]) -> Seen:
    return Seen(
        reports=tuple(tuple(content) for content in message.get("reports", ())),
        flushed=tuple(tuple(content) for content in message.get("flushed", ())),
        late=tuple(message.get("late", ())),
        refused=str(message.get("refused", "")),
        unmeasured=str(message.get("unmeasured", "")),
    )
