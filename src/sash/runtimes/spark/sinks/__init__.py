"""Where the outputs of a streaming query go, batch by batch; a batch that is executed again is there once.

    a path, folder(…)    files, published by a manifest that is written last    folder.py, manifests.py
    a function           function(DataFrame, number of the batch)               protocol.py
    table(…)             a Delta or Iceberg table                               tables.py
    jdbc(…)              a table of a database, by upsert                       jdbc.py
    redis(…)             keys of a Redis server, each with its newest row       redis.py
    kafka(…)             a topic; at least once, each message with its batch    kafka.py

A batch that is executed again has the same rows: what is known of a batch is therefore only whether it is
done.

console_and_noop.py  sinks that keep nothing beyond a run
manifest_runs.py     manifests of a folder, put together
online.py            a sink whose rows are also published by key, to be read at request time
sink_of_argument.py  what a caller gave as a sink, as a `BatchSink`
task_files.py        files of a folder that the tasks of a step write themselves
usable.py            whether a sink can be written by this query, before the first batch
wrapped_sinks.py     rows as a sink can take them, where that is not as they are
"""
