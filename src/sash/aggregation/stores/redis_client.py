"""One client of a Redis server for all handles of a process: connections by thread, not by handle.

A worker has a handle for every bucket that it has ever served, of several queries, and a server has 10,000
connections: whoever wants one more is refused, whatever program it is.

Handles keep their `Client` referenced, and nothing else does. So its connections end with the last handle
that is closed or forgotten. A process that was forked makes one of its own. What it inherits it neither
uses nor shuts down, which would end the connections of its parent.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, finalize

from sash.aggregation.stores.redis_package import redis_package

if TYPE_CHECKING:
    import redis


class Client:
    """Of one server; any number of threads can use it."""

    def __init__(self, url: str, *, timeout: float) -> None:
        package = redis_package("a Redis store")
        from redis.backoff import NoBackoff
        from redis.retry import Retry

        pool = package.ConnectionPool.from_url(
            url,
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            # A store retries by itself; a second layer underneath would multiply its bound.
            retry=Retry(NoBackoff(), 0),
        )
        self.process = os.getpid()
        self.commands: redis.Redis = package.Redis(connection_pool=pool)  # which does not close the pool
        finalize(self, _close, pool, self.process)

    @property
    def is_inherited(self) -> bool:
        """Whether it is of the process that this one was forked from."""
        return self.process != os.getpid()


_open: WeakValueDictionary[tuple[int, str, float], Client] = WeakValueDictionary()
"""By process, URL and timeout."""


def client_of(url: str, *, timeout: float) -> Client:
    """The client of this process. Two threads that are the first at the same time may get two, of which one
    ends with its handle."""
    key = os.getpid(), url, timeout
    found = _open.get(key)
    return _open.setdefault(key, Client(url, timeout=timeout)) if found is None else found


def _close(pool: Any, process: int) -> None:
    if process == os.getpid():
        pool.disconnect()
