"""Chunk size of the agnostic model: how many events the owner of the buffer appends at a time.

Small chunks cost the owner and the descriptors more steps. Large ones keep workers waiting for the first
window to be complete, and keep events longer than their windows need.
"""

from __future__ import annotations

from functools import partial

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.harness import race
from benchmarks.patterns import fits, in_chunks, sums
from sash.operators.bounded_input import answer

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
