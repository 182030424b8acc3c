"""Kernel templates over rings (see `rings`): nodes are folded once, ranges from O(log n) of them.

    grow_tree     the nodes of the blocks that have become complete, and those above
    fold_steps    one fold per range of ordinals, from the left to the right

An element is lifted when it is read: a row holds the inputs of all aggregates, each column once. `valid`
has a bit for each input column that is not null; an aggregate skips elements that lack one of its `needed`
bits, and a node's `known` word has the aggregate's `bit` when any of its elements counted.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.vocabulary import Columns, combine, identity, lift, load, store
from sash.aggregation.kernels.state.rings import ELEMENT, LEAF, LEAF_BITS, NODE, REMEMBERED, node
from sash.arrays import Ints, Mask


def grow_tree(
    inputs: Columns, valid: Ints, needed: int, nodes: Columns, known: Ints, bit: int,
    base: Ints, mask: Ints, head: Ints, before: Ints, after: Ints,
) -> int:  # fmt: skip
    """Of each key, the elements [before, after) are new and will not change. Returns the combines made."""
    combines = 0
    for key in range(len(base)):
        for block in range(before[key] >> LEAF_BITS, after[key] >> LEAF_BITS):
            if block << LEAF_BITS < head[key]:
                continue  # no range begins before the head
            total, found = identity(), np.int64(0)
            for ordinal in range(block << LEAF_BITS, (block + 1) << LEAF_BITS):
                row = base[key] + (ordinal & mask[key])
                if valid[row] & needed == needed:
                    total, found = combine(total, lift(inputs, row)), np.int64(bit)
            combines += LEAF
            target = node(base[key], mask[key], 0, block)
            store(nodes, target, total)
            known[target] = (known[target] & ~bit) | found
            level, number = 0, block
            while number & 1 and ((number - 1) << LEAF_BITS) << level >= head[key]:
                left = node(base[key], mask[key], level, number - 1)
                right = node(base[key], mask[key], level, number)
                level, number = level + 1, number >> 1
                target = node(base[key], mask[key], level, number)
                store(nodes, target, combine(load(nodes, left), load(nodes, right)))
                known[target] = (known[target] & ~bit) | ((known[left] | known[right]) & bit)
                combines += 1
    return combines


def fold_steps(
    inputs: Columns, valid: Ints, needed: int, nodes: Columns, known: Ints, bit: int,
    middles: Columns, middles_known: Ints, offsets: Ints, steps: Ints, dealt: int,
    out: Columns, present: Mask,
) -> int:  # fmt: skip
    """Fold the steps of each range (see `rings.steps_of`). The ranges of `dealt` windows come by turns; the
    results are those of the first window, then those of the second, … Returns the combines made."""
    combines, each = 0, (len(offsets) - 1) // dealt
    for index in range(len(offsets) - 1):
        total, found = identity(), False
        for at in range(offsets[index], offsets[index + 1]):
            row, what = steps[at] >> 2, steps[at] & 3
            if what == ELEMENT:
                if valid[row] & needed == needed:
                    total, found = combine(total, lift(inputs, row)), True
                    combines += 1
            elif what == NODE:
                if known[row] & bit:
                    total, found = combine(total, load(nodes, row)), True
                    combines += 1
            elif what == REMEMBERED:
                if middles_known[row] & bit:
                    total, found = combine(total, load(middles, row)), True
                    combines += 1
            else:
                store(middles, row, total)
                middles_known[row] = (middles_known[row] & ~bit) | (bit if found else 0)
                total, found = identity(), False
        target = index % dealt * each + index // dealt
        store(out, target, total)
        present[target] = found
    return combines
