"""An operator in Spark's state store, and in the memory of the worker that wrote it last.

    -3   query    the description of the query, to show what differs
    -1   token    layout · fingerprint of the query · bucket's own name · name of the last writing · timer ·
                  header
    0 …  chunks   the operator's, each written once

Only the token is always read. A worker that still holds the operator which wrote it goes on with that; any
other one, or the same one after a batch that was rolled back, loads the operator, from what this machine
has of it or from the chunks. The name of a writing is random, so that no two writings are ever taken for
each other.
"""

from __future__ import annotations

import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pyspark.sql.streaming.stateful_processor import MapState

from sash.aggregation.stores.protocol import Payload
from sash.aggregation.stores.values import reading, seal, unseal
from sash.operators.arena.arena_folder import OFTEN
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import Change, WindowOperator, upgrade
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.state.arenas import arena_name
from sash.runtimes.spark.state.checkpoint_compatibility import change_of
from sash.runtimes.spark.state.fingerprint import canonical, fingerprint
from sash.runtimes.spark.state.token_layout import with_layout, without_layout
from sash.runtimes.spark.state.worker_memory import memory_of_workers

_TOKEN = struct.Struct("<32s16s16sq")
_NO_TIMER = -1
QUERY, TOKEN = -3, -1


class StoredChunks(Mapping[int, bytes]):
    """The chunks of one bucket, each read when it is needed."""

    read = 0
    """Bytes that came from the store."""

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ChunksInState(StoredChunks):
    """Chunks in Spark's state store."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def __getitem__(self, number: int) -> bytes:
        value = self._state.getValue((number,))
        if value is None:
            raise KeyError(number)
        self.read += len(value[0])
        return bytes(value[0])

    def __iter__(self) -> Iterator[int]:
        return (number for (number,) in self._state.keys() if number >= 0)  # noqa: SIM118 (not a dict)


@dataclass
class Bucket:
    """The operator of one bucket while a batch is worked on."""

    number: int
    name: bytes
    operator: StreamOperator
    timer: int | None
    chunks: StoredChunks
    is_new: bool = False
    """Whether no query is written down for it yet, or another one."""
    restored: bool = False
    """Whether chunks of the operator were read from the store."""
    written: int = 0
    """Bytes of header and chunks that went to the state store."""


@dataclass
class OperatorCache:
    """The operators that this process has at hand, the most recently used last."""

    limit: int = 64
    """An operator of windows has its arena open: a file descriptor, and maps of its tables."""
    memory: int | None = None
    """Bytes of all of them, as they count them; None: what SASH_WORKER_MEMORY allows. The one that was used
    last stays, however large it is: it would be read again with the next batch."""
    _held: OrderedDict[bytes, tuple[bytes, StreamOperator]] = field(default_factory=OrderedDict)
    _sizes: dict[bytes, int] = field(default_factory=dict)
    _cleaned_up: float = -OFTEN

    def take(self, name: bytes, writing: bytes) -> StreamOperator | None:
        """The operator that made this writing, taken out: a batch that fails must leave no trace of it."""
        known, operator = self._held.pop(name, (b"", None))
        self._sizes.pop(name, None)
        return operator if known == writing else None

    def keep(self, name: bytes, writing: bytes, operator: StreamOperator) -> None:
        self._held[name] = writing, operator
        self._held.move_to_end(name)
        self._sizes[name] = operator.memory
        most = memory_of_workers() if self.memory is None else self.memory
        while len(self._held) > self.limit or (len(self._held) > 1 and self.size > most):
            self._let_go(next(iter(self._held)))
        if time.monotonic() - self._cleaned_up >= OFTEN:
            self._cleaned_up = time.monotonic()
            self.clean_up()

    def clean_up(self) -> None:
        """Let go of operators whose arenas were removed: their query has ended, or runs elsewhere."""
        outdated = [name for name, (_, operator) in self._held.items() if _is_outdated(operator)]
        for name in outdated:
            self._let_go(name)

    @property
    def size(self) -> int:
        """Bytes of the operators at hand."""
        return sum(self._sizes.values())

    def _let_go(self, name: bytes) -> None:
        del self._held[name], self._sizes[name]

    def clear(self) -> None:
        self._held.clear()
        self._sizes.clear()


def _is_outdated(operator: StreamOperator) -> bool:
    arena = getattr(operator, "arena", None)  # operators that are no windows have none
    return arena is not None and bool(arena.is_outdated)


OPERATORS = OperatorCache()


class StateOfBuckets:
    """The state variables of one task. Spark points them at the bucket that it is working on."""

    def __init__(
        self, state: MapState, *, bound: Callable[[int], BoundQuery], operator: type[StreamOperator],
        description: Mapping[str, Any],
    ) -> None:  # fmt: skip
        self._bound, self._operator, self._state = bound, operator, state
        self._description, self._fingerprint = description, fingerprint(description)

    def load(self, number: int) -> Bucket:
        """The bucket as it was saved, or a new one; DifferentQuery if another query saved it."""
        bound = self._bound(number)
        token, chunks = self._state.getValue((TOKEN,)), ChunksInState(self._state)
        if token is None:
            name = uuid4().bytes
            fresh = self._operator.load(bound, None, chunks, name=arena_name(name))
            return Bucket(number, name, fresh, None, chunks, is_new=True)
        query, name, writing, timer, header = _opened(number, token[0])
        change = None if query == self._fingerprint else self._change(number)
        if change is not None:
            name, changed = upgraded(self._operator, bound, header, chunks, change)
            return Bucket(number, name, changed, timer, chunks, is_new=True, restored=True)
        operator = OPERATORS.take(name, writing)
        if operator is not None:
            operator.resume(header, chunks)
        else:
            operator = self._operator.load(bound, header, chunks, name=arena_name(name))
        return Bucket(number, name, operator, timer, chunks, restored=chunks.read > 0)

    def save(self, bucket: Bucket) -> None:
        """Write what has changed since the bucket was loaded."""
        saved = bucket.operator.save()
        bucket.written += len(saved.header) + sum(map(len, saved.written.values()))
        for number, data in saved.written.items():
            self._put(number, data)
        for number in saved.dropped:
            self._state.removeKey((number,))
        if bucket.is_new:
            self._put(QUERY, seal(sealed_as(bucket.number), canonical(self._description)))
        writing = uuid4().bytes
        timer = _NO_TIMER if bucket.timer is None else bucket.timer
        token = _TOKEN.pack(self._fingerprint, bucket.name, writing, timer)
        self._put(TOKEN, seal(sealed_as(bucket.number), with_layout(token + saved.header)))
        OPERATORS.keep(bucket.name, writing, bucket.operator)

    def _put(self, number: int, data: bytes) -> None:
        self._state.updateValue((number,), (data,))

    def _change(self, number: int) -> Change | None:
        kept = self._state.getValue((QUERY,))
        description = b"{}" if kept is None else bytes(unseal(sealed_as(number), kept[0]))
        return change_of(description, self._description)


def upgraded(
    kind: type[StreamOperator], bound: BoundQuery, header: bytes, chunks: StoredChunks, change: Change
) -> tuple[bytes, StreamOperator]:
    """An operator with other aggregates than it was saved with; under another name, since what machines
    have under the old one is of another form."""
    name = uuid4().bytes
    operator = kind.load(bound, None, chunks, name=arena_name(name))
    assert isinstance(operator, WindowOperator)  # `change_of` refuses others
    upgrade(operator, header, chunks, change)
    return name, operator


def header_in(number: int, token: bytes) -> bytes:
    """The header of an operator, in the token of its bucket."""
    return _opened(number, token)[-1]


def _opened(number: int, token: Payload) -> tuple[bytes, bytes, bytes, int | None, bytes]:
    """Fingerprint, name, writing, timer, header; CorruptValue if these bytes are none."""
    with reading("the token of a bucket"):
        rest = without_layout(unseal(sealed_as(number), token))
        query, name, writing, timer = _TOKEN.unpack_from(rest)
        return query, name, writing, None if timer == _NO_TIMER else timer, bytes(rest[_TOKEN.size :])


def sealed_as(bucket: int) -> bytes:
    """What token and query of a bucket are sealed under."""
    return b"state of bucket %d" % bucket
