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

from typing import Any

import numpy as np

from sash.aggregation.kernels.compiler.prefetching import AHEAD, prefetch
from sash.arrays import Ints

BASE, LOG, HEAD, COUNT = range(4)
"""The words of a lane; LOG is −1 while a key has no region."""
LANE = 4
LEAF_BITS = 3
LEAF = 1 << LEAF_BITS
"""How many elements a node of the lowest level holds."""
CELL_BITS = 3
CELL = 1 << CELL_BITS
"""How many nodes of the lowest level lie together, with those above them: see `node`."""
LAYOUT = 2
"""Of the tables: an arena in which rows lie otherwise is built again."""
SMALLEST = 2
"""The logarithm of the smallest region; its nodes fit because 2² is a quarter of nothing."""
CLASSES = 48
TOP = CLASSES
"""In the words of a lane's free lists: the first row that was never used."""
FREE_LISTS = CLASSES + 1
LIVE = FREE_LISTS + 1
"""… how many elements are held. The word between them is that of the lane's heap."""
EVERYTHING = np.int64(-1)
ELEMENT, NODE, REMEMBERED = range(3)
"""What a step of a fold is a row of."""
MIDDLE = 64
"""Remembered middles of ranges begin and end at multiples of this."""
REMEMBERING = 9
"""The logarithm of the smallest region that has them, a row for each window of the lane."""


def held_rings(
    slots: Ints, lane: int, which: Ints, base: Ints, mask: Ints, head: Ints, count: Ints
) -> None:
    """The lanes of some keys, as all other kernels take them; a key without a region has the mask 0."""
    for index in range(len(which)):
        slot = which[index]
        base[index], head[index] = slots[slot, lane + BASE], slots[slot, lane + HEAD]
        count[index] = slots[slot, lane + COUNT]
        mask[index] = (np.int64(1) << max(slots[slot, lane + LOG], 0)) - 1


def append(
    slots: Ints, lane: int, which: Ints, added: Ints, words: Ints, elements: Ints, nodes: Ints,
    middles: Ints, each: int, free: Ints, tail: int,
    base: Ints, mask: Ints, head: Ints, before: Ints, after: Ints,
) -> int:  # fmt: skip
    """The next added[k] elements are of key which[k], whose region becomes larger where they do not fit.

    Returns how many keys have blocks that are complete now, all but the last `tail` elements taken; the
    outputs get their lanes, and which elements are new. If the tables might have no room, nothing is done,
    and returned are the rows that new regions may take, negative."""
    needed = _rows_needed(slots, lane, which, added)
    top = free[TOP] + needed
    if needed > 0 and (
        top > len(elements)
        or (top >> 2) >= len(nodes)
        or (len(middles) > 0 and ((top >> REMEMBERING) + 1) * each > len(middles))
    ):
        return -int(needed)
    at, grown = 0, 0
    for index in range(len(which)):
        if index + AHEAD < len(which):
            ahead = which[index + AHEAD]
            ring = (np.int64(1) << max(slots[ahead, lane + LOG], 0)) - 1
            row = slots[ahead, lane + BASE] + (slots[ahead, lane + COUNT] & ring)
            prefetch(elements, row, 0)
            prefetch(elements, row, elements.shape[1] - 1)
        slot = which[index]
        count = slots[slot, lane + COUNT]
        held = count - slots[slot, lane + HEAD] + added[index]
        log = slots[slot, lane + LOG]
        if held > 0 and (log < 0 or held > np.int64(1) << log):
            _move(slots, lane, slot, _fitting(held), elements, nodes, middles, each, free)
        first, ring = slots[slot, lane + BASE], (np.int64(1) << slots[slot, lane + LOG]) - 1
        for ordinal in range(count, count + added[index]):
            for word in range(elements.shape[1]):
                elements[first + (ordinal & ring), word] = words[at, word]
            at += 1
        slots[slot, lane + COUNT] = count + added[index]
        begin, end = max(count - tail, 0), max(count + added[index] - tail, 0)
        if end >> LEAF_BITS > begin >> LEAF_BITS:
            base[grown], mask[grown], head[grown] = first, ring, slots[slot, lane + HEAD]
            before[grown], after[grown] = begin, end
            grown += 1
    free[LIVE] += at
    return grown


