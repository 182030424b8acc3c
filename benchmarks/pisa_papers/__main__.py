"""`python -m benchmarks.pisa_papers`: run the experiments, write a figure and its numbers for each."""

from __future__ import annotations

import sys

from benchmarks.amta_paper.__main__ import run
from benchmarks.pisa_papers import (
    buffer_chunks,
    by_pattern,
    chunk_size,
    slide_by_tuple,
    time_windows,
    windflow_skyline,
    windflow_ysb,
    workers,
)

EXPERIMENTS = (
    workers, chunk_size, by_pattern,
    time_windows, buffer_chunks, slide_by_tuple,
    windflow_skyline, windflow_ysb,
)  # fmt: skip

if __name__ == "__main__":
    about = "Parallel patterns, and the figures of the JPDC and WindFlow papers."
    sys.exit(run(EXPERIMENTS, None, description=about, page="patterns.md"))
