"""Windows that live on between calls: what the FIFO structures' kernels share.

    <name>_insert(columns, ring, edge, header)      all of `columns`, for which the ring has room
    <name>_evict(ring, edge, header, k)             the k oldest, k ≤ end − head
    <name>_query(ring, edge, header)                the fold of the window

`ring` has a cell per position, at position & (capacity − 1); capacity is a power of two. `edge` is a fixed
number of cells, at first all identity, and `header` of integers, at first all 0. Positions are never
renumbered: the window is [header[HEAD], header[END]). The arrays are changed in place and never copied; the
caller exchanges a ring that is full for a larger one.
"""

HEAD, END = 0, 1
