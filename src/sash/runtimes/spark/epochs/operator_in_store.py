"""The operator of a bucket in a decoupled store, and in the memory of the worker that saved it last.

    token      layout (`token_layout`) · bucket's own name · name of the last writing · when it wakes · the
               operator's header
    chunk 0 …  the operator's, each written once

As in Spark's state store (see `runtimes.spark.state.operators_in_state`), a worker that still holds the
operator which made the last writing goes on with it; any other one loads it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from uuid import uuid4

from sash.aggregation.stores.epoch_store import EpochStore
from sash.aggregation.stores.values import reading
from sash.operators.engine import Change
from sash.operators.protocol import Saved
from sash.runtimes.spark.state.arenas import arena_name
from sash.runtimes.spark.state.operators_in_state import OPERATORS, Bucket, StoredChunks, upgraded
from sash.runtimes.spark.state.token_layout import with_layout, without_layout
from sash.runtimes.spark.streaming.window_stage import WindowStage

TOKEN, CHUNK = b"token", b"chunk "
_TOKEN = struct.Struct("<16s16sq")
_NEVER = -(2**63)


class ChunksInStore(StoredChunks):
    """Chunks in a decoupled store."""

    def __init__(self, store: EpochStore) -> None:
        self._store = store

    def __getitem__(self, number: int) -> bytes:
        (data,) = self._store.get_many([chunk_key(number)])
        if data is None:
            raise KeyError(number)
        self.read += len(data)
        return data

    def __iter__(self) -> Iterator[int]:
        return (int(key.removeprefix(CHUNK)) for key in self._store.keys(prefix=CHUNK))


class HeldBucket:
    """One bucket during one epoch."""

    def __init__(self, stage: WindowStage, number: int, store: EpochStore) -> None:
        self._stage, self._number, self._store = stage, number, store
        (token,) = store.get_many([TOKEN])
        self._name, self._writing, self._next_timer = b"", b"", _NEVER
        if token is not None:
            self._name, self._writing, self._next_timer, self._header = _opened(token)

    @property
    def is_new(self) -> bool:
        """Whether nothing was saved yet."""
        return not self._name

    def sleeps(self, watermark: int) -> bool:
        """Whether time alone, up to this watermark, changes nothing here."""
        return self._next_timer == _NEVER or self._next_timer > watermark

    def load(self, change: Change | None = None) -> Bucket:
        """The operator as it was saved, or a new one; with a change, as it was saved before that."""
        stage, chunks = self._stage, ChunksInStore(self._store)
        if self.is_new:
            name = uuid4().bytes
            fresh = stage.operator.load(stage.of_bucket(self._number), None, chunks, name=arena_name(name))
            return Bucket(self._number, name, fresh, None, chunks, is_new=True)
        if change is not None:
            bound = stage.of_bucket(self._number)
            name, changed = upgraded(stage.operator, bound, self._header, chunks, change)
            return Bucket(self._number, name, changed, None, chunks, restored=True)
        operator = OPERATORS.take(self._name, self._writing)
        if operator is not None:
            operator.resume(self._header, chunks)
        else:
            bound = stage.of_bucket(self._number)
            operator = stage.operator.load(bound, self._header, chunks, name=arena_name(self._name))
        return Bucket(self._number, self._name, operator, None, chunks, restored=chunks.read > 0)

    def save(self, bucket: Bucket) -> Saved:
        """Write what has changed since it was loaded; it counts once the store is committed."""
        next_timer, saved, writing = bucket.operator.next_timer(), bucket.operator.save(), uuid4().bytes
        token = _TOKEN.pack(bucket.name, writing, _NEVER if next_timer is None else next_timer)
        chunks = {chunk_key(number): data for number, data in saved.written.items()}
        bucket.written += len(saved.header) + sum(map(len, chunks.values()))
        self._store.put_many({TOKEN: with_layout(token + saved.header), **chunks})
        self._store.delete_many(map(chunk_key, saved.dropped))
        OPERATORS.keep(bucket.name, writing, bucket.operator)
        return saved


def header_in(token: bytes) -> bytes:
    """The header of an operator, in the token of its bucket."""
    return _opened(token)[-1]


def _opened(token: bytes) -> tuple[bytes, bytes, int, bytes]:
    """Name, writing, when it wakes, header; CorruptValue if these bytes are none."""
    with reading("the token of a bucket"):
        rest = without_layout(token)
        name, writing, next_timer = _TOKEN.unpack_from(rest)
        return name, writing, next_timer, bytes(rest[_TOKEN.size :])


def chunk_key(number: int) -> bytes:
    return CHUNK + b"%d" % number
