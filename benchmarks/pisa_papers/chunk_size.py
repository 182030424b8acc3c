"""Chunk size of the agnostic model: how many events the owner of the buffer appends at a time.

Small chunks cost the owner and the descriptors more steps. Large ones keep workers waiting for the first
window to be complete, and keep events longer than their windows need.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import partial

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import race
from benchmarks.patterns import fits, sums
from sash.operators.bound import BoundQuery, BoundWhole
from sash.operators.bounded import answer
from sash.operators.columns.layout import Layout
from sash.operators.folding.values import Values
from sash.operators.patterns.agnostic import handed_out
from sash.operators.patterns.folding import Folding
from sash.operators.patterns.process_workers import ProcessWorkers
from sash.operators.patterns.share import WindowShare
from sash.operators.patterns.worker_pool import ThreadWorkers, WorkerPool
from sash.operators.windows.ranges import Ranges
from sash.semantics.window import Window

WORKERS = 2


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    events = {"fits": 2_000 if quick else 40_000, "sums": 20_000 if quick else 1_000_000}
    rounds = 1 if quick else 4
    panels = [
        _panel("fit of each window: processes", fits(events["fits"]), range(8, 16), rounds),
        _panel("sum and deviation: threads", sums(events["sums"]), range(10, 20), rounds),
    ]
    return Chart(
        "patterns-2-chunks", f"Agnostic workers, {WORKERS} of them, by chunk size", panels,
        {"events": events, "workers": WORKERS},
    )  # fmt: skip


def _panel(title: str, query: sash.WindowQuery, exponents: range, rounds: int) -> Panel:
    rows = query.source.rows(query.bound.columns)
    runs = {
        exponent: partial(answer, query.bound, rows, evaluate=partial(in_chunks, 2**exponent, WORKERS))
        for exponent in exponents
    }
    seconds = race({str(exponent): run for exponent, run in runs.items()}, rounds=rounds)
    line = Series("window farm, agnostic")
    for exponent, spent in seconds.items():
        line.add(2 ** int(exponent), 1e3 * spent)
    return Panel(title, "events in a chunk", "milliseconds", [line], logarithmic=False)


def in_chunks(
    chunk: int, workers: int, bound: BoundQuery, window: Window, layout: Layout, ranges: Ranges
) -> Values:
    """Agnostic workers over a buffer of chunks of that many events."""
    share = WindowShare.whole(bound, window, layout, ranges)
    with _home(share, workers) as home:
        return handed_out(share, home, workers=workers, chunk=chunk)


def _home(share: WindowShare, workers: int) -> AbstractContextManager[WorkerPool]:
    bound, rows = share.bound, share.layout.rows
    if isinstance(bound, BoundWhole):
        return ProcessWorkers.of(bound.computation, rows.schema, workers=workers)
    return nullcontext(ThreadWorkers(Folding.of(bound, rows, share.ranges), rows.schema))
