"""Key-value stores that move from epoch to epoch as a whole: memory, files, LMDB, Redis.

epoch_store.py       the commit rule, once for all stores
files.py             a store of files, on any file system that Arrow opens
kept_facts.py        facts read from JSON: numbers that such state can have
lmdb.py              an embedded store: larger than memory, shared by the processes of a host
lmdb_damage.py       what can be known of a damaged LMDB file, and what to do about it
lmdb_environment.py  one open LMDB environment per process and file
lmdb_view.py         an LMDB store seen from outside: read-only, by somebody who is no part of it
memory.py            a store in this process's memory: the default, and the yardstick for the others
one_state.py         reading a store whose query may be running: one committed state
protocol.py          what a store is: it moves from epoch to epoch as a whole
redis.py             a distributed store: a Redis server that many hosts reach, written through pipelines
redis_client.py      one client of a Redis server for all handles of a process
redis_namespaces.py  the namespaces of a Redis server, to list them and to remove the dead
redis_package.py     the package redis: whether it is there, its errors, an address to show
values.py            the bytes of a stored value: a sealed frame around numpy arrays or anything else
"""
