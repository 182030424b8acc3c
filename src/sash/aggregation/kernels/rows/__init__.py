"""Rows by key, by cell and by share, and the hash of a key.

csr.py                  rows by key, in CSR layout: a stable counting sort, in two passes over the codes
grouped_positions.py    where rows go when they are grouped by key, and columns that are moved there
key_and_pane_groups.py  groups of rows by key and pane, in one pass over rows that stand in any order
key_sets.py             sets of keys in rows of O+ operators, and the share of each key
murmur3.py              Spark's `hash` over whole columns: MurmurHash3 (A
numbering.py            a dense number for each distinct integer of a column, in one pass, by a hash table
text_numbering.py       a dense number for each distinct short text of a column, in one pass
"""
