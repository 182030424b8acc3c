"""Benchmark programs: `python -m benchmarks` runs them all, `python -m benchmarks.<name>` runs one.

A program is a module of this package with a `main`, or a package of its own with a `__main__`. It takes
`--quick`, which means: run every line of it within seconds, and judge no time, for the sizes are too small
to mean anything. Without `--quick` it exits with 1 when a ratio that the project promises was not reached.

What is measured here changes no constants of the planner.
"""

import os

os.environ.setdefault("SASH_LEARN", "0")
