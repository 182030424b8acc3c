"""Where the outputs of a streaming query go, batch by batch; a batch that is executed again is there once.

    a path, folder(…)    files, published by a manifest that is written last    folder.py, manifests.py
    a function           function(DataFrame, number of the batch)               protocol.py
    table(…)             a Delta or Iceberg table                               tables.py
    jdbc(…)              a table of a database, by upsert                       jdbc.py
    redis(…)             keys of a Redis server, each with its newest row       redis.py
    kafka(…)             a topic; at least once, each message with its batch    kafka.py

A batch that is executed again has the same rows: what is known of a batch is therefore only whether it is
done.
"""
