"""Ctrl-C as a wish, not as an exception in the middle of something."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread

WISHES = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts() -> Iterator[Event]:
    """An event that is set by an interrupt (Ctrl-C), or by a request to end, as long as the block runs.

    Spark's own handler would cancel all jobs and raise wherever this process happens to be; a stream is
    stopped between two looks instead. Only the main thread can be asked so.
    """
    asked = Event()
    if current_thread() is not main_thread():
        yield asked
        return
    before = {wish: signal.signal(wish, lambda *_: asked.set()) for wish in WISHES}
    try:
        yield asked
    finally:
        for wish, handler in before.items():
            signal.signal(wish, handler)
