"""Hot keys on a stream: five ways, the first two of them in this folder.

    functions of whole windows       busy buckets hand windows out to other tasks, batch by batch: here
    look-backs of numbers            further buckets share a hot key, by panes, in some batches: here
    aggregates over clock windows    rows are folded before the shuffle: `panes_before_shuffle.py`,
                                     `sql_folding/epoch_fold.py`
    look-backs, count windows        many ranges of one key share their folds:
                                     `kernels/state/busy_key_folds.py`
    skew that a user declares        `sash.Auto`

choose_busy_buckets.py    the driver decides between two batches, by the loads of the batch before
handing_of_batch.py       the tasks of a batch know which buckets hand out, and to how many workers
handed_out_windows.py     how windows leave a bucket, are computed elsewhere, and what that took

choose_shared_keys.py     the driver decides between two batches whose look-backs are shared
key_loads.py              how many rows of a key a batch has: what that is decided by
keys_of_batch.py          the tasks of a batch know which keys these are, and from which time on
look_back_packer.py       rows and elements of panes on their way to the buckets that share
look_back_buckets.py      what these buckets compute, and what their owners leave out
"""
