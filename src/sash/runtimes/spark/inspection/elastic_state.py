"""The state of an elastic query, in its store: in or beside its checkpoint, or on a Redis server.

See `epochs.store_of_state`. To read a value checks it: one that is damaged is a CorruptValue. What keeps
the query from going on is found by `resumable`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from os import fspath
from typing import Protocol

from sash.aggregation.stores.epoch_store import Committed, EpochStore
from sash.aggregation.stores.files import stores_in
from sash.aggregation.stores.lmdb_damage import DATA
from sash.aggregation.stores.lmdb_view import Namespace, looking
from sash.aggregation.stores.one_state import read_one_state
from sash.aggregation.stores.redis import Redis
from sash.aggregation.stores.values import reading
from sash.errors import CorruptValue, StoreError
from sash.operators.saved_operator_contents import inventory
from sash.runtimes.spark.epochs.epoch_journal import LAYOUT_KEY, QUERIES, QUERY, require_journal_layout
from sash.runtimes.spark.epochs.operator_in_store import CHUNK, TOKEN, header_in
from sash.runtimes.spark.epochs.store_of_state import BUCKET, FOLDER, JOURNAL, StateLocation, bucket_of
from sash.runtimes.spark.inspection.arrow_folder import ArrowFolder, SparkPath
from sash.runtimes.spark.inspection.checkpoint import Checkpoint
from sash.runtimes.spark.inspection.checkpoint_contents import BucketSeen, StageSeen, StateSeen
from sash.runtimes.spark.inspection.leftovers import ServedQuery
from sash.runtimes.spark.inspection.query_words import Description
from sash.runtimes.spark.inspection.resumable import obstacles


class StoreView(Protocol):
    """All namespaces of a query."""

    @property
    def names(self) -> Sequence[str]: ...

    def committed(self, namespace: str) -> Committed: ...

    def namespaces(self) -> Iterator[Namespace]: ...

    def items(self, namespace: str, *, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]: ...


@dataclass(frozen=True)
class OpenedStores:
    """Namespaces that are opened one after the other, which moves none of them."""

    names: Sequence[str]
    open: Callable[[str], EpochStore]

    def committed(self, namespace: str) -> Committed:
        with self.open(namespace) as store:
            return store.committed

    def namespaces(self) -> Iterator[Namespace]:
        for name in self.names:
            committed, items = self._state(name)
            yield Namespace(name, committed, len(items), sum(len(value) for _, value in items))

    def items(self, namespace: str, *, prefix: bytes = b"") -> Iterator[tuple[bytes, bytes]]:
        yield from self._state(namespace, prefix)[1]

    def _state(self, name: str, prefix: bytes = b"") -> tuple[Committed, list[tuple[bytes, bytes]]]:
        def read(store: EpochStore) -> tuple[Committed, list[tuple[bytes, bytes]]]:
            committed, keys = store.committed, sorted(store.keys(prefix=prefix))
            found = zip(keys, store.get_many(keys), strict=True)
            return committed, [(key, value) for key, value in found if value is not None]

        return read_one_state(name, lambda: self.open(name), read)


@contextmanager
def viewed(place: SparkPath) -> Iterator[tuple[str, StoreView] | None]:
    """The store in a folder, and what it is called; None when there is none."""
    folder = ArrowFolder.of(place)
    if folder.local is not None and folder.has_file(DATA):
        with looking(folder.local) as look:
            yield "LMDB", look
    elif folder.is_there and (names := stores_in(folder.path, folder.system)):
        yield "files", OpenedStores(names, StateLocation(folder.place, files=True).open)
    else:
        yield None


def store_of(checkpoint: SparkPath) -> str:
    """Where an elastic query keeps its state, unless on a server."""
    return f"{fspath(checkpoint)}/{FOLDER}"


def stages_in(place: SparkPath, *, checkpoint: SparkPath | None = None) -> StateSeen | None:
    """The state of the queries in a folder; None when none has lived there. `checkpoint`: theirs, if it is
    known."""
    with viewed(place) as found:
        return None if found is None else stages_of(found[1], where=f"in {found[0]}", checkpoint=checkpoint)


def stages_on(url: str, served: ServedQuery) -> StateSeen | None:
    """The same of a query on a Redis server."""
    first = f"{served.query}."
    names = [name.removeprefix(first) for name in served.namespaces]
    stores = OpenedStores(names, lambda name: Redis(url, namespace=first + name))
    checkpoint = served.checkpoint if served.state == "in use" else None
    return stages_of(stores, where="in Redis", checkpoint=checkpoint)


def stages_of(view: StoreView, *, where: str, checkpoint: SparkPath | None = None) -> StateSeen | None:
    at = _moments(view, checkpoint)
    journal = dict(view.items(JOURNAL))
    if checkpoint is None and QUERY not in journal and not _has_tokens(view):
        return None  # others may call a namespace as a query calls its own
    require_journal_layout(journal.get(LAYOUT_KEY))
    stages = list(_stages(view, where, journal)) if QUERY in journal else []
    saved = {bucket.number for stage in stages for bucket in stage.buckets}
    committed = {name: view.committed(name) for name in view.names}
    # A batch that was done meanwhile has found all that it needs.
    done = at != _moments(view, checkpoint)
    wrong = () if done else obstacles(journal, committed, saved=saved, due=at[1])
    seen = StateSeen(at[0].epoch, stages, [f"{where}: {line}" for line in wrong])
    return seen if seen.stages or seen.wrong else None


def _moments(view: StoreView, checkpoint: SparkPath | None) -> tuple[Committed, int | None]:
    """Where the journal is, and the next micro-batch; None where that is not known."""
    due = None
    with suppress(StoreError):
        due = None if checkpoint is None else Checkpoint.of(checkpoint).due
    return view.committed(JOURNAL), due


def _stages(view: StoreView, where: str, journal: Mapping[bytes, bytes]) -> Iterator[StageSeen]:
    with reading("the journal of epochs"):
        description = json.loads(journal[QUERY])
    numbers = _bucket_numbers(view)

    def seen(place: str, query: Description, prefix: bytes) -> StageSeen:
        buckets = (_bucket(view, number, prefix) for number in numbers)
        return StageSeen(place, query, tuple(bucket for bucket in buckets if bucket is not None))

    if QUERIES not in description:
        yield seen(where, description, b"")
    for name, own in description.get(QUERIES, {}).items():
        yield seen(f"{where}, query {name}", own["query"], f"{own['state']} ".encode())


def _bucket_numbers(view: StoreView) -> list[int]:
    return sorted(number for name in view.names if (number := bucket_of(name)) is not None)


def _has_tokens(view: StoreView) -> bool:
    """Whether a bucket has state, of whatever query."""
    buckets = (view.items(f"{BUCKET}{number}") for number in _bucket_numbers(view))
    return any(key.endswith(TOKEN) for items in buckets for key, _ in items)


def namespaces_in(place: SparkPath) -> list[Namespace] | None:
    """What any LMDB store or store of files holds, all of it read; None when there is no store."""
    with viewed(place) as found:
        return None if found is None else _read(found[1])


def namespaces_on(url: str, names: Sequence[str]) -> list[Namespace]:
    """The same of namespaces on a Redis server."""
    return _read(OpenedStores(names, lambda name: Redis(url, namespace=name)))


def _read(view: StoreView) -> list[Namespace]:
    """A value that is damaged is a CorruptValue."""
    found = list(view.namespaces())
    for namespace in found:
        for _ in view.items(namespace.name):
            pass
    return found


def _bucket(view: StoreView, number: int, prefix: bytes) -> BucketSeen | None:
    name = f"{BUCKET}{number}"
    # At once: the next batch may replace both.
    state = dict(view.items(name, prefix=prefix))
    token, first = state.get(prefix + TOKEN), prefix + CHUNK
    chunks = [(int(key.removeprefix(first)), data) for key, data in state.items() if key.startswith(first)]
    if token is None:
        if chunks:
            raise CorruptValue(f"the state of bucket {number} lacks its header")
        return None
    return BucketSeen(number, None, inventory(header_in(token), chunks))
