"""How much memory a Python worker may keep from one batch to the next: SASH_WORKER_MEMORY.

What can grow with the state is bounded by bytes: operators that hold it without files, such as joins
(`OperatorCache` in `operators_in_state.py`).
All else has a bound by number, and entries whose size does not depend on the data: stages of queries (16),
stores that are open (those of 4 queries, which share files and connections). Only machine code has none:
Numba never unloads it, and a worker holds all kernels that it has run (see `module_cache.py`).
"""

from __future__ import annotations

import os
import re
from functools import cache

from sash.errors import ArgumentError

SETTING, DEFAULT = "SASH_WORKER_MEMORY", "1g"
_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)


def memory_of_workers() -> int:
    """Bytes, as the environment has them."""
    return _parsed(os.environ.get(SETTING) or DEFAULT)


@cache
def _parsed(text: str) -> int:
    """In the words of Spark's own settings of memory.

    >>> _parsed("512m"), _parsed("2 GB"), _parsed("1000")
    (536870912, 2147483648, 1000)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise ArgumentError(SETTING, text, "a number of bytes such as '512m' or '2g'")
    return int(found[1]) << 10 * " kmgt".index(found[2].lower() or " ")
