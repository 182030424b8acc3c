"""Streaming DataFrames: the stages of a query, its stateful step and its start.

bucket_call.py               what the operator of a bucket emits in the course of one call
deliver_outputs_to_sinks.py  the outputs of a pass are separated: to each its sink
epochs_or_state_store.py     where the state of a query that `start` begins is kept
heartbeat.py                 time that goes on without events
interruption.py              a micro-batch that fails because its query is stopped
panes_before_shuffle.py      panes folded where rows are packed, before the shuffle
plan_of_checkpoint.py        under which pattern a query begins, and how it finds it again
processor_for_driver.py      a processor that is light to unpack, around one that is not
running_query.py             a streaming query that runs: Spark's handle, with complete reports
start.py                     `q.start(sink, …)`: a streaming query with its sink, fixed or elastic
stateful_processor.py        the stateful step: all keys of a bucket, batch after batch
stateful_step.py             the stateful step and what follows it: blocks → transformWithState → rows
streaming_source.py          a streaming DataFrame as input, and a streaming DataFrame as answer
upstream_watermark.py        the watermarks that a streaming DataFrame comes with
watermark_to_tasks.py        the watermark of a micro-batch, known to its tasks
watermark_units.py           Spark's watermark in the units of a query
window_stage.py              a streaming query as its executors know it
worker_gc.py                 the garbage collector of a Python worker that runs many small tasks
"""
