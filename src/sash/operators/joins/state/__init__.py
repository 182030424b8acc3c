"""What a join holds between batches: rows of both sides, their keys, and which are unmatched.

    archive.py          the rows of a side, once each; everything else refers to them by place
    chunk.py            tuples of a side in the order in which candidates are looked for
    side_shares.py      both sides in shares: how a join of two streams stores its tuples
    side_chunks.py      the tuples of a side in a share, as sorted chunks or as one that grows
    binary_counter.py   when two neighbours become one, so that a growing list of them stays short
    row_chunks.py       the rows of both sides in a store: numbered chunks, dropped as a whole
    key_slots.py        keys and their numbers
    unmatched_rows.py   rows of an outer join that have met none
    row_bits.py         sets of rows as text, for headers

Tuples are evicted when the watermark is further than `within` behind them: `_expired` in
`joins/join_operator.py` has the rule, `JoinStore.expire` in `side_shares.py` applies it.
As-of joins have `Rows` of `archive.py` in a table of their own: `joins/asof/rows_by_key_hash.py`.
"""
