"""Experiment 4: what stays in memory when the elements of the window are in a key-value store.

Measured: anonymous memory (RssAnon) that a process holds once its window is full and has slid on, beyond
what it had with everything imported and compiled. A process for each point, because freed memory is not
always given back. LMDB's file is mapped; its pages belong to the system's cache and are not counted.

Counted: elements and folds in the operator's own memory. DABA holds all; the AMTA's local part is its tails
and its stack, everything else lies behind `Nodes`; over LMDB also the newest page of each level, which is
not full yet, and the one read last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from benchmarks.amta_paper import memory_probe
from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter, readings
from benchmarks.paper_table import PaperTable
from sash.aggregation import built_in
from sash.aggregation.algorithms import AmortizedForest

ROOT = Path(__file__).parents[2]


FULL, QUICK = range(16, 26, 3), range(12, 13)
"""Exponents of the window sizes."""

LABELS = {
    "naive": "recalculate",
    "daba": "DABA lite",
    "log": "Log MTA",
    "amta": "AMTA",
    "log over lmdb": "Log MTA over LMDB",
    "lmdb": "AMTA over LMDB",
}
STYLES = {"log over lmdb": "other"}
PAPER = {
    "naive": "16 GB", "daba": "32 GB", "log": "32 GB", "amta": "32 GB",
    "log over lmdb": "512 MB", "lmdb": "512 MB",
}  # fmt: skip
"""The smallest heap of those tried in which a window of 2²⁵ elements was filled."""


HELD_AS = {
    "naive": "in Python's lists of elements and of times",
    "log over lmdb": "but for pages of the file", "lmdb": "but for pages of the file",
}  # fmt: skip


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    exponents = QUICK if quick else FULL
    held = {kind: Series(label, style=STYLES.get(kind, "")) for kind, label in LABELS.items()}
    everything = Series("DABA lite: all")
    local = Series("AMTA: tails, stack", style="AMTA")
    resident = Series("AMTA over LMDB")
    for exponent in exponents:
        n = 1 << exponent
        for kind, series in held.items():
            progress.step(f"filling {series.label}, window 2^{exponent}")
            found = probed(kind, exponent)
            # A process that holds less than the noise of its allocator is shown at one page.
            series.add(n, max(found["bytes"], 4096) / (1 << 20))
            if kind == "lmdb":
                resident.add(n, found["nodes"] + local_part(n))
        everything.add(n, n)
        local.add(n, local_part(n))
    raw = Series("8 bytes × n", dashed=True, style="reference")
    for exponent in exponents:
        raw.add(1 << exponent, 8 * (1 << exponent) / (1 << 20))
    window = "window size [elements]"
    return Chart(
        "4-memory",
        "Memory of one window of int64 sums by window size",
        [
            Panel("memory held, measured", window, "megabytes (RssAnon)", [*held.values(), raw]),
            Panel(
                "local part, counted", window, "elements and folds in memory", [everything, local, resident]
            ),
        ],
        {"batch": memory_probe.BATCH},
        _table(held, exponents[-1]),
    )


def _table(held: dict[str, Series], exponent: int) -> PaperTable:
    table = PaperTable("amta-4", f"memory of a window of 2^{exponent}, experiment 4")
    for kind, series in held.items():
        table.add(
            series.label, paper=f"{PAPER[kind]} of heap for 2²⁵", here=f"{series.ys[-1]:,.1f} MB",
            why=f"what the window holds, {HELD_AS.get(kind, 'in arrays')}; "
            "the paper tries sizes of Java's heap",
        )  # fmt: skip
    return table


def probed(kind: str, exponent: int) -> dict[str, int]:
    command = [sys.executable, "-m", memory_probe.__name__, kind, str(exponent)]
    # Huge pages would round what is held up to the next 2 MB.
    small_pages = {**os.environ, "NUMPY_MADVISE_HUGEPAGE": "0"}
    output = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=small_pages, cwd=ROOT
    ).stdout
    found: dict[str, int] = json.loads(output)
    return found


def local_part(n: int) -> int:
    """The most folds that an AMTA over n elements holds outside its nodes while it slides."""
    window = AmortizedForest(built_in.max("x").bind(("int",)), pairwise=np.maximum)
    window.insert_elements(readings(n))
    most = 0
    for value in readings(64, seed=2).tolist():
        window.insert(value)
        window.evict()
        most = max(most, len(window._tails) + len(window._stack))
    return most
