"""Sash itself, in process: the streaming window operator, fed one batch after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from sash._version import __version__
from sash.aggregation.monoids import collect
from sash.api.stream import stream
from sash.engines.probe_run import Content, ProbeRun, Seen
from sash.operators.bound import BoundQuery
from sash.operators.engine import WindowOperator
from sash.semantics.watermark import Watermark
from sash.semantics.window import Window
from sash.semantics.windows import rows, session, sliding


class Sash:
    """Windows in event-time order, reported when they close."""

    name = "sash"
    version = __version__
    kinds = frozenset({"time", "count", "session"})

    def answer(self, runs: Sequence[ProbeRun]) -> list[Seen]:
        return [_one(run) for run in runs]

    def close(self) -> None:
        """Nothing is kept."""


def _one(run: ProbeRun) -> Seen:
    bound = _bound(run)
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


def _bound(run: ProbeRun) -> BoundQuery:
    events = stream(_rows([], run), time="time", delay=run.delay)
    return events.window(_window(run), flush=False).agg(held=collect("index")).bound


def _window(run: ProbeRun) -> Window:
    if run.kind == "session":
        return session(run.size)
    if run.kind == "count":
        return rows(run.size, every=run.slide)
    return sliding(run.size, every=run.slide)


def _rows(group: Sequence[int], run: ProbeRun) -> pa.Table:
    times = [run.times[index] for index in group]
    return pa.table({"index": pa.array(group, pa.int64()), "time": pa.array(times, pa.int64())})


def _contents(bound: BoundQuery, reports: Any) -> list[Content]:
    return [tuple(held) for held in bound.ordered(reports)["held"].to_pylist()]