def _rows_needed(slots: Ints, lane: int, which: Ints, added: Ints) -> int:
    """An upper bound of the rows that new regions take, when keys get this many more elements."""
    needed = np.int64(0)
    for index in range(len(which)):
        slot = which[index]
        held = slots[slot, lane + COUNT] - slots[slot, lane + HEAD] + added[index]
        log = slots[slot, lane + LOG]
        if held > 0 and (log < 0 or held > np.int64(1) << log):
            needed += np.int64(1) << _fitting(held)
    return int(needed)


def let_go(slots: Ints, lane: int, which: Ints, heads: Ints, elements: Ints, free: Ints) -> int:
    """Raise the heads of keys, at most to their ends. Returns how many rows `shrink` takes at
    most, for regions that have become far too large."""
    needed = np.int64(0)
    for index in range(len(which)):
        slot = which[index]
        before, count = slots[slot, lane + HEAD], slots[slot, lane + COUNT]
        after = max(min(heads[index], count), before)
        slots[slot, lane + HEAD] = after
        free[LIVE] -= after - before
        log = slots[slot, lane + LOG]
        if log >= 0 and after == count:
            _release(slots[slot, lane + BASE], log, elements, free)
            slots[slot, lane + LOG] = -1
        elif _is_too_large(log, count - after):
            needed += np.int64(1) << _fitting(2 * (count - after))
    return int(needed)


def shrink(
    slots: Ints, lane: int, which: Ints, elements: Ints, nodes: Ints, middles: Ints, each: int, free: Ints
) -> None:
    """Regions that have become far too large give way to smaller ones."""
    for index in range(len(which)):
        slot = which[index]
        held = slots[slot, lane + COUNT] - slots[slot, lane + HEAD]
        if _is_too_large(slots[slot, lane + LOG], held):
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
            for word in range(middles.shape[1]):
                middles[(base >> REMEMBERING) * each + window, word] = -1


def node(base: Any, mask: Any, level: int, number: int) -> Any:
    """The row of a node. A cell of 64 elements has 16 rows: its own 15 nodes, so that both ends of a range
    are in one page each, and one for a node above all cells, of which there are fewer than cells. A
    region of less than a cell has one level after the other."""
    first, leaves = base >> 2, (mask + 1) >> LEAF_BITS
    if leaves < CELL:
        return first + 2 * leaves - ((2 * leaves) >> level) + (number & ((leaves >> level) - 1))
    cells = leaves >> CELL_BITS
    if level <= CELL_BITS:
        cell = (number >> (CELL_BITS - level)) & (cells - 1)
        return first + 2 * CELL * cell + 2 * CELL - ((2 * CELL) >> level) + (number & ((CELL >> level) - 1))
    above = level - CELL_BITS
    place = cells - ((2 * cells) >> above) + (number & ((cells >> above) - 1))
    return first + 2 * CELL * (place + 1) - 1


def steps_of(
    base: Ints, mask: Ints, done: Ints, which: Ints, lo: Ints, hi: Ints, lengths: Ints,
    elements: Ints, nodes: Ints,
) -> tuple[Ints, Ints]:  # fmt: skip
    """What the fold of each range [lo, hi) of key `which` is made of, from the left to the right; nodes are
    used up to `done`. Returns where the steps of each range begin, and the steps: a row · 4 + what it is a
    row of. Nodes with a negative length are not kept: their parts are."""
    room = 0
    for index in range(len(which)):
        blocks = (hi[index] - lo[index]) >> LEAF_BITS
        room += 4 * LEAF + 2 + blocks
        while blocks > 0:
            blocks >>= 1
            room += 4
    offsets, steps = np.empty(len(which) + 1, np.int64), np.empty(room, np.int64)
    filled = 0
    for index in range(len(which)):
        offsets[index] = filled
        key, whole = which[index], min(hi[index], done[which[index]])
        filled = step(
            base[key], mask[key], lo[index], hi[index], whole, lengths, elements, nodes, steps, filled
        )
    offsets[len(which)] = filled
    return offsets, steps[:filled]


def step(
    base: int, mask: int, at: int, end: int, whole: int, lengths: Ints, elements: Ints, nodes: Ints,
    steps: Ints, filled: int,
) -> int:  # fmt: skip
    """The steps of [at, end), nodes up to `whole`, whose rows are prefetched. Returns the number of steps
    in `steps` then."""
    while at < end:
        size = LEAF
        if at & (LEAF - 1) or at + size > whole:
            row = base + (at & mask)
            prefetch(elements, row, 0)
            steps[filled] = row * 4 + ELEMENT
            at += 1
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
            prefetch(nodes, row, 0)
            prefetch(nodes, row, nodes.shape[1] - 1)
            steps[filled] = row * 4 + NODE
            at += size
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
