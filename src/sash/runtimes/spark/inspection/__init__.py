"""A checkpoint looked into, without running its query.

checkpoint.py     what Spark writes beside the state: batches and watermark
query_words.py    the query that the state belongs to, in words
checkpoint_contents.py  what was found: stages, buckets
state_store.py    the state of a query on Spark, through Spark's own reader of state
elastic_state.py  the state of an elastic query, in its store
leftovers.py      what deleted checkpoints have left on a Redis server
"""
