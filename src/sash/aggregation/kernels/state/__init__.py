"""What a window operator keeps of every key between two batches: rings, their trees, timers, keys.

busy_key_folds.py             kernel templates for many ranges of one key that follow each other
key_index.py                  a hash index: from the words of a key to its row in a table
look_back_and_range_folds.py  folds of look-backs and of other ranges, from the nodes of rings
look_back_bounds.py           where look-backs begin and end among elements of their keys (see `rings`)
policy_window_eviction.py     kernel template: slide policies over rings (see `rings`)
ring_search.py                where values lie among the sorted elements of a key
rings.py                      the elements of every key, in regions of one shared table
timers.py                     which keys have something to do by a given time
"""
