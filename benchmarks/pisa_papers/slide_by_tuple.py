"""Figures 15 and 16 of the JPDC paper: windows of seconds that slide by tuples, agnostic workers only.

15   slide 4,000 tuples, W 1, 2 and 3 s          16   W 3 s, slide 4,000, 5,000 and 6,000 tuples

Results and T_calc of each; chunks of 5,000 quotes.
"""

from __future__ import annotations

from itertools import product

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter
from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.repeated import OF_THIS_RUN
from benchmarks.pisa_papers.trading import CHUNK, RATE, WINDOWS, Measured, by_tuple

LENGTHS, SLIDES = (1, 2, 3), (4_000, 5_000, 6_000)
WORKERS = (1, 2)


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    rate, windows = (2_000, 4) if quick else (RATE, WINDOWS)
    settings = [(length, SLIDES[0]) for length in LENGTHS] + [(LENGTHS[-1], slide) for slide in SLIDES[1:]]
    found: dict[tuple[int, int, int], Measured] = {}
    for (length, slide), workers in product(settings, WORKERS):
        progress.step(f"W {length} s, slide {slide:,}, {workers} workers")
        trading = by_tuple(length, slide * rate // RATE, windows=windows, rate=rate)
        found[length, slide, workers] = trading.by_chunks(CHUNK * rate // RATE, workers=workers)
    OF_THIS_RUN.add("figure 15", found[LENGTHS[0], SLIDES[0], 2], same_slide=False)
    panels = []
    for title, x, places in (
        ("figure 15, slide 4,000", "W, seconds", settings[: len(LENGTHS)]),
        ("figure 16, W 3 s", "slide, tuples", settings[len(LENGTHS) - 1 :]),
    ):
        outputs, calcs = ([Series(f"{n} worker{'s' * (n > 1)}") for n in WORKERS] for _ in "ab")
        for workers, output, calc in zip(WORKERS, outputs, calcs, strict=True):
            for place in places:
                measured, at = found[*place, workers], f"{place[places[0][0] == places[-1][0]]:,}"
                output.add(at, 100 * measured.output * place[1] / RATE)
                calc.add(at, 1e3 * measured.calc)
        panels += [
            Panel(f"{title}: {what}", x, y, lines, powers_of_two=False, logarithmic=False)
            for what, y, lines in (("results", "% of the wanted", outputs), ("T_calc", "ms", calcs))
        ]
    return Chart(
        "jpdc-3-by-tuple", "Curves fitted to windows that slide by tuples", panels,
        {"windows": windows, "rate": rate}, _table(found),
    )  # fmt: skip


def _table(found: dict[tuple[int, int, int], Measured]) -> PaperTable:
    table = PaperTable("jpdc-3", "slide by tuple, figures 15 and 16")
    for length, workers in zip(LENGTHS, ("50 with 5", "50 with 14", "half of 50 with 21"), strict=True):
        one, two = (found[length, SLIDES[0], n] for n in WORKERS)
        table.add(
            f"W {length} s, slide 4,000: results a second", paper=workers,
            here=f"{two.output:.1f} with 2, T_calc {1e3 * two.calc:,.0f} ms; "
            f"1 → 2 {two.output / one.output:.2f} ×",
            why="two cores; another fit, in worker processes",
        )  # fmt: skip
    shares = [found[LENGTHS[-1], slide, 2].output * slide / RATE for slide in SLIDES]
    table.add(
        "W 3 s, slide 4,000, 5,000, 6,000: part of the wanted results",
        paper="larger slides, fewer workers", here=", ".join(f"{100 * share:.1f} %" for share in shares),
        why="a fit costs the same, and is wanted less often",
    )  # fmt: skip
    OF_THIS_RUN.check(table)
    return table
