"""Sash itself, in process: the streaming window operator, fed one batch after the other; as itself, or as
another engine (`.semantics`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash._version import __version__
from sash.aggregation.built_in import collect
from sash.api.stream import stream
from sash.api.window_query import WindowQuery
from sash.engines.probe_run import Content, ProbeRun, Seen
from sash.operators.bound import BoundQuery
from sash.operators.engine import WindowOperator
from sash.semantics.watermark import Watermark
from sash.semantics.window import Window
from sash.semantics.windows import rows, session, sliding


class Sash:
    """Windows in event-time order, reported when they close, or as `engine` reports them."""

    name = "sash"
    version = __version__
    kinds = frozenset({"time", "count", "session"})

    def __init__(self, engine: str | None = None) -> None:
        self._engine = engine

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        return [_one(run, self._engine) for run in runs]

    def close(self) -> None:
        """Nothing is kept."""


def _one(run: ProbeRun, engine: str | None) -> Seen:
    bound = windowed(_rows([], run), run, engine, flush=False).bound
    operator, clock = WindowOperator.load(bound, None, {}), Watermark(delay=run.delay)
    reports: list[Content] = []
    late: list[int] = []
    now = 0
    for group in run.groups():
        rows = _rows(group, run)
        late += operator.insert(rows, np.arange(rows.num_rows))["index"].to_pylist()
        clock.observe(run.times[index] for index in group)
        now = clock.value if clock.value is not None else now
        result = operator.advance(now)
        reports += _contents(bound, result.reports)
        late += result.late["index"].to_pylist()
    flushed = _contents(bound, operator.advance(now, flush=True).reports)
    return Seen(reports=tuple(reports), flushed=tuple(flushed), late=tuple(sorted(late)))


def windowed(rows: Any, run: ProbeRun, engine: str | None, *, flush: bool | None = None) -> WindowQuery:
    """The query of a run over rows with key, time and index."""
    windows = stream(rows, time="time", key="key", delay=run.delay).window(_window(run), flush=flush)
    query = windows.agg(held=collect("index"))
    return query if engine is None else query.semantics(engine)


def _window(run: ProbeRun) -> Window:
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


def _contents(bound: BoundQuery, reports: Any) -> list[Content]:
    return [tuple(held) for held in bound.ordered(reports)["held"].to_pylist()]
