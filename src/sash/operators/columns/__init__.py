"""Batches as columns: the layout by key, Arrow to numpy and back, times as integers.

announced_lengths.py  how long buffers of compressed messages are to be, before Arrow allocates them
arrow_columns.py  Arrow columns as kernels want them, and results as Arrow columns
coded_keys.py     keys as dense numbers, equal exactly where all key columns are equal
freed_memory.py   freed columns are used again, not given back to the system
layout.py         the layout that operators work on: all keys of a batch at once, in compressed sparse rows
table_bytes.py    tables as bytes, with their schema
times.py          time columns as integers, and back
"""
