"""Kernel templates of the sliding-window aggregation algorithms.

amta.py                    the monoid tree in arrays, as kernel templates
daba.py                    DABA Lite as kernel templates: a constant number of combines for every event
fiba.py                    finger B-tree over a count window of events out of order
fiba_edges.py              what changes the finger B-tree: at the right edge, at the left, in between
fiba_tree.py               its tree in flat arrays, with two fingers
fiba_window.py             the finger B-tree that lives on between calls
ring.py                    windows that live on between calls: what the FIFO structures' kernels share
slide_by_any_algorithm.py  a count window slides over an array, by any of them
subtract_on_evict.py       subtract on evict as kernel templates: total ← inverse(total ⊕ new, oldest)
two_stacks.py              two stacks lite as kernel templates
"""
