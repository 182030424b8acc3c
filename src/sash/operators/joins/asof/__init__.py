"""As-of joins: each row of the left with the nearest row of the right.

bound_asof.py         the join and its columns
asof_columns.py       which right row matches each left one
asof_operator.py      batch after batch
rows_by_key_hash.py   rows that are held between batches
"""
