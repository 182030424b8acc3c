"""Sliding time windows of many keys in one pass: a hash table from key to a ring of panes.

    pane p = [p·g, (p + 1)·g),  g = gcd(WA, WS)          a window is WS / g panes

An event is folded into one pane of each of its keys, whatever the number of windows that overlap there. A
window that ends at e folds the panes of every key when the pass comes to time e, before any later event: so
the cell of a pane may be used again WS later, and what it then holds is known by its stamp. The cost is one
combine for each event and key, and WS / g for each key and window.

A slot of the table is 2 + WS / g numbers of `book`, side by side because they are read together: the
key, the latest pane of the key, and a stamp for each pane of its ring, 2·p + 1 when pane p holds a value
that is not null, else 2·p. The elements of the panes are in `cells`.

The caller owns the memory, and the pass can be left and taken up again: it answers FULL when the output is
full, GROW when the table is, with its place in `progress`.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.machine import Kernel, build
from sash.aggregation.kernels.vocabulary import Columns, combine, identity, load, store

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

DONE, FULL, GROW = 0, 1, 2
NEXT, DUE, SLOT, WRITTEN, USED, LATEST, PROGRESS = range(7)
"""What `progress` holds: the next pair, the end of the next window, the next slot to look at for it, rows
written, slots used, the latest pane; and how many numbers these are."""
UNUSED = -(2**63)
"""The latest pane of a slot without a key, and a stamp without a pane."""
BEGINNING = -(2**62)
"""Before all times: where the end of the next window starts from."""


def place(book: Ints, stride: int, key: int) -> int:
    """The slot of a key, or the free one that it would take, by linear probing: tables are half empty."""
    mask = len(book) // stride - 1
    # Both halves count, and no product leaves 63 bits: interpreted, this loop must not overflow either.
    mixed = (key & 0x7FFFFFFF) * 0x5BD1E995 + ((key >> 31) & 0x7FFFFFFF) * 0x4F1BBCDC
    slot = (mixed ^ (mixed >> 29)) & mask
    while book[slot * stride] != key and book[slot * stride + 1] != UNUSED:
        slot = (slot + 1) & mask
    return slot


def keyed_panes(
    elements: Columns,
    valid: Flags,
    times: Ints,
    event: Ints,
    key: Ints,
    lengths: Ints,
    book: Ints,
    cells: Columns,
    progress: Ints,
    until: int,
    ends: Ints,
    owners: Ints,
    known: Flags,
    out: Columns,
) -> int:
    """Take in the pairs (event, key) in the order of time and fold the windows that end by `until`.

    lengths: WA, WS, g, WS / g. Output: ends and owners (keys) of windows, known (whether there was a
    value at all) and out, the folds. An empty `valid` means: no nulls.
    """
    advance, size, pane, ring = lengths[0], lengths[1], lengths[2], lengths[3]
    stride = ring + 2
    slots = len(book) // stride
    i, due, slot, written = progress[NEXT], progress[DUE], progress[SLOT], progress[WRITTEN]
    used, latest = progress[USED], progress[LATEST]
    turn, begin, end = 0, 1, 0
    outcome = DONE
    while outcome == DONE:
        now = times[event[i]] if i < len(event) else until
        while due <= now:
            low, high = (due - size) // pane, due // pane
            if latest < low:
                # Nobody has a tuple in this window or a later one: go on with the first that now can be in.
                due = ((now - size) // advance + 1) * advance + size
                break
            while slot < slots:
                if book[slot * stride + 1] >= low:
                    total, found, some = identity(), False, False
                    for p in range(low, high):
                        stamp = book[slot * stride + 2 + p % ring]
                        if stamp >> 1 == p:
                            total = combine(total, load(cells, slot * ring + p % ring))
                            found, some = True, some or stamp & 1 == 1
                    if found:
                        if written == len(ends):
                            outcome = FULL
                            break
                        ends[written], owners[written], known[written] = due, book[slot * stride], some
                        store(out, written, total)
                        written += 1
                slot += 1
            if outcome == FULL:
                break
            slot = 0
            due += advance
        if outcome == FULL or i >= len(event):
            break
        at = place(book, stride, key[i])
        if book[at * stride + 1] == UNUSED:
            if 2 * used >= slots:
                outcome = GROW
                break
            used += 1
            book[at * stride] = key[i]
        if not begin <= now < end:
            # Most events lie in the pane of the one before, and divisions are slow.
            latest = now // pane
            turn, begin, end = latest % ring, latest * pane, (latest + 1) * pane
        book[at * stride + 1] = latest
        cell, note = at * ring + turn, at * stride + 2 + turn
        if book[note] >> 1 != latest:
            book[note] = 2 * latest
            store(cells, cell, identity())
        if len(valid) == 0 or valid[event[i]]:
            book[note] = 2 * latest + 1
            store(cells, cell, combine(load(cells, cell), load(elements, event[i])))
        i += 1
    progress[NEXT], progress[DUE], progress[SLOT], progress[WRITTEN] = i, due, slot, written
    progress[USED], progress[LATEST] = used, latest
    return outcome


def fill(book: Ints, stride: int, chosen: Ints, new: Ints, slots: Ints) -> None:
    """Put the chosen slots of a table into an empty one; slots[n] is where chosen[n] went."""
    for n in range(len(chosen)):
        begin = chosen[n] * stride
        slot = place(new, stride, book[begin])
        for at in range(stride):
            new[slot * stride + at] = book[begin + at]
        slots[n] = slot


@cache
def filling() -> Kernel:
    """`fill`, compiled."""
    return build(fill)
