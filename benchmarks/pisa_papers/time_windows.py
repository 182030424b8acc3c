"""Figures 11 and 14 of the JPDC paper: time windows, active and agnostic workers, and input rates.

11   200,000 quotes a second; W 5 s every 50 ms, W 1 s every 10 ms: results a second, T_calc
14   W 1 s every 25 ms: the input rate that is sustained (40 results a second are reached), T_calc

Quotes are not paced: a table of them is evaluated, and what exceeds 100 % of the wanted results is capacity
to spare.

Chunks of the agnostic buffer have 5,000 quotes, as in the paper.
"""

from __future__ import annotations

from itertools import product

import sash
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.repeated import OF_THIS_RUN
from benchmarks.pisa_papers.trading import CHUNK, RATE, WINDOWS, Measured, by_time

MODELS = ("active", "agnostic")
WORKERS = (1, 2)
SETTINGS = {"W 5 s, S 50 ms": (5.0, 0.05), "W 1 s, S 10 ms": (1.0, 0.01)}
RATES = (12_500, 25_000, 50_000, 100_000, 200_000, 400_000, 600_000)
LENGTH, SLIDE = 1.0, 0.025
FITS = (
    "a parabola, which is linear in its parameters: SciPy's `lm` ends after 8 passes of NumPy over a "
    "window; the paper has lmfit in C++, and does not name the degree"
)

Found = dict[tuple[str, str, int], Measured]
"""By setting, model and number of workers."""


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    rate, windows = (2_000, 4) if quick else (RATE, WINDOWS)
    found: Found = {}
    for (setting, (length, slide)), model, workers in product(SETTINGS.items(), MODELS, WORKERS):
        progress.step(f"{setting}, {workers} {model} workers")
        trading = by_time(length, slide, windows=windows, rate=rate)
        found[setting, model, workers] = (
            trading.by_chunks(CHUNK * rate // RATE, workers=workers)
            if model == "agnostic"
            else trading.by(sash.WinFarm(workers, model=model))
        )
    OF_THIS_RUN.add("figure 11", found["W 1 s, S 10 ms", "agnostic", 2], same_slide=True)
    sustained, calcs = (
        {workers: Series(f"{workers} agnostic", style=str(workers)) for workers in WORKERS} for _ in "ab"
    )
    for each, workers in product(RATES[:2] if quick else RATES, WORKERS):
        progress.step(f"{each:,} quotes a second, {workers} workers")
        trading = by_time(LENGTH, SLIDE, windows=windows, rate=each)
        measured = trading.by_chunks(CHUNK, workers=workers)
        sustained[workers].add(each, 100 * measured.output * SLIDE)
        calcs[workers].add(each, 1e3 * measured.calc)
        if (each, workers) == (RATE, 2):
            OF_THIS_RUN.add("figure 14", measured, same_slide=False)
    panels = [
        _panel(
            "figure 11: results",
            "results a second",
            {place: each.output for place, each in found.items()},
        ),
        _panel("figure 11: T_calc", "seconds", {place: each.calc for place, each in found.items()}),
        Panel("figure 14: results", "quotes a second", "% of the wanted, not paced", [*sustained.values()]),
        Panel("figure 14: T_calc", "quotes a second", "ms", [*calcs.values()]),
    ]
    return Chart(
        "jpdc-1-time-windows", "Curves fitted to time windows of quotes", panels,
        {"windows": windows, "rate": rate}, _table(found, sustained, calcs),
    )  # fmt: skip


def _panel(title: str, y: str, values: dict[tuple[str, str, int], float]) -> Panel:
    lines = {(setting, model): Series(f"{setting[:5]}, {model}") for setting, model, _ in values}
    for (setting, model, workers), value in values.items():
        lines[setting, model].add(str(workers), value)
    return Panel(title, "workers", y, [*lines.values()], powers_of_two=False, logarithmic=False)


def _table(found: Found, sustained: dict[int, Series], calcs: dict[int, Series]) -> PaperTable:
    table = PaperTable("jpdc-1", "time windows, figures 11 and 14")
    for (setting, (_, slide)), needed in zip(SETTINGS.items(), (17, 14), strict=True):
        active, agnostic = (found[setting, model, 2] for model in MODELS)
        longer = {
            n: 100 * (found[setting, "agnostic", n].calc / found[setting, "active", n].calc - 1)
            for n in (1, 2)
        }
        table.add(
            f"{setting}: results a second", paper=f"{1 / slide:.0f} with {needed} workers",
            here=f"{active.output:.1f} active, {agnostic.output:.1f} agnostic, 2 workers",
            why="two cores, another fit (below)",
        )  # fmt: skip
        table.add(
            f"{setting}: agnostic T_calc against active", paper="+3.65 % on average",
            here=f"{longer[2]:+.0f} % ({1e3 * active.calc:,.0f} ms active)",
            why=f"with 1 worker {longer[1]:+.0f} %: the fit copies the chunks of its window together; "
            "with 2, the owner, who copies too, needs one of their two cores",
        )  # fmt: skip
        slopes = [found[setting, m, 2].output / found[setting, m, 1].output for m in MODELS]
        table.add(
            f"{setting}: 1 → 2 workers", paper="not in the text", why="needs both cores free",
            here=f"{slopes[0]:.2f} × active, {slopes[1]:.2f} × agnostic",
        )  # fmt: skip
    one, two = (sustained[workers] for workers in WORKERS)
    table.add(
        "wanted results reached, 1 → 2 agnostic, by quotes a second",
        paper="100 % of 600,000 with 21 workers",
        here="; ".join(
            f"{rate:,}: {alone:,.0f} → {both:,.0f} %"
            for rate, alone, both in zip(one.xs, one.ys, two.ys, strict=True)
            if rate >= RATE or rate == one.xs[-1]
        ),
        why="quotes are not paced: more than 100 % is capacity to spare; the slope is that of the cores",
    )  # fmt: skip
    table.add(
        f"T_calc of W 1 s, {RATE:,} quotes", paper="roughly 140 ms: 14 workers for 100 results a second",
        here=f"{1e3 * found['W 1 s, S 10 ms', 'active', 1].calc:,.0f} ms with 1 active worker", why=FITS,
    )  # fmt: skip
    for workers, series in sustained.items():
        reached = [x for x, y in zip(series.xs, series.ys, strict=True) if y >= 100]
        lowest = f"less than {min(series.xs):,}, where {series.ys[0]:.0f} % are reached"
        table.add(
            f"sustained with {workers} agnostic", paper="600,000 quotes a second with 21 workers",
            here=f"{max(reached):,}" if reached else lowest, why="of the rates that were tried",
        )  # fmt: skip
        times = calcs[workers]
        table.add(
            f"T_calc with {workers} agnostic, at {times.xs[-1]:,} quotes a second",
            paper="about 600 ms with 21 workers at 600,000", here=f"{times.ys[-1]:,.0f} ms",
            why="another fit; whether it keeps up or not",
        )  # fmt: skip
    OF_THIS_RUN.check(table)
    return table
