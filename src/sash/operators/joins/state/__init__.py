"""What a join holds between batches: rows of both sides, their keys, and which are unmatched.

    archive.py          the rows of a side, once each; everything else refers to them by place
    chunk.py            tuples of a side in the order in which candidates are looked for
    side_shares.py      both sides in shares of chunks: how a join of two streams stores its tuples
    key_slots.py        keys and their numbers
    unmatched_rows.py   rows of an outer join that have met none
    row_bits.py         sets of rows as text, for headers

As-of joins have `Rows` of `archive.py` in a table of their own: `joins/asof/rows_by_key_hash.py`.
"""
