"""An LMDB store seen from outside: read-only, by somebody who is no part of it.

A handle of `lmdb.py` makes what is not there and moves from epoch to epoch. To look makes nothing and moves
nothing, and sees one committed state even while another process commits the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import lmdb

from sash.aggregation.stores.epoch_store import FRESH, Committed
from sash.aggregation.stores.lmdb import read_meta
from sash.aggregation.stores.lmdb_damage import DATA, damage_words, missing_bytes, require_readable
from sash.aggregation.stores.lmdb_environment import DATABASES
from sash.aggregation.stores.values import unseal
from sash.errors import StoreError


@dataclass(frozen=True)
class Namespace:
    """One store of the environment."""

    name: str
    committed: Committed
    keys: int
    bytes: int
    """Of the values, as they are stored."""


class Look:
    """One committed state of all namespaces. Valid inside of `looking` only."""

    def __init__(self, transaction: Any, databases: dict[bytes, Any]) -> None:
        self._transaction, self._databases = transaction, databases

    @property
    def names(self) -> list[str]:
        return [full[:-1].decode() for full, _ in self._scan(b"meta", b"")]

    def committed(self, namespace: str) -> Committed:
        full = namespace.encode() + b"\0"
        data = self._transaction.get(full, db=self._databases[b"meta"])
        return FRESH if data is None else read_meta(full, data)

    def namespaces(self) -> Iterator[Namespace]:
        """All of them, by name."""
        for name in self.names:
            sizes = [len(value) for _, value in self._live(name.encode() + b"\0")]
            yield Namespace(name, self.committed(name), len(sizes), sum(sizes))

    def items(self, namespace: str, *, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        """Keys and values of a namespace, by key; CorruptValue for one that is damaged."""
        start = namespace.encode() + b"\0"
        for full, value in self._live(start + prefix):
            key = full[len(start) :]
            yield key, bytes(unseal(key, value))

    def raw(self, name: bytes) -> bytes | None:
        """What lies under a name, in an environment that has no namespaces."""
        found = self._transaction.get(name, db=self._databases[b"live"])
        return None if found is None else bytes(found)

    def raw_items(self) -> Iterator[tuple[bytes, memoryview]]:
        """All names and what lies under them."""
        return self._scan(b"live", b"")

    def _live(self, start: bytes) -> Iterator[tuple[bytes, memoryview]]:
        dead = {full for full, _ in self._scan(b"dead", start)}
        return ((full, value) for full, value in self._scan(b"live", start) if full not in dead)

    def _scan(self, database: bytes, start: bytes) -> Iterator[tuple[bytes, memoryview]]:
        with self._transaction.cursor(db=self._databases[database]) as cursor:
            if not cursor.set_range(start):
                return
            for full, value in cursor:
                key = bytes(full)
                if not key.startswith(start):
                    return
                yield key, value


@contextmanager
def looking(path: str | PathLike[str]) -> Iterator[Look]:
    """The committed state of the environment in a folder; StoreError when there is none of Sash's."""
    if not (Path(path) / DATA).is_file():
        raise StoreError(f"{path} holds no LMDB store: there is no {DATA} in it")
    try:
        environment = lmdb.open(
            str(path), readonly=True, create=False, max_dbs=len(DATABASES), readahead=False
        )
    except lmdb.Error as error:
        raise StoreError(f"the LMDB store at {path} cannot be opened: {error}") from error
    try:
        if missing_bytes(environment, Path(path)):
            require_readable(Path(path), databases=DATABASES)
        databases = {name: environment.open_db(name, create=False) for name in DATABASES}
        with environment.begin(buffers=True) as transaction:
            yield Look(transaction, databases)
    except lmdb.NotFoundError as error:
        raise StoreError(f"the LMDB store at {path} is not one of Sash's: {error}") from error
    except lmdb.Error as error:
        words = f"cannot be read: {error}{damage_words(error)}"
        raise StoreError(f"the LMDB store at {path} {words}") from error
    finally:
        environment.close()
