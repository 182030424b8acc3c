"""The namespaces of a Redis server, seen from outside: to list them, to remove the dead, and its risks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial

from sash.aggregation.stores.redis import Redis, groups, literal
from sash.errors import StoreError, StoreUnavailable

STATE = b"sash:{"
"""How the keys of all stores begin; those of published features begin otherwise."""
_LAST = b"}:"


class RedisNamespaces:
    """Of the server at `url`. What other programs keep there is neither seen nor touched."""

    def __init__(self, url: str, *, first: bytes = STATE) -> None:
        self.url, self._first = url, first
        self._server = Redis(url, namespace="namespaces")

    def names(self, *, having: bytes = b"*") -> list[str]:
        """Those of which there is anything, or this key; also if they have never committed an epoch."""
        first, found = self._first, set[str]()
        for key in self._matching(literal(first) + b"*" + literal(_LAST) + having):
            with suppress(UnicodeDecodeError):  # another program's
                found.add(key[len(first) : key.index(_LAST)].decode())
        return sorted(found)

    def key(self, name: str, key: bytes) -> bytes:
        """What the server calls a key of a namespace."""
        return self._first + name.encode() + _LAST + key

    def keys(self, name: str) -> list[bytes]:
        """All of a namespace, as the server calls them."""
        return sorted(self._matching(literal(self.key(name, b"")) + b"*"))

    def label(self, name: str) -> bytes | None:
        """What a namespace is of, if it has been written down."""
        key = self.key(name, b"label")
        found: bytes | None = self._server._retried(partial(self._server._client.get, key))
        return found

    def idle(self, keys: Sequence[bytes]) -> int | None:
        """Seconds since one of these keys was read or written, not counting this. None where none is there,
        or where the server does not tell (maxmemory-policy …-lfu)."""
        found = list[int | None]()
        try:
            for some in groups(keys):
                found += self._server._retried(partial(self._idle, some))
        except StoreUnavailable:
            raise
        except StoreError:
            return None
        return min((seconds for seconds in found if seconds is not None), default=None)

    def _idle(self, keys: Sequence[bytes]) -> list[int | None]:
        pipeline = self._server._client.pipeline(transaction=False)
        for key in keys:
            pipeline.object("idletime", key)
        return list(pipeline.execute())

    def remove(self, names: Iterable[str]) -> int:
        """Delete everything of these namespaces; return how many keys that were."""
        client, count = self._server._client, 0
        for name in names:
            for some in groups(self.keys(name)):
                count += int(self._server._retried(partial(client.unlink, *some)))
        return count

    def risks(self) -> list[str]:
        """The settings by which this server may lose state, in words; none where it does not show them."""
        try:
            facts = self._server._retried(self._server._client.info)
        except StoreError as error:
            if isinstance(error, StoreUnavailable):
                raise
            return []
        policy, found = str(facts.get("maxmemory_policy", "")), []
        # The other policies remove only what has a time to live, which no key of a store has.
        if facts.get("maxmemory") and policy.startswith("allkeys"):
            found.append(
                f"it removes keys when its memory is full (maxmemory-policy is {policy}, not noeviction)"
            )
        if facts.get("aof_enabled") == 0:
            found.append("it forgets the last minutes when it ends (appendonly is no)")
        return found

    def close(self) -> None:
        self._server.close()

    def _matching(self, pattern: bytes) -> set[bytes]:
        client = self._server._client
        return self._server._retried(lambda: set(client.scan_iter(match=pattern, count=1000)))
