"""A thread that writes the quotes to a folder, a parquet file every half second."""

from __future__ import annotations

import time
from pathlib import Path
from threading import Event, Thread

import pyarrow as pa
import pyarrow.parquet as pq

from sash.cli.demo.market import SECOND, Market
from sash.errors import QueryFailed

EVERY = 0.5
"""Seconds between two files."""
MINUTE = 60 * SECOND


class Feeder:
    """Quotes on their way into a folder, in the time of the clock."""

    def __init__(self, folder: Path, *, symbols: int, rate: float) -> None:
        self.folder, self.quotes, self.files = folder, 0, 0
        self._opens = now() - MINUTE
        self._market = Market(symbols=symbols, rate=rate, opens=self._opens)
        self._error: Exception | None = None
        self._ended = Event()
        self._thread = Thread(target=self._work, name="sash market", daemon=True)

    def begin(self) -> None:
        """Two moments, a minute apart, to warm up with: the later closes what the earlier opens."""
        self.folder.mkdir(parents=True, exist_ok=True)
        early = self._opens + int(EVERY * SECOND)
        self._write(early)
        self._market.rest_until(early + MINUTE)
        self._write(early + MINUTE + int(EVERY * SECOND))

    def start(self) -> None:
        """One file after the other, from now on."""
        self._market.rest_until(now())
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def require_well(self) -> None:
        """QueryFailed if no file could be written."""
        if self._error is not None:
            raise QueryFailed(f"the quotes cannot be written to {self.folder}: {self._error}")

    @property
    def burst(self) -> float:
        return self._market.burst

    def _work(self) -> None:
        while not self._ended.wait(EVERY):
            try:
                self._write(now())
            except (OSError, pa.ArrowException) as error:
                self._error = error
                return

    def _write(self, until: int) -> None:
        arrived = self._market.until(until)
        name = f"{self.files:06}.parquet"
        # Spark does not see a name that begins with a dot, and a rename is there as a whole.
        aside = self.folder / f".{name}"
        pq.write_table(arrived, aside)
        aside.rename(self.folder / name)
        self.files += 1
        self.quotes += arrived.num_rows


def now() -> int:
    """Microseconds since 1970."""
    return time.time_ns() * SECOND // 10**9
