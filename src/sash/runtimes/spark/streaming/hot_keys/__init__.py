"""Hot keys on a stream: four ways, the first of them in this folder.

    functions of whole windows       busy buckets hand windows out to other tasks, batch by batch: here
    aggregates over clock windows    rows are folded before the shuffle: `panes_before_shuffle.py`,
                                     `sql_folding/epoch_fold.py`
    look-backs, count windows        many ranges of one key share their folds:
                                     `kernels/state/busy_key_folds.py`
    skew that a user declares        `sash.Auto`

choose_busy_buckets.py    the driver decides between two batches, by the loads of the batch before
handing_of_batch.py       the tasks of a batch know which buckets hand out, and to how many workers
handed_out_windows.py     how windows leave a bucket, are computed elsewhere, and what that took
"""
