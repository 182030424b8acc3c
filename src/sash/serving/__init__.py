"""Features at request time: what a stream publishes by key, and how it is read without Spark.

feature_stores.py        where published features lie: names → bytes, in a Redis server or an LMDB folder
key_bytes.py             keys as bytes, the same for whoever writes and whoever reads
online.py                keys and an instant → one row per key, by the query's own monoids: `sash.online`
published_page_trees.py  the trees of many keys, as their publisher changes them
published_state.py       published features looked into: what a store holds of them, and whether it is whole
publisher.py             rows that a batch has emitted → trees of folds, one per key, in a store
query_description.py     a query as data in its store, so that a reader needs nothing but the store
record_pages.py          pages: the bytes under which a store holds the records of a key
records.py               records: an event, or the fold of a run of events, as a row of 64-bit words
store_names.py           the names under which a store holds what is published
"""
