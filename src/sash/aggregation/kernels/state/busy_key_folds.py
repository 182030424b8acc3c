"""Kernel templates for many ranges of one key that follow each other: two stacks instead of the tree.

    ranges    ├────────────┤           lo and hi never decrease, so that all of them hold [cut, end):
                ├────────────┤         fold  =  suffix of [lo, cut)  ⊕  [cut, end) and what came since
                   ├────────────┤
              begin   cut end

From the tree a range takes O(log n) combines, whatever the others are. A key that has many events in one
batch has many ranges that share nearly all they hold: suffixes up to the last beginning are folded once,
from the right to the left, and what follows it grows from the left to the right. That is about three
combines per range. Where ranges move on by more than they hold, they are cut into several such pieces.
"""

from __future__ import annotations

import numpy as np

from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    combine,
    identity,
    joined,
    lifted,
    peek,
    push,
    scratch,
    store,
)
from sash.aggregation.kernels.state.look_back_and_range_folds import LONGEST
from sash.aggregation.kernels.state.rings import ELEMENT, LEAF, step
from sash.arrays import Ints

LEAST = 16
"""Ranges of a window that are worth the start of a piece."""
MOVES = 8
"""Elements that come and go per range, at most: each is one combine, and the tree takes about twice as
many per range."""
SUFFIXES = 1 << 12
"""Elements whose suffixes are kept at once."""


def long_runs(which: Ints, lo: Ints, hi: Ints, dealt: int) -> tuple[Ints, Ints]:
    """The ranges begin ≤ index < end of each run that `fold_runs` is for, and of what lies between them.
    The ranges are those of `dealt` windows by turns."""
    events = len(which) // dealt
    room = events // LEAST + 1
    runs, others = np.empty((room, 2), np.int64), np.empty((room + 1, 2), np.int64)
    found, rest, since, begin = 0, 0, 0, 0
    for event in range(1, events + 1):
        goes_on = event < events and which[event * dealt] == which[(event - 1) * dealt]
        if goes_on:
            for index in range(event * dealt, (event + 1) * dealt):
                goes_on = goes_on and lo[index] >= lo[index - dealt] and hi[index] >= hi[index - dealt]
        if goes_on:
            continue
        if event - begin >= LEAST:
            moved = 0
            for window in range(dealt):
                first, last = begin * dealt + window, (event - 1) * dealt + window
                moved += lo[last] - lo[first] + hi[last] - hi[first]
            if moved <= MOVES * (event - begin) * dealt:
                if since < begin:
                    others[rest, 0], others[rest, 1] = since * dealt, begin * dealt
                    rest += 1
                runs[found, 0], runs[found, 1] = begin * dealt, event * dealt
                found, since = found + 1, event
        begin = event
    if since < events:
        others[rest, 0], others[rest, 1] = since * dealt, events * dealt
        rest += 1
    return runs[:found], others[:rest]


def fold_runs(
    inputs: Columns, valid: Ints, nodes: Columns, known: Ints, bits: tuple[int, ...], wanted: int,
    elements: Ints, node_rows: Ints,
    base: Ints, mask: Ints, count: Ints, tail: int, which: Ints, lo: Ints, hi: Ints,
    runs: Ints, dealt: int, out: Columns, found: Ints,
) -> int:  # fmt: skip
    """Fold the ranges of these runs, as `fold_ranges` does. Returns the combines made."""
    combines, share, no_lengths = 0, len(which) // dealt, np.empty(0, np.int64)
    suffixes, marks, steps = scratch(SUFFIXES), np.empty(SUFFIXES, np.int64), np.empty(LONGEST, np.int64)
    for run in range(len(runs)):
        key, end_of_run = which[runs[run, 0]], runs[run, 1]
        at, ring = base[key], mask[key]
        for window in range(dealt):
            first = runs[run, 0] + window
            while first < end_of_run:
                begin, end, last = lo[first], hi[first], first
                while (
                    last + dealt < end_of_run
                    and lo[last + dealt] <= end
                    and lo[last + dealt] - begin <= SUFFIXES
                ):
                    last += dealt
                cut = lo[last]
                total, counted = identity(), np.int64(0)
                for ordinal in range(cut - 1, begin - 1, -1):
                    row = at + (ordinal & ring)
                    counts = valid[row] & wanted
                    total = combine(lifted(identity(), inputs, row, counts, bits), total)
                    counted |= counts
                    push(suffixes, ordinal - begin, total)
                    marks[ordinal - begin] = counted
                total, counted = identity(), np.int64(0)
                whole = min(end, max(count[key] - tail, 0) & ~(LEAF - 1))
                filled = step(at, ring, cut, end, whole, no_lengths, elements, node_rows, steps, 0)
                for number in range(filled):
                    row = steps[number] >> 2
                    if steps[number] & 3 == ELEMENT:
                        counts = valid[row] & wanted
                        total = lifted(total, inputs, row, counts, bits)
                    else:
                        counts = known[row] & wanted
                        total = joined(total, nodes, row, counts, bits)
                    counted |= counts
                combines += cut - begin + filled
                for index in range(first, last + 1, dealt):
                    while end < hi[index]:
                        row = at + (end & ring)
                        counts = valid[row] & wanted
                        total, counted, end = (
                            lifted(total, inputs, row, counts, bits), counted | counts, end + 1,
                        )  # fmt: skip
                        combines += 1
                    target = index % dealt * share + index // dealt
                    if lo[index] < cut:
                        store(out, target, combine(peek(suffixes, lo[index] - begin), total))
                        found[target] = marks[lo[index] - begin] | counted
                        combines += 1
                    else:
                        store(out, target, total)
                        found[target] = counted
                first = last + dealt
    return combines
