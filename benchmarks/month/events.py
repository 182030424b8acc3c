"""What arrives in each hour of the month: the same for the same hour, whoever asks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

HOUR, DAY = 3_600_000_000, 24
"""An hour in microseconds, a day in hours."""
BEGIN = 1_767_225_600_000_000
"""The first of January 2026."""
SCHEMA = pa.schema([("at", pa.timestamp("us", "UTC")), ("key", pa.int64()), ("x", pa.int64())])
SILENT = (3, 4)
"""Hours of each day in which nothing arrives."""
BURST, FLOOD = 10, 17
"""The hour in which living keys send ten times as much, and the one that brings events of hours ago."""
DISORDER = HOUR // 6


@dataclass(frozen=True)
class Month:
    """`keys` in `days`: each has an event in the hour of its birth and about two more within a day."""

    keys: int
    days: int

    @property
    def hours(self) -> int:
        return self.days * DAY

    @cached_property
    def _born(self) -> np.ndarray:
        """How many keys there have been before each hour: few at night, twice as many at noon."""
        hours = np.arange(self.hours) % DAY
        weights = np.where(np.isin(hours, SILENT), 0.0, 1.5 - np.cos(2 * np.pi * hours / DAY))
        return np.concatenate([[0], np.round(np.cumsum(weights) / weights.sum() * self.keys)]).astype(int)

    def partitions(self, hour: int) -> int:
        """How many files an hour has: one is there always, others are born and die."""
        return 1 + (hour // 5) % 4

    def tables(self, hour: int) -> Iterator[pa.Table]:
        """The files of an hour."""
        rows = self._rows(hour)
        count = self.partitions(hour)
        for partition in range(count if rows.num_rows else 0):
            yield rows.take(np.flatnonzero(rows["key"].to_numpy() % count == partition))

    def _rows(self, hour: int) -> pa.Table:
        random, of_day = np.random.default_rng(hour), hour % DAY
        first, last = int(self._born[hour]), int(self._born[hour + 1])
        oldest = int(self._born[max(0, hour - DAY + 1)])
        if of_day in SILENT or last == oldest:
            return SCHEMA.empty_table()
        again = 2 * (last - first) * (10 if of_day == BURST else 1)
        keys = [np.arange(first, last), random.integers(oldest, last, again)]
        times = [
            random.integers(0, HOUR, len(each)) - random.integers(0, DISORDER, len(each)) for each in keys
        ]
        if of_day == FLOOD:
            keys.append(random.integers(oldest, last, again))
            times.append(-random.integers(0, 6 * HOUR, again))
        key, time = np.concatenate(keys), np.concatenate(times)
        at = pa.array(np.maximum(BEGIN, BEGIN + hour * HOUR + time), pa.timestamp("us", "UTC"))
        return pa.table([at, pa.array(key), pa.array(random.integers(-9, 10, len(key)))], schema=SCHEMA)
