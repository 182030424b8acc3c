"""Sliding time windows of many keys in one pass: a hash table from key to a ring of panes.

    pane p = [p·g, (p + 1)·g),  g = gcd(WA, WS)          a window is WS / g panes

An event is folded into one pane of each of its keys, whatever the number of windows that overlap there. A
window that ends at e folds the panes of every key when the pass comes to time e, before any later event: so
the cell of a pane may be used again WS later, and what it then holds is known by its stamp. The cost is one
combine for each event and key, and WS / g for each key and window.

A key has an entry, numbered as keys first come: 2 + WS / g numbers of `book`, side by side because they are
read together. They are the key, its latest pane, and a stamp for each pane of its ring, 2·p + 1 when pane p
holds a value that is not null, else 2·p. The elements of the panes are in `cells`. `index` finds the entry
of a key by linear probing. A slot of it is four bytes, and half of them are free, while entries are dense:
what is frequent comes early, so that most pairs meet few lines of the cache; windows read no free slots.

The caller owns the memory, and the pass can be left and taken up again: it answers FULL when the output is
full, GROW when no entry is free, with its place in `progress`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sash.aggregation.kernels.compiler.template_words import Columns, combine, identity, load, store
from sash.arrays import Ints, Mask

ShortInts = npt.NDArray[np.int32]

DONE, FULL, GROW = 0, 1, 2
NEXT, DUE, ENTRY, WRITTEN, USED, LATEST, PROGRESS = range(7)
"""What `progress` holds: the next pair, the end of the next window, the next entry to look at for it, rows
written, entries used, the latest pane; and how many numbers these are."""
FREE = -1
"""A slot of the index without an entry."""
UNUSED = -(2**63)
"""A stamp without a pane, and the latest pane before there is one."""
BEGINNING = -(2**62)
"""Before all times: where the end of the next window starts from."""


def place(index: ShortInts, book: Ints, stride: int, key: int) -> int:
    """The slot of a key, or the free one that it would take, by linear probing: an index is half empty."""
    mask = len(index) - 1
    # Both halves count, and no product leaves 63 bits: interpreted, this loop must not overflow either.
    mixed = (key & 0x7FFFFFFF) * 0x5BD1E995 + ((key >> 31) & 0x7FFFFFFF) * 0x4F1BBCDC
    slot = (mixed ^ (mixed >> 29)) & mask
    # Unsigned places, here and below, cannot mean 'from the end': the test for that is a fifth of the time.
    entry = index[np.uintp(slot)]
    while entry != FREE and book[np.uintp(entry * stride)] != key:
        slot = (slot + 1) & mask
        entry = index[np.uintp(slot)]
    return slot


def keyed_panes(
    elements: Columns,
    valid: Mask,
    times: Ints,
    event: Ints,
    key: Ints,
    lengths: Ints,
    index: ShortInts,
    book: Ints,
    cells: Columns,
    progress: Ints,
    until: int,
    ends: Ints,
    owners: Ints,
    known: Mask,
    out: Columns,
) -> int:
    """Take in the pairs (event, key) in the order of time and fold the windows that end by `until`.

    lengths: WA, WS, g, WS / g. Output: ends and owners (keys) of windows, known (whether there was a
    value at all) and out, the folds. An empty `valid` means: no nulls.
    """
    advance, size, pane, ring = lengths[0], lengths[1], lengths[2], lengths[3]
    stride = ring + 2
    pairs, room = len(event), len(book) // stride
    i, due, entry, written = progress[NEXT], progress[DUE], progress[ENTRY], progress[WRITTEN]
    used, latest = progress[USED], progress[LATEST]
    outcome = DONE
    while outcome == DONE:
        now = times[event[i]] if i < pairs else until
        while due <= now:
            low, high = (due - size) // pane, due // pane
            if latest < low:
                # Nobody has a tuple in this window or a later one: go on with the first that now can be in.
                due = ((now - size) // advance + 1) * advance + size
                break
            oldest = low % ring
            while entry < used:
                if book[entry * stride + 1] >= low:
                    total, found, some = identity(), False, False
                    turn = oldest
                    for p in range(low, high):
                        stamp = book[entry * stride + 2 + turn]
                        if stamp >> 1 == p:
                            total = combine(total, load(cells, entry * ring + turn))
                            found, some = True, some or stamp & 1 == 1
                        turn = turn + 1 if turn + 1 < ring else 0
                    if found:
                        if written == len(ends):
                            outcome = FULL
                            break
                        ends[written], owners[written], known[written] = due, book[entry * stride], some
                        store(out, written, total)
                        written += 1
                entry += 1
            if outcome == FULL:
                break
            entry = 0
            due += advance
        if outcome == FULL or i >= pairs:
            break
        latest = now // pane
        turn, border = latest % ring, (latest + 1) * pane
        # Windows end at borders of panes, so that nothing is due before the border.
        while i < pairs and times[np.uintp(event[i])] < border:
            slot = place(index, book, stride, key[i])
            at = index[np.uintp(slot)]
            if at == FREE:
                if used == room:
                    outcome = GROW
                    break
                at = used
                used += 1
                index[slot] = at
                book[at * stride] = key[i]
                for nth in range(ring):
                    book[at * stride + 2 + nth] = UNUSED
            cell, note = at * ring + turn, np.uintp(at * stride + 2 + turn)
            if book[note] >> 1 != latest:
                book[at * stride + 1] = latest
                book[note] = 2 * latest
                store(cells, cell, identity())
            if len(valid) == 0 or valid[event[i]]:
                book[note] = 2 * latest + 1
                store(cells, cell, combine(load(cells, cell), load(elements, event[i])))
            i += 1
    progress[NEXT], progress[DUE], progress[ENTRY], progress[WRITTEN] = i, due, entry, written
    progress[USED], progress[LATEST] = used, latest
    return outcome


def enter(index: ShortInts, book: Ints, stride: int, used: int) -> None:
    """Put the entries of a book into an empty index."""
    for entry in range(used):
        index[place(index, book, stride, book[entry * stride])] = entry
