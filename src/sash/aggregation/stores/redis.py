"""A distributed store: a Redis server that many hosts reach, written through pipelines.

Keys of one namespace share a hash tag, so that a cluster keeps them in one slot:

    sash:{namespace}:epoch, :oldest        where the state is, and what it can go back to
    sash:{namespace}:fence                 the greatest token so far, as digits
    sash:{namespace}:label                 what the namespace is of, for whoever finds it
    sash:{namespace}:live:<key>            the values, sealed
    sash:{namespace}:undo:<key>, :undone   what the last epoch replaced, and the keys it touched
    sash:{namespace}:new:<writer>:…        a delta on its way: not part of any state
    sash:{namespace}:writers               whose deltas are on their way

A commit first stages the delta in groups, then one script renames the staged keys into place and moves
the epoch. Redis runs a script as a whole, so no reader and no failure sees half of it; and renaming moves
no bytes. Every read gets the epoch in the same command as the values.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sash.aggregation.stores.epoch_store import FRESH, TOKENS, Committed, Delta, EpochStore, followed_by
from sash.aggregation.stores.protocol import check_namespace
from sash.aggregation.stores.redis_client import Client, client_of
from sash.aggregation.stores.redis_package import address_of, redis_package, unreachable
from sash.aggregation.stores.values import require_layout, seal, unseal
from sash.errors import ArgumentError, CorruptValue, StoreError, StoreUnavailable

if TYPE_CHECKING:
    import redis

Item = TypeVar("Item")
Reply = TypeVar("Reply")

LAYOUT = 1
"""Of these keys. Another one would be under `layout`; the first has no such key."""
GROUP = 256
"""Keys in one command or pipeline: large enough to hide the round trip, small enough to bound memory."""

# Tokens have more bits than Lua's numbers: digits of one length are compared as text.
_DIGITS = len(str(TOKENS))
_INSIDE = """
local fence = redis.call('GET', ARGV[1] .. 'fence')
if fence and fence > ARGV[2] then return {'outside', fence} end
"""

FENCE = (
    _INSIDE
    + """
redis.call('SET', ARGV[1] .. 'fence', ARGV[2])
return {'done', ARGV[2]}
"""
)

NEXT = """
if (redis.call('GET', ARGV[1] .. 'fence') or '') ~= ARGV[3] then return 0 end
redis.call('SET', ARGV[1] .. 'fence', ARGV[2])
return 1
"""

COMMIT = (
    _INSIDE
    + """
local root, epoch, writer, expected = ARGV[1], tonumber(ARGV[3]), ARGV[4], tonumber(ARGV[5])
local at = tonumber(redis.call('GET', root .. 'epoch') or '-1')
if at ~= epoch - 1 then return {'at', tostring(at)} end
local staged = root .. 'new:' .. writer
if redis.call('SCARD', staged .. ':put') + redis.call('SCARD', staged .. ':del') ~= expected then
  return {'incomplete', tostring(at)}
end
-- Redis takes nothing back when a script fails half-way, so whatever could fail is looked at first.
for _, key in ipairs(redis.call('SMEMBERS', staged .. ':put')) do
  if redis.call('EXISTS', staged .. ':val:' .. key) == 0 then return {'incomplete', tostring(at)} end
end
for _, key in ipairs(redis.call('SMEMBERS', root .. 'undone')) do
  redis.call('UNLINK', root .. 'undo:' .. key)
end
redis.call('DEL', root .. 'undone')
local function set_aside(key)
  redis.call('SADD', root .. 'undone', key)
  if redis.call('EXISTS', root .. 'live:' .. key) == 1 then
    redis.call('RENAME', root .. 'live:' .. key, root .. 'undo:' .. key)
  end
end
for _, key in ipairs(redis.call('SMEMBERS', staged .. ':put')) do
  set_aside(key)
  redis.call('RENAME', staged .. ':val:' .. key, root .. 'live:' .. key)
