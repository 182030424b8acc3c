"""Window joins: pairs of events of two streams that are close in time and satisfy a predicate.

    bound.py       the join and its columns          strategy.py   hash, band cells or join matrix
    kinds.py       what machine code can compare     matcher.py    which candidates match
    chunk.py       rows sorted for searching         store.py      both sides, in shares
    operator.py    batch after batch                 bounded.py    whole inputs at once

What a join means is in `semantics/join.py`.
"""
