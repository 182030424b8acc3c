"""Patterns on Spark: a worker is a partition, and what it computes is sent to it.

active_workers.py             rows are sent to the partitions whose windows hold them
agnostic.py                   an owner for each bucket triggers windows, any worker computes them
count_windows_by_position.py  count windows of a static DataFrame, by the positions of events
element_table.py              elements of aggregates as a table, as they travel between tasks
late_relay.py                 late rows under patterns of two steps
own_windows.py                a worker of a window farm in the stateful step
owner.py                      the owner of a bucket of keys on a stream
route.py                      which worker computes which window
row_routes.py                 which buckets the rows of a stream go to under a pattern
shared_look_backs.py          look-backs of hot keys on static DataFrames, by several tasks
static_plan.py                a pattern on static DataFrames, as numbers
stream_plan.py                a pattern on a stream, as numbers
streaming_stages.py           patterns on a streaming DataFrame, as stages of Spark
window_parts.py               windows that an owner has found, in two steps: parts, then windows from them
"""
