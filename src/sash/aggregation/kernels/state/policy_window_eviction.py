"""Kernel template: slide policies over rings (see `rings`). After each insertion the longest prefix leaves
that the policy wants out; it is found by descent.

    lo          middle        hi         middle is the multiple of the largest power of two in (lo, hi]
    ┊▪▪▪▪ ▆▆ ████┊████ ▆▆ ▪▪▪ ┊
        front        back                total = front ⊕ back

From its beginning to the middle a window consists of ever larger blocks of the tree, from there on of ever
smaller ones. Of the back, the fold is kept while the window grows, and from one batch to the next. Of the
front, the folds of all prefixes that end with a block are kept in a stack until something leaves: after the
oldest event these are tested first, without a combine. Then the descent goes on within the first block that
stays.

Every fold depends on lo and hi alone, not on how the window came to be: a stream that is resumed decides as
one that was never interrupted, floats included. The whole window is tested last of all, when everything but
the newest event leaves: many policies divide by what is left.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    leaves,
    lift,
    load,
    lower,
    peek,
    push,
    scratch,
    shown,
    store,
)
from sash.aggregation.kernels.state.rings import LEAF, LEAF_BITS, node
from sash.arrays import Ints

DEEP = 80
"""More than there are blocks in the front of a window."""


def slide_policy(
    inputs: Columns, nodes: Columns, base: Ints, mask: Ints, since: Ints, until: Ints, lo: Ints,
    policy: object, middles: Ints, filled: Ints, backs: Columns, begins: Ints,
) -> int:  # fmt: skip
    """Of each key, the elements [since, until) enter the window that begins at lo, one after the other;
    `begins` gets where it begins after each of them. `backs` holds the folds of [middles, filled), and is
    brought up to date. Returns the combines made."""
    combines, inserted = 0, 0
    stack, ends, levels = scratch(DEEP), np.empty(DEEP, np.int64), np.empty(DEEP, np.int64)
    for key in range(len(base)):
        start, wrap, begin = int(base[key]), int(mask[key]), int(lo[key])
        middle, end = int(middles[key]), int(filled[key])
        back = load(backs, key)
        depth, front_lo, front_hi = 0, -1, -1
        for hi in range(int(since[key]) + 1, int(until[key]) + 1):
            # The back grows by an element, and where that completes a block, it is folded again.
            split = _middle(begin, hi)
            if split == middle and end == hi - 1 and hi & (LEAF - 1):
                grown = _block(inputs, nodes, start, wrap, -1, end)
                if end > middle:
                    grown = combine(back, grown)
                    combines += 1
                back = grown
            elif split < hi:
                depth = _stacked(inputs, nodes, start, wrap, split, hi, stack, ends, levels)
                back, front_lo = peek(stack, depth - 1), -1
                combines += depth - 1
            middle, end = split, hi
            if front_lo != begin or front_hi != middle:
                depth = _stacked(inputs, nodes, start, wrap, begin, middle, stack, ends, levels)
                front_lo, front_hi = begin, middle
                combines += depth - 1
            total = peek(stack, depth - 1)
            if middle < hi:
                total = combine(total, back)
                combines += 1
            whole = shown(lower(total), policy)

            # If the oldest event stays, everything does. Otherwise up: the blocks of the front, as long as
            # they leave.
            oldest = _block(inputs, nodes, start, wrap, -1, begin)
            anything = levels[0] < 0 or leaves(whole, lower(oldest), policy)
            passed, at, prefix = 0, begin, total
            stays = hi + 1 if anything else begin + 1  # the end of the shortest prefix known to stay
            while stays > hi and passed < depth and (ends[passed] < hi or levels[passed] < 0):
                grown = peek(stack, passed)
                if not leaves(whole, lower(grown), policy):
                    stays = int(ends[passed])
                    break
                at, prefix = int(ends[passed]), grown
                passed += 1
            # Down: ever smaller blocks of what is behind, then elements.
            level = int(levels[passed]) - 1 if passed < depth else _level(at, hi, -1)
            while at + 1 < stays:
                further = at + (LEAF << level if level >= 0 else 1)
                if level < 0 or (further < hi and further < stays):
                    grown = _block(inputs, nodes, start, wrap, level, at)
                    if at > begin:
                        grown = combine(prefix, grown)
                        combines += 1
                    if (level < 0 and at == begin) or leaves(whole, lower(grown), policy):
                        at, prefix = further, grown
                    else:
                        stays = further
                level = max(level - 1, -1)
            begin = at
            begins[inserted] = begin
            inserted += 1
        middles[key], filled[key] = middle, end
        store(backs, key, back)
    return combines


def _middle(lo: int, hi: int) -> int:
    middle, coarser = hi, hi & (hi - 1)
    while coarser > lo:
        middle, coarser = coarser, coarser & (coarser - 1)
    return middle


def _level(at: int, end: int, level: int) -> int:
    """That of the largest block that begins at `at` and ends by `end`; −1: an element. It is looked for
    beginning with a level that has a block at `at`."""
    while level >= 0 and at + (LEAF << level) > end:
        level -= 1
    while at & ((LEAF << (level + 1)) - 1) == 0 and at + (LEAF << (level + 1)) <= end:
        level += 1
    return level


def _block(inputs: Columns, nodes: Columns, start: int, wrap: int, level: int, at: int) -> Element:
    if level < 0:
        return lift(inputs, start + (at & wrap))
    return load(nodes, node(start, wrap, level, at >> (LEAF_BITS + level)))


def _stacked(
    inputs: Columns, nodes: Columns, start: int, wrap: int, at: int, end: int,
    stack: Columns, ends: Ints, levels: Ints,
) -> int:  # fmt: skip
    """The folds of all prefixes of [at, end) that end with one of its blocks; how many they are."""
    depth, total, level = 0, identity(), -1
    while at < end:
        level = _level(at, end, level)
        part = _block(inputs, nodes, start, wrap, level, at)
        total = part if depth == 0 else combine(total, part)
        at += LEAF << level if level >= 0 else 1
        push(stack, depth, total)
        ends[depth], levels[depth] = at, level
        depth += 1
    return depth
