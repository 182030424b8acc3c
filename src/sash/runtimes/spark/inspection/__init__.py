"""A checkpoint looked into, without running its query.

arrow_folder.py   a folder that is only read, wherever it is
checkpoint.py     what Spark writes beside the state: batches and watermark
query_words.py    the query that the state belongs to, in words
checkpoint_contents.py  what was found: stages, buckets, obstacles
state_store.py    the state of a query on Spark, through Spark's own reader of state
elastic_state.py  the state of an elastic query, in its store
resumable.py      whether its query can go on from there
leftovers.py      what killed processes and deleted checkpoints have left
"""
