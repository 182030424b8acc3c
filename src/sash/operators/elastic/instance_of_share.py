"""f_μ: the instance that computes each share of the keys, as an array from share to instance.

State belongs to shares and stays where it is, so that a new mapping moves nothing. Shares still keep their
instance where they can, because what an instance has touched lately is in its core's cache, or in the
memory of its worker. Where it is known what shares cost, instances get equal loads, not equal numbers.

>>> balanced(6, [0, 1, 2]).tolist()
[0, 0, 1, 1, 2, 2]
>>> balanced(6, [0, 3], before=np.array([0, 0, 1, 1, 2, 2])).tolist()
[0, 0, 0, 3, 3, 3]
>>> balanced(6, [0, 1], before=np.array([0, 0, 0, 1, 1, 1]), load=[8, 2, 2, 1, 1, 1]).tolist()
[0, 1, 1, 1, 1, 1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from sash.arrays import Floats, Ints
from sash.errors import ArgumentError

TOLERANCE = 0.1
"""Instances whose load is at most this part above the mean are left alone: to move a share has a price."""


class Assignment(Protocol):
    """f_μ as a function: the instance of every share, when these instances are there. `load` is what the
    shares have cost lately, in any unit."""

    def __call__(
        self,
        shares: int,
        instances: Sequence[int],
        *,
        before: Ints | None = ...,
        load: ArrayLike | None = ...,
    ) -> Ints: ...


def balanced(
    shares: int, instances: Sequence[int], *,
    before: Ints | None = None, load: ArrayLike | None = None, tolerance: float = TOLERANCE,
) -> Ints:  # fmt: skip
    """Every instance gets ⌊shares / n⌋ or one more; with `load`, about the same load. A share moves only
    where it must."""
    cost = np.zeros(shares) if load is None else np.asarray(load, np.float64)
    if before is None or not cost.any():
        mapping = _even(shares, instances, before)
        return _evened(mapping, instances, cost, tolerance) if cost.any() else mapping
    mapping = np.where(np.isin(before, list(instances)), before, -1)
    carried = {each: float(cost[mapping == each].sum()) for each in instances}
    for share in sorted(np.flatnonzero(mapping < 0).tolist(), key=lambda share: -float(cost[share])):
        lightest = min(carried, key=carried.__getitem__)
        mapping[share] = lightest
        carried[lightest] += float(cost[share])
    return _evened(mapping, instances, cost, tolerance)


def _even(shares: int, instances: Sequence[int], before: Ints | None) -> Ints:
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


def _evened(mapping: Ints, instances: Sequence[int], cost: Floats, tolerance: float) -> Ints:
    """Moves shares from the heaviest instance to the lightest, as long as that lowers the greatest load
    enough: each time the share that brings the two closest together."""
    mapping = mapping.copy()
    loads = {each: float(cost[mapping == each].sum()) for each in instances}
    enough = (1 + tolerance) * sum(loads.values()) / len(instances)
    while True:
        heaviest, lightest = max(loads, key=loads.__getitem__), min(loads, key=loads.__getitem__)
        gap = loads[heaviest] - loads[lightest]
        mine = np.flatnonzero((mapping == heaviest) & (cost > 0) & (cost < gap))
        if loads[heaviest] <= enough or not len(mine):
            return mapping
        share = mine[np.argmin(np.abs(cost[mine] - gap / 2))]
        mapping[share] = lightest
        loads[heaviest] -= float(cost[share])
        loads[lightest] += float(cost[share])


def checked(mapping: Sequence[int] | Ints, *, shares: int, instances: Sequence[int]) -> Ints:
    """A mapping that the caller gave: one of the instances for every share."""
    given = np.asarray(mapping)
    if given.shape != (shares,) or given.dtype.kind not in "iu":
        raise ArgumentError("mapping", given, f"{shares} numbers of instances, one for each share")
    strange = np.setdiff1d(given, list(instances))
    if len(strange):
        raise ArgumentError("mapping", int(strange[0]), f"one of the instances {list(instances)}")
    return given.astype(np.int64)
