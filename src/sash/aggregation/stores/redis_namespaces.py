"""All namespaces of a Redis server, seen from outside: which there are, and to remove those of the dead."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from sash.aggregation.stores.redis import GROUP, Redis

_FIRST, _LAST = b"sash:{", b"}:"


class RedisNamespaces:
    """Of the server at `url`. What other programs keep there is neither seen nor touched."""

    def __init__(self, url: str) -> None:
        self._server = Redis(url, namespace="namespaces")

    def names(self) -> list[str]:
        """Those that have ever committed an epoch."""
        found = self._keys(_FIRST + b"*" + _LAST + b"epoch")
        return sorted(key[len(_FIRST) : key.rindex(_LAST)].decode() for key in found)

    def remove(self, names: Iterable[str]) -> int:
        """Delete everything of these namespaces; return how many keys that were."""
        client, count = self._server._client, 0
        for name in names:
            keys = sorted(self._keys(_FIRST + name.encode() + _LAST + b"*"))
            for at in range(0, len(keys), GROUP):
                count += int(self._server._ask(partial(client.unlink, *keys[at : at + GROUP])))
        return count

    def close(self) -> None:
        self._server.close()

    def _keys(self, pattern: bytes) -> set[bytes]:
        client = self._server._client
        return self._server._ask(lambda: set(client.scan_iter(match=pattern, count=1000)))
