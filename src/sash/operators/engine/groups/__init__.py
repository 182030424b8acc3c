"""Windows that are kept in the same way, each group over its lane: which are due, and their values.

latest_group.py               the look-backs of `.latest` over what is kept
latest_rows.py                the latest row of each key, compared with the one before it
latest_rows_due.py            the latest row of each key, emitted when it has changed
lifetime_group.py             look-backs without end: only the fold of all events is kept
policy_by_definition.py       slide policies by definition: a scan in the monoids' own Python functions
policy_group.py               slide policies over the tree of a lane
range_group.py                windows that are ranges of kept elements, and share the lane that keeps them
session_and_growing_group.py  windows that only grow: only the fold of the open one is kept, or its rows
user_fold.py                  `.fold(init, step)` over windows that only grow
"""
