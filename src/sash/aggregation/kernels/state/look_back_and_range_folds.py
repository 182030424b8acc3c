"""Kernel templates over rings (see `rings`): nodes are folded once, ranges from O(log n) of them: those of
look-backs (`.rolling`, `.latest`), and of all other windows over kept elements.

    grow_trees     the nodes of the blocks that have become complete, and those above
    fold_ranges    one fold per range of ordinals, from the left to the right (`busy_key_folds` has those of
                   keys with many ranges in one batch)

A bounded input has no rings: `kernels/folds/range_values.py` folds its look-backs.

Both are for several aggregates at once, which share the way through the tree and every row that is read. An
element is lifted when it is read: a row holds the inputs of all aggregates, each column once. `valid` has a
bit for each aggregate that counts an element, `known` one for each that has counted any element of a node;
`wanted` are the bits of these aggregates, and `bits` has that of each.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.prefetching import AHEAD, prefetch
from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    combine,
    identity,
    joined,
    lifted,
    load,
    store,
)
from sash.aggregation.kernels.state.rings import (
    ELEMENT,
    LEAF,
    LEAF_BITS,
    MIDDLE,
    NODE,
    REMEMBERED,
    REMEMBERING,
    node,
    step,
)
from sash.arrays import Ints

AT_ONCE = 32
"""Of so many ranges the steps are looked for, and their rows prefetched, before they are folded."""
LONGEST = 320
"""More steps than any range has."""
REMEMBER = 3
"""The step after which what was folded is remembered in a row, and folding begins again."""


def grow_trees(
    inputs: Columns, valid: Ints, nodes: Columns, known: Ints, bits: tuple[int, ...], wanted: int,
    elements: Ints, node_rows: Ints, base: Ints, mask: Ints, head: Ints, before: Ints, after: Ints,
) -> int:  # fmt: skip
    """Of each key, the elements [before, after) are new and will not change. Returns the combines made."""
    combines, ahead = 0, 0
    for key in range(len(base)):
        while ahead < min(key + AHEAD, len(base)):
            if after[ahead] >> LEAF_BITS > before[ahead] >> LEAF_BITS:
                _prefetch_block(elements, node_rows, base[ahead], mask[ahead], before[ahead] >> LEAF_BITS)
            ahead += 1
        for block in range(before[key] >> LEAF_BITS, after[key] >> LEAF_BITS):
            if block << LEAF_BITS < head[key]:
                continue  # no range begins before the head
            total, found = identity(), np.int64(0)
            for ordinal in range(block << LEAF_BITS, (block + 1) << LEAF_BITS):
                row = base[key] + (ordinal & mask[key])
                counts = valid[row] & wanted
                total, found = lifted(total, inputs, row, counts, bits), found | counts
            combines += LEAF
            level, number = 0, block
            target = node(base[key], mask[key], level, number)
            store(nodes, target, total)
            known[target] = (known[target] & ~wanted) | found
            while number & 1 and ((number - 1) << LEAF_BITS) << level >= head[key]:
                left = node(base[key], mask[key], level, number - 1)
                right = node(base[key], mask[key], level, number)
                level, number = level + 1, number >> 1
                target = node(base[key], mask[key], level, number)
                store(nodes, target, combine(load(nodes, left), load(nodes, right)))
                known[target] = (known[target] & ~wanted) | ((known[left] | known[right]) & wanted)
                combines += 1
    return combines


def _prefetch_block(elements: Ints, nodes: Ints, base: int, mask: int, block: int) -> None:
    """Begin to read the elements of a block that is complete, its node and those combined above it."""
    for ordinal in range(block << LEAF_BITS, (block + 1) << LEAF_BITS, 2):
        prefetch(elements, base + (ordinal & mask), 0)
    level, number = 0, block
    prefetch(nodes, node(base, mask, level, number), 0)
    while number & 1 and LEAF << level <= mask:
        prefetch(nodes, node(base, mask, level, number - 1), 0)
        level, number = level + 1, number >> 1
        prefetch(nodes, node(base, mask, level, number), 0)


def fold_ranges(
    inputs: Columns, valid: Ints, nodes: Columns, known: Ints, bits: tuple[int, ...], wanted: int,
    elements: Ints, node_rows: Ints,
    middles: Columns, middles_known: Ints, middle_rows: Ints, span: int,
    base: Ints, mask: Ints, count: Ints, tail: int, which: Ints, lo: Ints, hi: Ints,
    first: int, each: int, dealt: int, out: Columns, found: Ints, stretches: Ints,
) -> int:  # fmt: skip
    """Fold the range [lo, hi) of key `which`, of all ranges in the `stretches` begin ≤ index < end;
    nodes hold all but the last `tail` elements of a key. `found` gets the bits of the aggregates that
    counted anything. Returns the combines made.

    The ranges are those of the windows first, …, first + dealt − 1 out of `each`, by turns; the results are
    those of the first window, then those of the second, … A long range that moved little since its window's
    last one has the same middle, which is remembered: where it begins and ends stands in the words `span`
    and `span` + 1 of its row.
    """
    combines, ranges, no_lengths = 0, len(which), np.empty(0, np.int64)
    steps, ends = np.empty(AT_ONCE * LONGEST, np.int64), np.empty(AT_ONCE, np.int64)
    share, remembers = ranges // dealt, len(middle_rows) > 0
    stretch, since = 0, 0
    while stretch < len(stretches):
        since = max(since, stretches[stretch, 0])
        until, filled = min(since + AT_ONCE, stretches[stretch, 1]), 0
        if remembers:
            for index in range(since, until):
                key = which[index]
                if mask[key] >= (1 << REMEMBERING) - 1:
                    row = (base[key] >> REMEMBERING) * each + first + index % dealt
                    prefetch(middle_rows, row, span)
                    prefetch(middle_rows, row, middle_rows.shape[1] - 1)
        for index in range(since, until):
            key = which[index]
            at, ring, begin, end = base[key], mask[key], lo[index], hi[index]
            whole = min(end, max(count[key] - tail, 0) & ~(LEAF - 1))
            inner, outer = -(-begin // MIDDLE) * MIDDLE, whole // MIDDLE * MIDDLE
            if not remembers or ring < (1 << REMEMBERING) - 1 or outer - inner < 2 * MIDDLE:
                filled = step(at, ring, begin, end, whole, no_lengths, elements, node_rows, steps, filled)
                ends[index - since] = filled
                continue
            row = (at >> REMEMBERING) * each + first + index % dealt
            if middle_rows[row, span] != inner or middle_rows[row, span + 1] != outer:
                middle_rows[row, span], middle_rows[row, span + 1] = inner, outer
                filled = step(at, ring, inner, outer, whole, no_lengths, elements, node_rows, steps, filled)
                steps[filled] = row * 4 + REMEMBER
                filled += 1
            filled = step(at, ring, begin, inner, whole, no_lengths, elements, node_rows, steps, filled)
            steps[filled] = row * 4 + REMEMBERED
            filled = step(at, ring, outer, end, whole, no_lengths, elements, node_rows, steps, filled + 1)
            ends[index - since] = filled
        at = 0
        for index in range(since, until):
            total, counted = identity(), np.int64(0)
            while at < ends[index - since]:
                row, what = steps[at] >> 2, steps[at] & 3
                at += 1
                if what == ELEMENT:
                    counts = valid[row] & wanted
                    total = lifted(total, inputs, row, counts, bits)
                elif what == NODE:
                    counts = known[row] & wanted
                    total = joined(total, nodes, row, counts, bits)
                elif what == REMEMBERED:
                    counts = middles_known[row] & wanted
                    total = joined(total, middles, row, counts, bits)
                else:
                    store(middles, row, total)
                    middles_known[row] = (middles_known[row] & ~wanted) | counted
                    total, counted, counts = identity(), np.int64(0), np.int64(0)
                counted |= counts
                combines += 1 if counts else 0
            target = index % dealt * share + index // dealt
            store(out, target, total)
            found[target] = counted
        since = until
        if until == stretches[stretch, 1]:
            stretch += 1
    return combines
