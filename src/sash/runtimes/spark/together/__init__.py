"""Several queries over one stream, in one pass.

    read once → pack once, the union of their columns → shuffle → step: every query of the bucket → sinks

    buckets of keys (symbol)   bars, alerts     queries whose keys agree share buckets and blocks
    buckets of keys (venue)    by_venue         others have buckets of their own, in the same stage

stage.py        what executors know: the queries, their buckets, the columns of a block
shared_rows.py  what has come for a bucket, and what of it each query gets
epochs.py       the step in epochs, where `start` runs it
processor.py    the step over Spark's state store, for checkpoints that have theirs there, by query
start_together.py  from queries to a running stream
"""
