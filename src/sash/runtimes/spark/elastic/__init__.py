"""Elastic queries: an epoch is a micro-batch, and any number of tasks can serve the buckets of an epoch.

    pack → repartitionById(bucket mod n) → step, state in a decoupled store → unpack → sink

home.py       where the state lives: a store for each bucket, one for the journal
journal.py    what the driver remembers from batch to batch
held.py       the operator of a bucket in its store
step.py       what a task does with its buckets
metering.py   what a batch took, and what a controller sees of it
run.py        a micro-batch, and the handle of the running query
"""
