"""Ctrl-C at the right moment: when something is there, and not after a number of seconds."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

PATIENCE = 90.0


@contextmanager
def interrupted_when(ready: Callable[[], object]) -> Iterator[None]:
    """Interrupt this process once, as soon as `ready` is true."""

    def work() -> None:
        begun = time.monotonic()
        while not ready() and time.monotonic() - begun < PATIENCE:
            time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)

    thread = Thread(target=work, daemon=True)
    thread.start()
    yield
    thread.join()
