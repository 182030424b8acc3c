"""Monoids that the kernel tests share: one field and several, commuting and not, ints, floats and bools.

They are written as a user would write them. `AFFINE` composes maps x ↦ a·x + b: it does not commute, so
that its folds reveal every re-ordering and every element that is missing or counted twice.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.kernels.compiler.numba_compilation import jit_disabled
from sash.aggregation.monoid import Monoid

PRIME = 1_000_003
MACHINE_CODE = not jit_disabled()
"""False when the whole file runs interpreted (NUMBA_DISABLE_JIT=1): results must not change."""


def same(x: Any) -> Any:
    return x


def zero() -> int:
    return 0


def add(a: int, b: int) -> int:
    return a + b


def subtract(total: int, oldest: int) -> int:
    return total - oldest


TOTAL = Monoid("total", ("x",), zero, same, add, same, inverse=subtract, commutative=True)


def no_map() -> tuple[int, int]:
    return 1, 0


def map_of(x: int) -> tuple[int, int]:
    return x % 7 + 1, x % PRIME


def after(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
    return a[0] * b[0] % PRIME, (a[1] * b[0] + b[1]) % PRIME


def at_zero(a: tuple[int, int]) -> int:
    return a[1]


AFFINE = Monoid("affine", ("x",), no_map, map_of, after, at_zero)


def nobody() -> tuple[bool, float, int]:
    return False, 0.0, 0


def candidate(score: float, name: int) -> tuple[bool, float, int]:
    return True, score, name


def better(a: tuple[bool, float, int], b: tuple[bool, float, int]) -> tuple[bool, float, int]:
    if not b[0] or (a[0] and a[1] >= b[1]):
        return a
    return b


def winner(a: tuple[bool, float, int]) -> int:
    return a[2]


BEST = Monoid("best", ("score", "name"), nobody, candidate, better, winner)


def element(fast: Compiled, columns: tuple[np.ndarray, ...], i: int) -> Any:
    """Element i as plain Python scalars."""
    values = tuple(column.item(i) for column in columns)
    return values[0] if fast.shape.scalar else values


def elements(fast: Compiled, columns: tuple[np.ndarray, ...]) -> list[Any]:
    return [element(fast, columns, i) for i in range(len(columns[0]))]


def recomputed(monoid: Monoid, parts: list[Any]) -> Any:
    """The oracle: combine from left to right."""
    return reduce(monoid.combine, parts, monoid.identity())


def lifted(monoid: Monoid, *inputs: Any) -> tuple[Compiled, tuple[np.ndarray, ...]]:
    """The compiled monoid and its elements over these inputs."""
    fast = compiled(monoid)
    return fast, fast.lift([np.asarray(column) for column in inputs])
