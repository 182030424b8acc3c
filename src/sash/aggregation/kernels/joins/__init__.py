"""Pairs of rows of two streams: candidates, matches and their order.

asof.py        the answer to each row of a side among the rows of the other
pair_order.py  the order of pairs: by (time, left, right), where many pairs share few times
pairs.py       pairs of rows from two sets of columns: first which could match, then which do
predicates.py  a predicate over two rows as a compiled matcher: from its tree, or its text
"""
