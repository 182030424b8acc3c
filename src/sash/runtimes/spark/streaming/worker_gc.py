"""Manners of a Python worker that runs many small tasks.

Spark collects garbage in a worker after every task. With kernels, columns and windows imported that walks
over some 200,000 objects which are never garbage: 40 to 80 ms on each core for a micro-batch of any size.
`gc.freeze` takes them out of the walk.
"""

from __future__ import annotations

import gc
import sys

FIRST_TASKS = 4
"""A kernel is loaded when it is first called, which may be a few tasks after its module."""

_modules = 0
_unsettled = 0


def freeze_gc() -> None:
    """Exempt what was imported from the collector: it will stay. Called at the beginning of a task."""
    global _modules, _unsettled
    if len(sys.modules) != _modules:
        _modules, _unsettled = len(sys.modules), FIRST_TASKS
    if _unsettled:
        _unsettled -= 1
        gc.freeze()
