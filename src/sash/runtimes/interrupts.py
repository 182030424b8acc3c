"""Ctrl-C as a request, not as an exception in the middle of something."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, current_thread, main_thread

CTRL_C = (signal.SIGINT,)
SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interrupts(signals: tuple[signal.Signals, ...] = SIGNALS) -> Iterator[Event]:
    """An event that is set by an interrupt (Ctrl-C), or by a request to end, as long as the block runs.

    Spark's own handler would cancel all jobs and raise wherever this process happens to be; a stream is
    stopped between two looks instead. Only the main thread receives signals.
    """
    requested = Event()
    if current_thread() is not main_thread():
        yield requested
        return
    before = {number: signal.signal(number, lambda *_: requested.set()) for number in signals}
    try:
        yield requested
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
