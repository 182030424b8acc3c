"""O+, the generalised stateful operator: what it is (declaration.py), how it runs (running_operator.py).

declaration.py   the parameters, with the defaults of the STRETCH paper
windows.py       what a user's functions see: a tuple that arrives, the windows of a key
keys.py          f_MK over columns: a set of keys for every tuple
keys_as_integers.py     keys that are not integers, as integers
running_operator.py     shares of keys, each touched by one instance at a time
shared_preparation.py   what instances need of a run, computed by them together
interpreted_shares.py   shares for functions in plain Python
process_shares.py       the same in worker processes      share_worker.py   what these do
aggregate.py     A+: f_U is a monoid     compiled_aggregate.py, pane_table.py   its shares
join.py          J+: ScaleJoin           join_shares.py    its shares, those of all window joins
streaming.py     between batches: tuples that wait, and open windows
pane_log.py, window_log.py   what is saved of windows: folds of panes, or the states of functions
rows_of_all_inputs.py   tuples of several inputs as rows of one table, where they travel and wait
"""
