"""HOW FAST: from ranges to values, events or panes.

early_panes.py    panes first: the events of each key and pane, folded as they stand
elements.py       elements of a monoid in columns: events that are lifted, or folds of several of them
fold_ranges.py    the folder: from ranges to values, one column per aggregate
lifting.py        what an aggregate lifts of rows: its input columns, and which rows count
pane_parts.py     the parts of a pane: the element of each aggregate as columns of a row
panes.py          panes: what a query can fold before it knows which windows will close
values.py         what is computed over windows: a row of aggregates for each, or what a function returns
whole_windows.py  whole windows handed to a user's function: what cannot be written as a monoid
"""
