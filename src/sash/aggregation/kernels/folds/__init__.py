"""Kernel templates that lift, fold and lower whole columns.

elementwise.py   kernel templates that touch each element once: lift, fold, lower
group_fold.py    one fold per group, in one pass over elements that stand in any order
keyed_panes.py   sliding time windows of many keys in one pass: a hash table from key to a ring of panes
lowering.py      from elements to results: values, and which of them are not null
range_fold.py    one fold per range, for all keys in one call
range_values.py  one value per range, from inputs to results in one pass: `range_fold` with other words
"""
