"""The namespaces of a Redis server, seen from outside: to list them, to remove the dead, and its risks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from sash.aggregation.stores.redis import GROUP, Redis
from sash.errors import StoreError, StoreUnavailable

_FIRST, _LAST = b"sash:{", b"}:"


class RedisNamespaces:
    """Of the server at `url`. What other programs keep there is neither seen nor touched."""

    def __init__(self, url: str) -> None:
        self._server = Redis(url, namespace="namespaces")

    def names(self) -> list[str]:
        """Those of which there is anything, also if they have never committed an epoch."""
        found = self._keys(_FIRST + b"*" + _LAST + b"*")
        return sorted({key[len(_FIRST) : key.index(_LAST)].decode() for key in found})

    def label(self, name: str) -> bytes | None:
        """What a namespace is of, if it has been written down."""
        key = _FIRST + name.encode() + _LAST + b"label"
        found: bytes | None = self._server._retried(partial(self._server._client.get, key))
        return found

    def remove(self, names: Iterable[str]) -> int:
        """Delete everything of these namespaces; return how many keys that were."""
        client, count = self._server._client, 0
        for name in names:
            keys = sorted(self._keys(_FIRST + name.encode() + _LAST + b"*"))
            for at in range(0, len(keys), GROUP):
                count += int(self._server._retried(partial(client.unlink, *keys[at : at + GROUP])))
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

    def _keys(self, pattern: bytes) -> set[bytes]:
        client = self._server._client
        return self._server._retried(lambda: set(client.scan_iter(match=pattern, count=1000)))