end
for _, key in ipairs(redis.call('SMEMBERS', staged .. ':del')) do set_aside(key) end
redis.call('DEL', staged .. ':put', staged .. ':del')
redis.call('SREM', root .. 'writers', writer)
for _, other in ipairs(redis.call('SMEMBERS', root .. 'writers')) do
  local stale = root .. 'new:' .. other
  for _, key in ipairs(redis.call('SMEMBERS', stale .. ':put')) do
    redis.call('UNLINK', stale .. ':val:' .. key)
  end
  redis.call('DEL', stale .. ':put', stale .. ':del')
end
redis.call('DEL', root .. 'writers')
redis.call('SET', root .. 'epoch', epoch)
redis.call('SET', root .. 'oldest', epoch - 1)
return {'done', tostring(epoch)}
"""
)

REVERT = (
    _INSIDE
    + """
local root, epoch = ARGV[1], tonumber(ARGV[3])
local at = redis.call('GET', root .. 'epoch') or '-1'
if tonumber(at) ~= epoch then return {'at', at} end
for _, key in ipairs(redis.call('SMEMBERS', root .. 'undone')) do
  redis.call('UNLINK', root .. 'live:' .. key)
  if redis.call('EXISTS', root .. 'undo:' .. key) == 1 then
    redis.call('RENAME', root .. 'undo:' .. key, root .. 'live:' .. key)
  end
