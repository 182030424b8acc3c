"""Where published features lie: names → bytes, in a Redis server or an LMDB folder.

    redis://host:port/db#name     keys `sash-online:{name}:…`; a write is one MULTI … EXEC
    /a/folder                     an LMDB environment; a write is one transaction

A write is seen as a whole or not at all. Reads inside one `reading()` of LMDB see one committed state;
those of Redis see each write that happens between two of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import urldefrag

from sash.aggregation.stores import lmdb_damage, lmdb_environment
from sash.aggregation.stores.lmdb_environment import Environment
from sash.aggregation.stores.redis import literal
from sash.aggregation.stores.redis_package import address_of, redis_package, unreachable
from sash.errors import ArgumentError, StoreError, StoreUnavailable

Read: TypeAlias = Callable[[Sequence[bytes]], list[Any]]
"""Names → what lies under them, None where nothing does."""

NameAndValue: TypeAlias = tuple[bytes, bytes | None]
"""A name, and what lay under it when it was read."""

DUE = b"due"
FEATURES = b"sash-online:{"
"""How all keys on a server begin."""
_SCHEMES = ("redis://", "rediss://", "unix://")
MAP_SIZE = 64 << 20
TIMEOUT = 5.0
SCANNED = 256
"""How many values one command gets where all of them are read."""


class Place(Protocol):
    """A store of published features."""

    def reading(self) -> Any:
        """A context that gives a `Read`."""
        ...

    def write(
        self, values: Mapping[bytes, bytes], removed: Sequence[bytes],
        *, due: Sequence[bytes] = (), past: Sequence[bytes] = (), expected: NameAndValue | None = None,
    ) -> None:  # fmt: skip
        """All at once. `past` entries are due no more; then `due` ones are added. `expected` is a name with
        what must still lie under it: StoreError, and nothing is written, if that has changed."""
        ...

    def due(self, before: bytes, limit: int) -> list[bytes]:
        """The first due entries, in the order of bytes, that are less than `before`."""
        ...

    def close(self) -> None: ...


def outdated() -> StoreError:
    """For an execution that was taken for dead: it must not put back what others build upon."""
    return StoreError(
        "another execution of this batch, or a later batch, has changed the published features meanwhile; "
        "this execution has nothing to add"
    )


def require_known(known: NameAndValue, found: Any) -> None:
    if (None if found is None else bytes(found)) != known[1]:
        raise outdated()


def place_of(store: str | os.PathLike[str], *, create: bool = True) -> Place:
    """The store of a URL or a path. A folder is made if it is not there, unless it is to be read only."""
    text = require_place(store, "store")
    if text.startswith(_SCHEMES):
        url, name = urldefrag(text)
        return RedisPlace(url, name or "features")
    if not create and not (Path(text) / lmdb_damage.DATA).is_file():
        raise StoreError(f"there are no features at {text}: they are published by q.start(…, online=…)")
    return LmdbPlace(text)


def require_place(store: Any, argument: str) -> str:
    """The URL or path itself, unless it is neither."""
    text = os.fspath(store) if isinstance(store, str | os.PathLike) else ""
    if not isinstance(text, str) or not text or ("://" in text and not text.startswith(_SCHEMES)):
        raise ArgumentError(argument, store, "'redis://host:port/db' or the path of a folder")
    return text


@dataclass
class RedisPlace:
    """A server, which many hosts can reach."""

    url: str
    name: str
    _client: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        redis = redis_package("a Redis store")
        self._unreachable = unreachable(redis)
        self._refused, self._changed = redis.RedisError, redis.WatchError
        self._client = redis.Redis.from_url(
            self.url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT
        )
        self._root = FEATURES + self.name.encode() + b"}:"

    @contextmanager
    def reading(self) -> Iterator[Read]:
        """One connection for all reads, without the client: what it does around a command takes twice as
        long as the server does."""
        pool, root = self._client.connection_pool, self._root
        connection = self._answer_of(pool.get_connection)

        def mget(names: Sequence[bytes]) -> Any:
            try:
                connection.send_command("MGET", *[root + name for name in names])
                return connection.read_response()
            except BaseException:
                connection.disconnect()  # an answer may be on its way still
                raise

        try:
            yield lambda names: self._answer_of(lambda: mget(names))
        finally:
            pool.release(connection)

    def write(
        self, values: Mapping[bytes, bytes], removed: Sequence[bytes],
        *, due: Sequence[bytes] = (), past: Sequence[bytes] = (), expected: NameAndValue | None = None,
    ) -> None:  # fmt: skip
        def send() -> None:
            with self._client.pipeline(transaction=True) as pipeline:
                if expected is not None:
                    pipeline.watch(self._root + expected[0])
                    require_known(expected, pipeline.get(self._root + expected[0]))
                    pipeline.multi()
                if values:
                    pipeline.mset({self._root + name: value for name, value in values.items()})
                if removed:
                    pipeline.unlink(*(self._root + name for name in removed))
                if past:
                    pipeline.zrem(self._root + DUE, *past)
                if due:
                    pipeline.zadd(self._root + DUE, dict.fromkeys(due, 0))  # one score: sorted by bytes
                try:
                    pipeline.execute()
                except self._changed:
                    raise outdated() from None

        self._answer_of(send)

    def due(self, before: bytes, limit: int) -> list[bytes]:
        name, end = self._root + DUE, b"(" + before
        return list(self._answer_of(lambda: self._client.zrangebylex(name, b"-", end, start=0, num=limit)))

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All of it: names and values, then due entries. What is written meanwhile may be left out."""
        found = self._answer_of(
            lambda: sorted(self._client.scan_iter(match=literal(self._root) + b"*", count=1000))
        )
        names = [key[len(self._root) :] for key in found if key != self._root + DUE]
        with self.reading() as read:
            for at in range(0, len(names), SCANNED):
                some = names[at : at + SCANNED]
                yield from (
                    (n, value) for n, value in zip(some, read(some), strict=True) if value is not None
                )
        for entry in self._answer_of(lambda: self._client.zrange(self._root + DUE, 0, -1)):
            yield DUE + entry, b""

    def close(self) -> None:
        self._client.close()

    def _answer_of(self, command: Callable[[], Any]) -> Any:
        """The server's; errors name it."""
        address = address_of(self.url)
        try:
            return command()
        except self._unreachable as error:
            raise StoreUnavailable(
                f"the Redis server at {address} does not answer ({error}); is it running?"
            ) from error
        except self._refused as error:
            raise StoreError(f"the Redis server at {address} refused: {error}") from error


