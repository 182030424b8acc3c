"""Rings: the elements of every key, in regions of one shared table, addressed by their ordinals.

    element i of a key  =  row  base + (i mod 2ᶜ)        of the table, head ≤ i < count ≤ head + 2ᶜ
    node (j, n)         =  the fold of the elements  n · 8 · 2ʲ ≤ i < (n + 1) · 8 · 2ʲ

An ordinal counts the elements of a key from its first one and never changes, so nothing moves when elements
come or go: eviction raises `head`, and only a region that has become too small is copied, to one of twice
the size. Regions are powers of two; free ones wait in a list for each size. The nodes of a region of 2ᶜ
elements take a quarter as many rows of a second table, at base / 4, and the middles of long ranges, which
are remembered, stand in a third one at base / 512. A bounded input is the same with one region for each key
that is exactly full: `EVERYTHING` as its mask.

A lane is four words of a key's row: where its region is, how large, and which ordinals it holds.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sash.aggregation.kernels.compiler.machine import Kernel, build
from sash.arrays import Ints, Numbers

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
ELEMENT, NODE, REMEMBERED, REMEMBER = range(4)
"""What a step of a fold is a row of; the last: remember in this row what was folded, and begin again."""
MIDDLE = 64
"""Remembered middles of ranges begin and end at multiples of this."""
REMEMBERING = 9
"""The logarithm of the smallest region that has them, a row for each window of the lane."""


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


def append(
    slots: Ints, lane: int, which: Ints, added: Ints, words: Ints, elements: Ints, nodes: Ints,
    middles: Ints, each: int, free: Ints,
) -> None:  # fmt: skip
    """The next added[k] elements are of key which[k], whose region becomes larger where they do not fit."""
    at = 0
    for index in range(len(which)):
        slot = which[index]
        count = slots[slot, lane + COUNT]
        held = count - slots[slot, lane + HEAD] + added[index]
        log = slots[slot, lane + LOG]
        if held > 0 and (log < 0 or held > np.int64(1) << log):
            _move(slots, lane, slot, _fitting(held), elements, nodes, middles, each, free)
        base, mask = slots[slot, lane + BASE], (np.int64(1) << slots[slot, lane + LOG]) - 1
        for ordinal in range(count, count + added[index]):
            for word in range(elements.shape[1]):
                elements[base + (ordinal & mask), word] = words[at, word]
            at += 1
        slots[slot, lane + COUNT] = count + added[index]


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
    slots: Ints, lane: int, which: Ints, heads: Ints, elements: Ints, nodes: Ints, middles: Ints, each: int,
    free: Ints,
) -> None:  # fmt: skip
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
            _move(slots, lane, slot, _fitting(2 * held), elements, nodes, middles, each, free)


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


def _move(
    slots: Ints, lane: int, slot: int, log: int, elements: Ints, nodes: Ints, middles: Ints, each: int,
    free: Ints,
) -> None:  # fmt: skip
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
    if len(middles) > 0 and log >= REMEMBERING:
        for window in range(each):
            middles[(base >> REMEMBERING) * each + window, 1] = -1


def node(base: Any, mask: Any, level: int, number: int) -> Any:
    """The row of a node: a level after the other, each half as long as the one below."""
    leaves = (mask + 1) >> LEAF_BITS
    return (base >> 2) + 2 * leaves - ((2 * leaves) >> level) + (number & ((leaves >> level) - 1))


def steps_of(
    base: Ints, mask: Ints, done: Ints, which: Ints, lo: Ints, hi: Ints,
    middles: Ints, first: int, each: int, dealt: int, lengths: Ints,
) -> tuple[Ints, Ints]:  # fmt: skip
    """What the fold of each range [lo, hi) of key `which` is made of, from the left to the right; nodes are
    used up to `done`. All aggregates take these steps, so they are looked for once. Returns where those of
    each range begin, and the steps: a row · 4 + what it is a row of.

    The ranges are those of the windows first, …, first + dealt − 1 out of `each`, by turns. A long range
    that moved little since its window's last one has the same middle, which is remembered. Nodes with a
    negative length, if there are `lengths`, are not kept: their parts are.
    """
    room = 0
    for index in range(len(which)):
        blocks = (hi[index] - lo[index]) >> LEAF_BITS
        room += 4 * LEAF + 2 + (blocks if len(lengths) > 0 else 0)
        while blocks > 0:
            blocks >>= 1
            room += 4
    offsets, steps = np.empty(len(which) + 1, np.int64), np.empty(room, np.int64)
    filled = 0
    for index in range(len(which)):
        offsets[index] = filled
        key, whole = which[index], min(hi[index], done[which[index]])
        at, ring = base[key], mask[key]
        begin, end = -(-lo[index] // MIDDLE) * MIDDLE, whole // MIDDLE * MIDDLE
        if len(middles) == 0 or ring < (1 << REMEMBERING) - 1 or end - begin < 2 * MIDDLE:
            filled = _step(at, ring, lo[index], hi[index], whole, lengths, steps, filled)
            continue
        row = (at >> REMEMBERING) * each + first + index % dealt
        if middles[row, 0] != begin or middles[row, 1] != end:
            middles[row, 0], middles[row, 1] = begin, end
            filled = _step(at, ring, begin, end, whole, lengths, steps, filled)
            steps[filled] = row * 4 + REMEMBER
            filled += 1
        filled = _step(at, ring, lo[index], begin, whole, lengths, steps, filled)
        steps[filled] = row * 4 + REMEMBERED
        filled = _step(at, ring, end, hi[index], whole, lengths, steps, filled + 1)
    offsets[len(which)] = filled
    return offsets, steps[:filled]


def _step(
    base: int, mask: int, at: int, end: int, whole: int, lengths: Ints, steps: Ints, filled: int
) -> int:
    while at < end:
        size = LEAF
        if at & (LEAF - 1) or at + size > whole:
            steps[filled] = (base + (at & mask)) * 4 + ELEMENT
        else:
            level = 0
            while at & size == 0 and at + 2 * size <= min(end, whole):
                level += 1
                size *= 2
            row = node(base, mask, level, at >> (LEAF_BITS + level))
            while len(lengths) > 0 and lengths[row] < 0:
                level -= 1
                size >>= 1
                row = node(base, mask, level, at >> (LEAF_BITS + level))
            steps[filled] = row * 4 + NODE
        at += size if steps[filled] & 3 == NODE else 1
        filled += 1
    return filled


def grown_nodes(base: Ints, mask: Ints, head: Ints, before: Ints, after: Ints) -> tuple[Ints, Ints, Ints]:
    """The nodes that are complete when the elements [before, after) of each key have come, parts before
    what they are parts of: keys, levels and numbers."""
    room = 0
    for key in range(len(base)):
        blocks = max((after[key] >> LEAF_BITS) - (before[key] >> LEAF_BITS), 0)
        room += 2 * blocks
        ends = after[key] if blocks > 0 else 0
        while ends > 0:
            ends >>= 1
            room += 1
    which, levels, numbers = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    filled = 0
    for key in range(len(base)):
        for block in range(before[key] >> LEAF_BITS, after[key] >> LEAF_BITS):
            level, number = 0, block
            while (number << LEAF_BITS) << level >= head[key]:  # no range begins before the head
                which[filled], levels[filled], numbers[filled] = key, level, number
                filled += 1
                if not number & 1:
                    break
                level, number = level + 1, number >> 1
    return which[:filled], levels[:filled], numbers[:filled]


def node_rows(base: Ints, mask: Ints, which: Ints, levels: Ints, numbers: Ints) -> Ints:
    rows = np.empty(len(which), np.int64)
    for index in range(len(which)):
        rows[index] = node(base[which[index]], mask[which[index]], levels[index], numbers[index])
    return rows


def live_nodes(base: Ints, mask: Ints, head: Ints, done: Ints) -> Ints:
    """The rows of all nodes of elements [head, done)."""
    room = 0
    for key in range(len(base)):
        room += 2 * max((done[key] - head[key]) >> LEAF_BITS, 0) + 1
    rows = np.empty(room, np.int64)
    filled = 0
    for key in range(len(base)):
        size, level = LEAF, 0
        while size <= done[key] - head[key]:
            for number in range((head[key] + size - 1) // size, done[key] // size):
                rows[filled] = node(base[key], mask[key], level, number)
                filled += 1
            size, level = 2 * size, level + 1
    return rows[:filled]


def cut_rings(
    values: Numbers, base: Ints, mask: Ints, head: Ints, count: Ints,
    which: Ints, bounds: Numbers, after: bool, since: Ints, cuts: Ints,
) -> None:  # fmt: skip
    """For each bound: the first ordinal of key `which` whose value is not below it (`after`: above it). It
    is looked for from `since` on, if that is given: a search from far away touches many cold places. And
    from the last cut on, while bounds of one key grow, as those of triggers do."""
    for index in range(len(bounds)):
        key = which[index]
        lo = head[key] if len(since) == 0 else max(head[key], since[index])
        if index > 0 and which[index - 1] == key and bounds[index - 1] <= bounds[index]:
            lo = max(lo, cuts[index - 1])
        cuts[index] = first_from(values, base[key], mask[key], lo, count[key], bounds[index], after)


def first_from(values: Numbers, base: int, mask: int, lo: int, hi: int, bound: float, after: bool) -> int:
    """The first ordinal from lo on whose value is not below the bound (`after`: above it), or hi. Windows
    mostly begin and end near one of the two, and what lies between is cold: steps from both get larger."""
    step = 1
    while lo + step <= hi:
        right = hi - step
        if _below(values[base + (right & mask)], bound, after):
            lo = right + 1
            break
        hi, left = right, lo + step - 1
        if left >= hi:
            break
        if not _below(values[base + (left & mask)], bound, after):
            hi = left
            break
        lo = left + 1
        step *= 2
    while lo < hi:
        middle = (lo + hi) >> 1
        if _below(values[base + (middle & mask)], bound, after):
            lo = middle + 1
        else:
            hi = middle
    return lo


def _below(value: float, bound: float, after: bool) -> bool:
    return value < bound or (after and value == bound)


@cache
def kernel(name: str) -> Kernel:
    """The compiled form of a function of this module."""
    return build(globals()[name])
