"""Operators in Spark's state store, the arenas beside it, and the query that a checkpoint belongs to.

arenas.py                    where the arenas of a query lie on Spark, and when they go
checkpoint_compatibility.py  whether a query can go on from a checkpoint of another one
checkpoint_label.py          what names a checkpoint on a server, and whether it is there still
fingerprint.py               what a query is, in words that can be compared
operators_in_state.py        an operator in Spark's state store, and in the memory of its worker
queries_of_checkpoint.py     which queries a checkpoint has, and what their state is called
stable_json.py               values as plain JSON that means the same on another day
token_layout.py              the layout number of a bucket's token, wherever it is kept
worker_memory.py             how much memory a Python worker may keep: SASH_WORKER_MEMORY
"""
