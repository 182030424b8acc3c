"""What a forked process finds."""

from __future__ import annotations

import os
from collections.abc import Callable


def in_child(work: Callable[[], object]) -> int:
    """Run `work` in a forked child; its exit status shows whether it raised."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