@dataclass
class LmdbPlace:
    """A folder, which all processes of one host share."""

    path: str
    _environment: Environment = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._environment = lmdb_environment.acquire(self.path, map_size=MAP_SIZE, durable=True)

    @contextmanager
    def reading(self) -> Iterator[Read]:
        with self._environment.reading() as transaction:
            database = self._environment.live
            yield lambda names: [transaction.get(name, db=database) for name in names]

    def write(
        self, values: Mapping[bytes, bytes], removed: Sequence[bytes],
        *, due: Sequence[bytes] = (), past: Sequence[bytes] = (), expected: NameAndValue | None = None,
    ) -> None:  # fmt: skip
        def work(transaction: Any) -> None:
            if expected is not None:
                require_known(expected, transaction.get(expected[0], db=self._environment.live))
            for name in (*removed, *(DUE + entry for entry in past)):
                transaction.delete(name, db=self._environment.live)
            for name, value in values.items():
                transaction.put(name, value, db=self._environment.live)
            for entry in due:
                transaction.put(DUE + entry, b"", db=self._environment.live)

        self._environment.write(work)

    def due(self, before: bytes, limit: int) -> list[bytes]:
        found: list[bytes] = []
        with self._environment.reading() as transaction:
            cursor = transaction.cursor(db=self._environment.live)
            there = cursor.set_range(DUE)
            while there and len(found) < limit and DUE <= bytes(cursor.key()) < DUE + before:
                found.append(bytes(cursor.key())[len(DUE) :])
                there = cursor.next()
            cursor.close()
        return found

    def close(self) -> None:
        lmdb_environment.release(self._environment)
