"""Where operators keep what they need not have in memory: `Memory`, `LMDB`, `Files`, `Redis`.

>>> with Memory() as store:
...     store.put_many({b"answer": b"42"})
...     store.commit(0)
...     store.get_many([b"answer", b"question"])
[b'42', None]
"""

from sash.aggregation.stores.files import Files
from sash.aggregation.stores.lmdb import LMDB
from sash.aggregation.stores.memory import Memory
from sash.aggregation.stores.protocol import NOTHING_COMMITTED, Store
from sash.aggregation.stores.redis import Redis

__all__ = ["LMDB", "NOTHING_COMMITTED", "Files", "Memory", "Redis", "Store"]
