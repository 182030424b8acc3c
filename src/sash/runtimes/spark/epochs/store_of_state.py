"""Where a query in epochs keeps its state: away from the tasks, so that any task can serve any bucket.

    bucket-0 … bucket-63     a namespace of the store for each bucket: its operator
    journal                  one for the driver

All of them move from epoch to epoch as in `aggregation.stores.protocol`, with the number of the
micro-batch as epoch. An LMDB environment is a folder that all processes of one host share; a Redis
server serves many; files are in the checkpoint, wherever that is.
"""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from pyarrow import fs

from sash.aggregation.stores.epoch_store import EpochStore
from sash.aggregation.stores.files import Files
from sash.aggregation.stores.lmdb import LMDB
from sash.aggregation.stores.redis import Redis
from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.aggregation.stores.redis_package import address_of
from sash.errors import SashWarning, SettingError, Unsupported
from sash.runtimes.spark.files.open_files import located

JOURNAL = "journal"
"""The namespace of the driver."""
BUCKET = "bucket-"
"""With its number, that of a bucket."""
FOLDER = "sash"
"""Below the checkpoint, beside Spark's own folders."""


@dataclass(frozen=True)
class StateLocation:
    """The stores of one query. Travels to executors."""

    place: str
    """A folder, or the URL of a Redis server."""
    name: str = ""
    """What distinguishes the queries of one server."""
    files: bool = False
    """Whether the place is a folder of files, on whatever file system."""

    @classmethod
    def of(cls, store: str, *, checkpoint: str, query: str) -> StateLocation:
        """For a query with this identifier, which Spark keeps in the checkpoint."""
        if store in ("files", "lmdb"):
            file_system, path = located(checkpoint)
            # Absolute, because a worker may find another working directory.
            local = isinstance(file_system, fs.LocalFileSystem)
            place = str(Path(path).absolute()) if local else checkpoint.rstrip("/")
            return cls(f"{place}/{FOLDER}", files=store == "files")
        return cls(url_of(store), f"{query}.")

    def open(self, namespace: str) -> EpochStore:
        if self.files:
            file_system, path = located(self.place)
            remote = None if isinstance(file_system, fs.LocalFileSystem) else file_system
            return Files(path, namespace=namespace, file_system=remote)
        if self.name:
            return Redis(self.place, namespace=self.name + namespace)
        return LMDB(self.place, namespace=namespace)

    def remove_buckets_except(self, numbers: Collection[int]) -> None:
        """Remove the stores of all other buckets; only for files. What cannot be removed now stays."""
        file_system, path = located(self.place)
        for found in file_system.get_file_info(fs.FileSelector(path, allow_not_found=True)):
            if bucket_of(found.base_name) not in (None, *numbers):
                with suppress(OSError):
                    file_system.delete_dir(found.path)

    def journal(self) -> EpochStore:
        return self.open(JOURNAL)

    def buckets(self, numbers: list[int]) -> list[EpochStore]:
        """The stores of these buckets, as this process has them open."""
        return [OPEN.store(self, number) for number in numbers]


@dataclass
class OpenStores:
    """Handles that a worker keeps from one task to the next, for the queries that it served last. Those of
    one LMDB environment share its file, and those of one server its connections."""

    limit: int = 4
    _homes: OrderedDict[StateLocation, dict[int, EpochStore]] = field(default_factory=OrderedDict)

    def store(self, home: StateLocation, bucket: int) -> EpochStore:
        if home not in self._homes or self._is_replaced(home, bucket):
            self._close_replaced()
        mine = self._homes.setdefault(home, {})
        self._homes.move_to_end(home)
        if bucket not in mine:
            mine[bucket] = home.open(f"{BUCKET}{bucket}")
        while len(self._homes) > self.limit:
            _, others = self._homes.popitem(last=False)
            for each in others.values():
                each.close()
        return mine[bucket]

    def _is_replaced(self, home: StateLocation, bucket: int) -> bool:
        """Whether the checkpoint was deleted, and its query has begun again."""
        return bucket in self._homes[home] and self._homes[home][bucket].is_replaced

    def _close_replaced(self) -> None:
        """Also of buckets that others serve now: a file that is open keeps its blocks on the disk."""
        for stores in self._homes.values():
            for bucket in [bucket for bucket, store in stores.items() if store.is_replaced]:
                stores.pop(bucket).close()


OPEN = OpenStores()
_WARNED: set[str] = set()
"""Servers of which this process has warned that they may lose state."""


def bucket_of(namespace: str) -> int | None:
    """The number of a bucket; None where this is no bucket's namespace.

    >>> bucket_of("bucket-12"), bucket_of("journal")
    (12, None)
    """
    found = re.fullmatch(rf"{BUCKET}(\d+)", namespace)
    return None if found is None else int(found[1])


def url_of(store: str) -> str:
    """Of a Redis server, as `store=` names it."""
    return "redis://127.0.0.1:6379/0" if store == "redis" else store


def warn_of_forgetful_server(store: str) -> None:
    """Once for a server: which of its settings can make a query stop that has lost its state."""
    if store in ("files", "lmdb") or store in _WARNED:
        return
    server = RedisNamespaces(url_of(store))
    risks = server.risks()
    server.close()
    if risks:
        _WARNED.add(store)
        warnings.warn(
            f"the Redis server at {address_of(url_of(store))} may lose state, and the query then cannot be "
            f"resumed: {'; '.join(risks)}",
            SashWarning,
            stacklevel=4,
        )


def require_reachable(store: str, checkpoint: str, *, master: str, speculation: bool) -> None:
    """Refuse what could not work, or could lose state without a word."""
    if speculation:
        raise SettingError(
            "spark.speculation", "true", "'false' for an elastic query",
            hint="Two tasks would write the state of one bucket at the same time.",
        )  # fmt: skip
    if store != "lmdb":
        return
    if not master.startswith("local"):
        raise Unsupported(
            "store", store, "'files' or a Redis server where Spark runs on several hosts",
            hint="An LMDB store is one host's: sash.Elastic(store='files').",
        )  # fmt: skip
    if "://" in checkpoint and not checkpoint.startswith("file:"):
        raise Unsupported(
            "checkpoint", checkpoint, "a local path for store='lmdb'",
            hint="sash.Elastic(store='files') keeps state in the checkpoint, wherever that is.",
        )  # fmt: skip
