"""Several queries over one stream, in one pass.

    read once → pack once, the union of their columns → shuffle → step: every query of the bucket → sinks

    buckets of keys (symbol)   bars, alerts     queries whose keys agree share buckets and blocks
    buckets of keys (venue)    by_venue         others have buckets of their own, in the same stage

stage.py        what executors know: the queries, their buckets, the columns of a block
processor.py    the stateful step
named_state.py  the state of each query in one state store
start_together.py  from queries to a running stream
"""
