"""`python -m benchmarks.pisa_papers`: run the experiments, write a figure and its numbers for each."""

from __future__ import annotations

import sys

from benchmarks.amta_paper.__main__ import run
from benchmarks.pisa_papers import by_pattern, chunk_size, workers

EXPERIMENTS = (workers, chunk_size, by_pattern)

if __name__ == "__main__":
    sys.exit(run(EXPERIMENTS, None, description="Parallel patterns: workers, chunks, patterns."))
