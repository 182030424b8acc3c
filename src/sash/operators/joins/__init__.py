"""Window joins: pairs of events of two streams that are close in time and satisfy a predicate.

    bound.py       the join and its columns          strategy.py   hash, band cells or join matrix
    chunk.py       rows sorted for searching         matcher.py    which candidates match
    operator.py    batch after batch                 store.py      both sides, in shares
    bounded.py     whole inputs at once              alone.py      rows of outer joins that met none
    two_sided.py   what is saved between batches     pair_table.py what comes out, as a table
    bound_asof.py  an as-of join and its columns     asof.py       its answers, over columns
    lookup.py      events with a table's columns     asof_operator.py  the same batch after batch
    held_rows.py   rows by key, until an instant     bits.py       which rows, as text for a header
    key_codes.py   keys of two tables as numbers     threads.py    several pieces of work at a time

What joins mean is in `semantics/join.py` and `semantics/asof.py`.
"""
