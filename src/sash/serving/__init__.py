"""Features at request time: what a stream publishes by key, and how it is read without Spark.

publisher    rows that a batch has emitted → trees of folds, one per key, in Redis or LMDB
online       keys and an instant → one row per key, by the query's own monoids
"""
