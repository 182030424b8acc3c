"""Machine code found on disk, loaded without what only a compilation needs.

Machine code of two processes can meet in a third. Numba names the functions that a kernel calls (the sort
behind `np.argsort`, say) by a number that counts from 1 in every process, and links the first function of a
name that it has loaded. So the count begins at a random number here: before, two kernels that were compiled
in different processes could call each other's sort.

Before Numba looks into its cache it loads all that it can compile: half of the time of a first query, most
of it SciPy, where that is installed. Loading machine code needs none of it, only the symbols that the code
refers to.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import count
from typing import Any

import numba
import numba.cpython.hashing
from numba.core.bytecode import FunctionIdentity
from numba.core.caching import FunctionCache
from numba.core.runtime import rtsys

FunctionIdentity._unique_ids = count(1 + secrets.randbits(52))


class QuickCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of a function: the same files, under the same keys."""

    def load_overload(self, signature: Any, target: Any) -> Any:
        rtsys.initialize(target)
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(signature, target)
            if found is not None:
                return found
        return super().load_overload(signature, target)


def kept_on_disk(**options: bool) -> Callable[[Callable[..., Any]], Any]:
    """`njit(cache=True)` with a quick way to the cache."""

    def decorate(function: Callable[..., Any]) -> Any:
        dispatcher = numba.njit(**options)(function)
        if dispatcher is not function:  # as it is with NUMBA_DISABLE_JIT
            dispatcher._cache = QuickCache(function)
        return dispatcher

    return decorate
