"""Progress of the experiments, printed while they run: all of them share one line."""

from __future__ import annotations

from benchmarks.amta_paper.measuring import ProgressPrinter

PROGRESS = ProgressPrinter()
