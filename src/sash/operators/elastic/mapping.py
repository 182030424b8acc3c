"""f_μ: the instance that computes each share of the keys, as an array from share to instance.

State belongs to shares and stays where it is, so that a new mapping moves nothing. Shares still keep their
instance where they can, because what an instance has touched lately is in its core's cache.

>>> balanced(6, [0, 1, 2]).tolist()
[0, 0, 1, 1, 2, 2]
>>> balanced(6, [0, 3], before=np.array([0, 0, 1, 1, 2, 2])).tolist()
[0, 0, 0, 3, 3, 3]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from sash.arrays import Ints
from sash.errors import ArgumentError


class Assignment(Protocol):
    """f_μ as a function: the instance of every share, when these instances are there."""

    def __call__(self, shares: int, instances: Sequence[int], *, before: Ints | None = ...) -> Ints: ...


def balanced(shares: int, instances: Sequence[int], *, before: Ints | None = None) -> Ints:
    """Every instance gets ⌊shares / n⌋ or one more; a share moves only where it must."""
    mapping = np.full(shares, -1)
    quota = {each: shares // len(instances) for each in instances}
    for each in instances[: shares % len(instances)]:
        quota[each] += 1
    if before is not None:
        for each in instances:
            kept = np.flatnonzero(before == each)[: quota[each]]
            mapping[kept] = each
            quota[each] -= len(kept)
    mapping[mapping < 0] = np.repeat(list(instances), [quota[each] for each in instances])
    return mapping


def checked(mapping: Sequence[int] | Ints, *, shares: int, instances: Sequence[int]) -> Ints:
    """A mapping that the caller gave: one of the instances for every share."""
    given = np.asarray(mapping)
    if given.shape != (shares,) or given.dtype.kind not in "iu":
        raise ArgumentError("mapping", given, f"{shares} numbers of instances, one for each share")
    strange = np.setdiff1d(given, list(instances))
    if len(strange):
        raise ArgumentError("mapping", int(strange[0]), f"one of the instances {list(instances)}")
    return given.astype(np.int64)
