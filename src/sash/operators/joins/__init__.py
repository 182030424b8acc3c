"""Window joins: pairs of events of two streams that are close in time and satisfy a predicate.

    bound_join.py     the join and its columns        hash_band_or_matrix.py  how candidates are found
    bounded_join.py   whole inputs at once            matcher.py      which candidates match
    join_operator.py  batch after batch               join_output.py  what comes out, as a table
    two_sided.py      what is saved between batches   lookup.py       events with a table's columns
    key_codes.py      keys of two tables as numbers   state/          rows that are held between batches
    asof/             as-of joins

What joins mean is in `semantics/join.py` and `semantics/asof.py`.
"""
