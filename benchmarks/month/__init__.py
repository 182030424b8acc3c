"""A month in an hour: does anything grow while a stream runs for long?

    python -m benchmarks.month.run HOME [--keys 10000000] [--days 30] [--hours 1] [--minutes 60] [--to PATH]

A month of event time through the public API on Spark, one micro-batch for each hour or, with `--hours`, for
more of them; `make month` takes eight, which is about an hour for 10⁷ keys. Every key lives for a day and
never comes back; there are bursts, floods of late events, silent hours, files (partitions) that come and
go, drivers that stop and drivers that are killed, and an elastic query that changes its degree.

    together   sliding windows with corrections, sessions, look-backs, and windows of rows that forget keys
    elastic    sliding windows, state in LMDB

After each batch the memory of every process, the bytes of all state and the number of files go to
HOME/measures.jsonl. Nothing of it may grow after the first day: the median of the last week is at most 1.2
times that of days 2 to 4. A run that was interrupted, or that has used up its minutes, goes on when it is
started again with the same HOME.
"""
