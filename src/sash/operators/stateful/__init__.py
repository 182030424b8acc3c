"""O+, the generalised stateful operator: what it is (declaration.py), and how it runs (running.py).

declaration.py   the parameters, with the defaults of the STRETCH paper
windows.py       what a user's functions see: a tuple that arrives, the windows of a key
keys.py          f_MK over columns: a set of keys for every tuple
names.py         keys that are not integers, as integers
running.py       shares of keys, each touched by one instance at a time
prepared.py      what instances need of a run, computed by them together
interpreted.py   a share for functions in plain Python
aggregate.py     A+: f_U is a monoid     panes.py, pane_table.py   its shares, as compiled tables of panes
join.py          J+: ScaleJoin           matching.py               its shares, as columns of stored tuples
streaming.py     between batches: tuples that wait, and those of open windows
common_rows.py   tuples of several inputs as rows of one table, where they travel and wait
"""
