"""The monoid trees: Log MTA and Amortized MTA, over memory or a store.

aligned_blocks.py   the implicit forest: complete binary trees as aligned blocks of positions
amortized_mta.py    Amortized MTA: the left edge is kept unfolded, a query is one combine
evict_by_policy.py  eviction by a slide policy, by descent through a forest of aligned blocks
log_mta.py          Log MTA: the fold of a window from the blocks that cover it
monoid_forest.py    what both have in common: folds of aligned blocks, and their tails
nodes.py            where the nodes of a monoid tree are kept
stored_nodes.py     the nodes of a monoid tree in a store: what a window need not have in memory
"""
