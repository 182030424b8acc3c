"""Epochs: a micro-batch is an epoch, and any number of tasks can serve its buckets. Queries of `start` and
of `together` run so, with a task per core; elastic ones choose how many.

    pack or fold → repartitionById(bucket mod n) → step, state in a decoupled store → sinks

store_of_state.py   where the state lives: a store for each bucket, one for the journal
epoch_journal.py    what the driver remembers from batch to batch
epoch_watermark.py  how far time has come
operator_in_store.py  the operator of a bucket in its store
epoch_step.py       what a task does with its buckets
sharing_step.py     the same where several buckets share the look-backs of hot keys
one_task.py         which batches are packed and computed in one task
epoch_answers.py    how rows leave the step
epoch_metering.py   what a batch took, and what a controller sees of it
epoch_progress.py   the same in Spark's progress reports
executors.py        executors that come and go with the tasks
decision_records.py  what was decided for a batch, and why: records, not who decides
epoch_run.py        a micro-batch
elastic_query.py    the handle of an elastic query
assumed_skew.py  whether the keys of a running query are as uneven as its plan took them to be
"""
