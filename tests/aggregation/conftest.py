"""A real Redis server for the tests: on a free loopback port, its files in a temporary directory."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis


class RedisServer:
    """A redis-server process that can be killed, paused and started again on the same port."""

    def __init__(self, directory: Path) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise RuntimeError("these tests need redis-server, which is not on PATH; run `make redis`")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self._command = [
            program,
            *("--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(directory)),
            # Every write reaches the log before it is answered: a killed server forgets nothing.
            *("--save", "", "--appendonly", "yes", "--appendfsync", "always"),
        ]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while True:
            try:
                with redis.Redis.from_url(self.url) as client:
                    client.ping()
                return
            except redis.RedisError:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    self.kill()
                    raise
                time.sleep(0.02)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def client(self) -> redis.Redis:
        return redis.Redis.from_url(self.url)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture
def fragile_redis_server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server of the test's own, to be killed or paused."""
    server = RedisServer(tmp_path)
    yield server
    server.kill()
