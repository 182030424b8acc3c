"""Freed columns are used again, not given back to the system.

glibc takes a large block straight from the system and gives it back when it is freed: the next column pays
for its memory again, page by page, which can cost more than what is computed in it. What counts as large
is learned from the largest block that was ever freed, up to 32 MB (mallopt(3), M_MMAP_THRESHOLD). So one
block of that size is allocated and freed, untouched. Other allocators take no notice.
"""

from __future__ import annotations

from functools import cache

import numpy as np

LEARNED = 2**25 - 2**16
"""Bytes, just below the largest block that is learned from."""


@cache
def keep_freed_memory() -> None:
    """Once for a process."""
    np.empty(LEARNED, np.uint8)