end
redis.call('DEL', root .. 'undone')
redis.call('SET', root .. 'epoch', epoch - 1)
redis.call('SET', root .. 'oldest', epoch - 1)
return {'done', tostring(epoch - 1)}
"""
)


class Redis(EpochStore):
    """A namespace of the Redis server at `url`.

    A server that does not answer is tried again: `attempts` times in all, waiting `backoff` seconds, then
    twice as long each time. After that `StoreUnavailable` is raised; the delta is kept, so that the same
    call works once the server is back.
    """

    def __init__(
        self,
        url: str = "redis://127.0.0.1:6379/0",
        *,
        namespace: str = "default",
        attempts: int = 6,
        backoff: float = 0.05,
        timeout: float = 5.0,
    ) -> None:
        super().__init__()
        check_namespace(namespace)
        if attempts < 1:
            raise ArgumentError("attempts", attempts, "1 or more")
        self.url, self.namespace = url, namespace
        self._options: dict[str, Any] = {"attempts": attempts, "backoff": backoff, "timeout": timeout}
        self._attempts, self._backoff, self._timeout = attempts, backoff, timeout
        self._root = b"sash:{" + namespace.encode() + b"}:"
        package = redis_package("a Redis store")
        self._unreachable, self._refused = unreachable(package), package.RedisError
        self._shared: Client | None = None
        self._epoch = self._committed().epoch

    @property
    def address(self) -> str:
        """Host and port, without the password that the URL may hold."""
        return address_of(self.url)

    @property
    def _client(self) -> redis.Redis:
        if self._shared is None or self._shared.is_inherited:
            self._shared = client_of(self.url, timeout=self._timeout)
        return self._shared.commands

    def _retried(self, command: Callable[[], Reply]) -> Reply:
        for attempt in itertools.count(1):
            try:
                return command()
            except self._unreachable as error:
                if attempt == self._attempts:
                    raise StoreUnavailable(
                        f"the Redis server at {self.address} does not answer after {attempt} attempts "
                        f"({error}); is it running? Nothing is lost: the same call can be made again"
                    ) from error
                time.sleep(self._backoff * 2 ** (attempt - 1))
            except self._refused as error:
                raise StoreError(
                    f"the Redis server at {self.address} refused a command: {error}"
                ) from error
        raise AssertionError("the loop above returns or raises")

    def label(self, text: bytes) -> None:
        self._retried(partial(self._client.set, self._root + b"label", text))

    def _put_up(self, token: int | None) -> int:
        name = self._root + b"fence"
        while token is None:
            # Whoever is faster has the same token, which must be one handle's only.
            found = self._retried(partial(self._client.get, name))
            following = self._number(found or b"0", name) + 1
            if self._retried(
                partial(self._client.eval, NEXT, 0, self._root, _digits(following), found or b"")
            ):
                return following
        self._run(FENCE, token=token)
        return token

    def _run(self, script: str, *arguments: bytes, token: int | None = None) -> bytes:
        """What a script answers; EpochError if this handle is outside of the fence."""
        token = self._token if token is None else token
        given = [self._root, _digits(token), *arguments]
        answer, newest = self._retried(partial(self._client.eval, script, 0, *given))
        if answer == b"outside":
            self._require_inside(int(newest), token)
        return bytes(answer)

    def _committed(self) -> Committed:
        names = [self._root + b"epoch", self._root + b"oldest", self._root + b"layout"]
        epoch, oldest, layout = self._retried(partial(self._client.mget, names))
        if layout is not None:
            require_layout(f"the Redis store {self.namespace!r}", self._number(layout, names[2]), LAYOUT)
        return (
            FRESH
            if epoch is None
            else Committed(self._number(epoch, names[0]), self._number(oldest, names[1]))
        )

    def _number(self, data: bytes | None, name: bytes) -> int:
        try:
            return int(data or b"")
        except ValueError:
            raise CorruptValue(f"the value under key {name!r} is not an epoch: {data!r}") from None

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values: list[bytes | None] = []
        for group in groups(keys):
            names = [self._root + b"epoch", *(self._root + b"live:" + key for key in group)]
            epoch, *found = self._retried(partial(self._client.mget, names))
            self._require_epoch(FRESH.epoch if epoch is None else self._number(epoch, names[0]))
            pairs = zip(group, found, strict=True)
            values += [None if data is None else bytes(unseal(key, data)) for key, data in pairs]
        return values

    def _base_keys(self, prefix: bytes) -> list[bytes]:
        start = self._root + b"live:"
        pattern = start + literal(prefix) + b"*"
        self._require_epoch(self._committed().epoch)
        # SCAN may name a key twice.
        found = self._retried(lambda: set(self._client.scan_iter(match=pattern, count=1000)))
        self._require_epoch(self._committed().epoch)
        return [name[len(start) :] for name in found]

    def _write(self, epoch: int, delta: Delta) -> None:
        self.on_step("before staging")
        for _ in range(self._attempts):
            if not followed_by(self._committed(), epoch):
                break
            # A name of its own for each try: what an abandoned one has staged must not be mixed in.
            writer = os.urandom(8).hex().encode()
            self._stage(writer, delta)
            answer = self._run(COMMIT, str(epoch).encode(), writer, str(len(delta)).encode())
            # 'incomplete': the server lost staged keys, as one without persistence does when it restarts;
            # 'at': this very script ran before and its reply was lost, or another process was faster.
            # Both are settled by looking again where the server is.
            if answer == b"done":
                break
        else:
            raise StoreUnavailable(
                f"the Redis server at {self.address} lost what was staged for epoch {epoch} "
                f"{self._attempts} times; does it restart? Nothing is lost: the same call can be made again"
            )
        self.on_step("after the script")

    def _stage(self, writer: bytes, delta: Delta) -> None:
        for number, group in enumerate(groups(list(delta.items()))):
            self._retried(partial(self._send, writer, group))
            self.on_step(f"group {number} staged")

    def _send(self, writer: bytes, group: Sequence[tuple[bytes, bytes | None]]) -> None:
        area = self._root + b"new:" + writer
        pipeline = self._client.pipeline(transaction=False)
        # Names go before values, so that whatever a dead writer leaves behind can be found and removed.
        pipeline.sadd(self._root + b"writers", writer)
        for key, value in group:
            if value is None:
                pipeline.sadd(area + b":del", key)
            else:
                pipeline.sadd(area + b":put", key)
                pipeline.set(area + b":val:" + key, seal(key, value))
        pipeline.execute()

    def _revert(self, epoch: int) -> None:
        self._run(REVERT, str(epoch).encode())

    def _release(self) -> None:
        self._shared = None

    def _reopen(self) -> tuple[Any, ...]:
        return partial(Redis, namespace=self.namespace, **self._options), (self.url,)


def _digits(token: int) -> bytes:
    return str(token).zfill(_DIGITS).encode()


def literal(prefix: bytes) -> bytes:
    """As a pattern of Redis that only these bytes match."""
    special = b"\\*?[]^-"
    return b"".join(b"\\" + bytes([c]) if c in special else bytes([c]) for c in prefix)


def groups(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + GROUP] for start in range(0, len(items), GROUP))
