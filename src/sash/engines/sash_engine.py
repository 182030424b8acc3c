"""Sash itself, in process: the streaming window operator, fed one batch after the other; as itself, or as
another engine (`.semantics`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from sash._version import __version__
from sash.aggregation.built_in import collect
from sash.api.stream import stream
from sash.api.window_query import WindowQuery
from sash.engines.probe_run import EventNumbers, ProbeRun, Seen
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator
from sash.semantics.window import Window
from sash.semantics.windows import rows, session, sliding


class Sash:
    """Windows in event-time order, reported when they close, or as `engine` reports them."""

    name = "sash"
    version = __version__
    kinds = frozenset({"time", "count", "session"})

    def __init__(self, engine: str | None = None, *, one_clock: bool = False) -> None:
        """`one_clock`: the watermark is that of a query of Sash, of the whole stream and after each batch.
        Two engines have others. Spark closes windows by the watermark of the batch before, and judges
        events by the one before that; a key of Bytewax has a watermark of its own."""
        self._engine = engine
        self._lag = int(engine == "spark_structured" and not one_clock)
        self._by_key = engine == "bytewax" and not one_clock

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        each = self._of_keys if self._by_key else self._one
        return [each(run) for run in runs]

    def close(self) -> None:
        """Nothing is kept."""

    def _one(self, run: ProbeRun) -> Seen:
        return _one(run, self._engine, self._lag)

    def _of_keys(self, run: ProbeRun) -> Seen:
        """Each key as a stream of its own."""
        reports, flushed, late = list[EventNumbers](), list[EventNumbers](), list[int]()
        for key in sorted(set(run.keys or ("key",))):
            places = [index for index in range(len(run.times)) if run.key(index) == key]
            times = tuple(run.times[index] for index in places)
            seen = self._one(replace(run, times=times, keys=(key,) * len(times)))
            reports += [tuple(places[index] for index in content) for content in seen.reports]
            flushed += [tuple(places[index] for index in content) for content in seen.flushed]
            late += [places[index] for index in seen.late]
        return Seen(reports=tuple(reports), flushed=tuple(flushed), late=tuple(sorted(late)))


def _one(run: ProbeRun, engine: str | None, lag: int) -> Seen:
    bound = windowed(_rows([], run), run, engine, flush=False).bound
    operator, watermarks = WindowOperator.load(bound, None, {}), run.watermarks()
    reports: list[EventNumbers] = []
    late: list[int] = []

    def advance(watermark: int, *, flush: bool = False) -> list[EventNumbers]:
        result = operator.advance(watermark, flush=flush)
        late.extend(result.late["index"].to_pylist())
        return _contents(bound, result.reports)

    for number, group in enumerate(run.groups()):
        rows = _rows(group, run)
        late += operator.insert(rows, np.arange(rows.num_rows))["index"].to_pylist()
        if number >= lag:
            reports += advance(watermarks[number - lag])
    reports += advance(watermarks[-1])
    flushed = advance(watermarks[-1], flush=True)
    return Seen(reports=tuple(reports), flushed=tuple(flushed), late=tuple(sorted(late)))


def windowed(rows: Any, run: ProbeRun, engine: str | None, *, flush: bool | None = None) -> WindowQuery:
    """The query of a run over rows with key, time and index."""
    if engine is not None and run.kind == "count":
        # Engines number events as they come, and none is late then; Sash by itself numbers them by time.
        events = stream(rows, time="time", key="key", order="arrival")
    else:
        events = stream(rows, time="time", key="key", delay=run.delay, allowed_lateness=run.lateness)
    query = events.window(window_of(run), flush=flush).agg(held=collect("index"))
    return query if engine is None else query.semantics(engine)


def window_of(run: ProbeRun) -> Window:
    """As a user declares it."""
    if run.kind == "session":
        return session(run.size)
    if run.kind == "count":
        return rows(run.size, every=run.slide)
    return sliding(run.size, every=run.slide)


def _rows(group: Sequence[int], run: ProbeRun) -> pa.Table:
    times = [run.times[index] for index in group]
    keys = [run.key(index) for index in group]
    columns = {"index": pa.array(group, pa.int64()), "time": pa.array(times, pa.int64())}
    return pa.table({**columns, "key": pa.array(keys, pa.string())})


def _contents(bound: BoundQuery, reports: Any) -> list[EventNumbers]:
    return [tuple(held) for held in bound.ordered(reports)["held"].to_pylist()]
