"""Rings: the elements of every key, in regions of one shared table, addressed by their ordinals.

    element i of a key  =  row  base + (i mod 2ᶜ)        of the table, head ≤ i < count ≤ head + 2ᶜ
    node (j, n)         =  the fold of the elements  n · 8 · 2ʲ ≤ i < (n + 1) · 8 · 2ʲ

An ordinal counts the elements of a key from its first one and never changes, so nothing moves when elements
come or go: eviction raises `head`, and only a region that has become too small is copied, to one of twice
the size. Regions are powers of two; free ones wait in a list for each size. The nodes of a region of 2ᶜ
elements take a quarter as many rows of a second table, at base / 4. A bounded input is the same with one
region for each key that is exactly full: `EVERYTHING` as its mask.

A lane is four words of a key's row: where its region is, how large, and which ordinals it holds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.compiler.machine import Kernel, build

Ints = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.float64]

BASE, LOG, HEAD, COUNT = range(4)
"""The words of a lane; LOG is −1 while a key has no region."""
LANE = 4
LEAF_BITS = 3
LEAF = 1 << LEAF_BITS
"""How many elements a node of the lowest level holds."""
SMALLEST = 2
"""The logarithm of the smallest region; its nodes fit because 2² is a quarter of nothing."""
CLASSES = 48
TOP = CLASSES
"""In the words of a lane's free lists: the first row that was never used."""
FREE_LISTS = CLASSES + 1
EVERYTHING = np.int64(-1)


def rows_needed(slots: Ints, lane: int, which: Ints, added: Ints) -> int:
    """An upper bound of the rows that new regions take, when keys get this many more elements."""
    needed = np.int64(0)
    for index in range(len(which)):
        slot = which[index]
        held = slots[slot, lane + COUNT] - slots[slot, lane + HEAD] + added[index]
        log = slots[slot, lane + LOG]
        if held > 0 and (log < 0 or held > np.int64(1) << log):
            needed += np.int64(1) << _fitting(held)
    return int(needed)


def make_room(
    slots: Ints, lane: int, which: Ints, added: Ints, elements: Ints, nodes: Ints, free: Ints
) -> None:
    """Give each key a region that `added` more elements fit in."""
    for index in range(len(which)):
        slot = which[index]
        held = slots[slot, lane + COUNT] - slots[slot, lane + HEAD] + added[index]
        log = slots[slot, lane + LOG]
        if held > 0 and (log < 0 or held > np.int64(1) << log):
            _move(slots, lane, slot, _fitting(held), elements, nodes, free)


def rows_of_smaller(slots: Ints, lane: int, which: Ints, heads: Ints) -> int:
    """An upper bound of the rows that `let_go` takes for smaller regions."""
    needed = np.int64(0)
    for index in range(len(which)):
        slot = which[index]
        log, count = slots[slot, lane + LOG], slots[slot, lane + COUNT]
        held = count - max(heads[index], slots[slot, lane + HEAD])
        if _is_too_large(log, held):
            needed += np.int64(1) << _fitting(2 * held)
    return int(needed)


def let_go(
    slots: Ints, lane: int, which: Ints, heads: Ints, elements: Ints, nodes: Ints, free: Ints
) -> None:
    """Raise the heads of keys; regions that have become far too large give way to smaller ones."""
    for index in range(len(which)):
        slot = which[index]
        if heads[index] > slots[slot, lane + HEAD]:
            slots[slot, lane + HEAD] = heads[index]
        log, held = slots[slot, lane + LOG], slots[slot, lane + COUNT] - slots[slot, lane + HEAD]
        if log < 0:
            continue
        if held == 0:
            _release(slots[slot, lane + BASE], log, elements, free)
            slots[slot, lane + LOG] = -1
        elif _is_too_large(log, held):
            _move(slots, lane, slot, _fitting(2 * held), elements, nodes, free)


def _is_too_large(log: int, held: int) -> bool:
    return bool(log > 5 and 0 < held <= (np.int64(1) << log) >> 3)


def _fitting(held: int) -> int:
    log = SMALLEST
    while np.int64(1) << log < held:
        log += 1
    return log


def _release(base: int, log: int, elements: Ints, free: Ints) -> None:
    elements[base, 0] = free[log]
    free[log] = base + 1


def _move(slots: Ints, lane: int, slot: int, log: int, elements: Ints, nodes: Ints, free: Ints) -> None:
    if free[log] > 0:
        base = free[log] - 1
        free[log] = elements[base, 0]
    else:
        base = free[TOP]
        free[TOP] = base + (np.int64(1) << log)
    old, old_log = slots[slot, lane + BASE], slots[slot, lane + LOG]
    if old_log >= 0:
        head, count = slots[slot, lane + HEAD], slots[slot, lane + COUNT]
        old_mask, mask = (np.int64(1) << old_log) - 1, (np.int64(1) << log) - 1
        for ordinal in range(head, count):
            source, target = old + (ordinal & old_mask), base + (ordinal & mask)
            for word in range(elements.shape[1]):
                elements[target, word] = elements[source, word]
        level = 0
        while LEAF << level <= count - head:
            size = LEAF << level
            for number in range((head + size - 1) // size, count // size):
                source, target = node(old, old_mask, level, number), node(base, mask, level, number)
                for word in range(nodes.shape[1]):
                    nodes[target, word] = nodes[source, word]
            level += 1
        _release(old, old_log, elements, free)
    slots[slot, lane + BASE] = base
    slots[slot, lane + LOG] = log


def node(base: Any, mask: Any, level: int, number: int) -> Any:
    """The row of a node: a level after the other, each half as long as the one below."""
    leaves = (mask + 1) >> LEAF_BITS
    return (base >> 2) + 2 * leaves - ((2 * leaves) >> level) + (number & ((leaves >> level) - 1))


def cut_rings(
    values: Numbers, base: Ints, mask: Ints, head: Ints, count: Ints,
    which: Ints, bounds: Numbers, after: bool, since: Ints, cuts: Ints,
) -> None:  # fmt: skip
    """For each bound: the first ordinal of key `which` whose value is not below it (`after`: above it). It
    is looked for from `since` on, if that is given: a search from far away touches many cold places."""
    for index in range(len(bounds)):
        key = which[index]
        lo, hi, bound = head[key], count[key], bounds[index]
        if len(since) > 0:
            lo = max(lo, since[index])
        if lo >= hi or _below(values[base[key] + ((hi - 1) & mask[key])], bound, after):
            cuts[index] = hi
            continue
        step = 1
        while lo + step < hi and _below(values[base[key] + ((lo + step - 1) & mask[key])], bound, after):
            lo += step
            step *= 2
        hi = min(hi, lo + step)
        while lo < hi:
            middle = (lo + hi) >> 1
            if _below(values[base[key] + (middle & mask[key])], bound, after):
                lo = middle + 1
            else:
                hi = middle
        cuts[index] = lo


def _below(value: float, bound: float, after: bool) -> bool:
    return value < bound or (after and value == bound)


@cache
def kernel(name: str) -> Kernel:
    """The compiled form of a function of this module."""
    return build(globals()[name])
