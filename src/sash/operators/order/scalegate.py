"""ScaleGate: any number of sorted sources become one sorted stream that any number of readers share.

    a tuple is ready  ⇔  τ ≤ min over the sources of the latest τ that each has shown

Every reader gets every ready tuple once, and all of them in the same order: by τ, and within one τ by the
number of the source. A tuple that is ready stays where it is, whatever comes later. This is the Elastic
ScaleGate of the STRETCH paper (Gulisano et al., IEEE TPDS 2022), which extends that of ScaleJoin, with its
six methods, over batches of columns instead of single tuples: `add, get, add_readers, remove_readers,
add_sources, remove_sources`. The paper's is a skip list without locks; here a lock guards the bookkeeping
of a batch, and no lock is held while batches are used.

The four methods that change who takes part return True only to the caller who has changed everything that
was asked for: of several who add the same sources at once, one gets True. Names that are there already
(or, to be removed, are not there) are left alone.

Memory is bounded: a source waits in `add` while it has `capacity` tuples that are not ready, or while the
slowest reader has as many to read. A source without tuples gives how far it has come as `watermark=`.

>>> import pyarrow as pa
>>> gate = ScaleGate(Input(pa.schema([("t", pa.int64())]), time="t"), sources=["a", "b"], readers=["r"])
>>> gate.add("a", {"t": [1, 3, 8]}), gate.add("b", {"t": [2, 5]})
(True, True)
>>> gate.get("r").times.tolist()
[1, 2, 3, 5]
>>> gate.get("r", timeout=0) is None
True
>>> gate.add("b", watermark=9)
True
>>> gate.get("r").times.tolist()
[8]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Condition, RLock
from typing import Any

from sash.errors import ArgumentError
from sash.operators.order.interleaved import END_OF_TIME, Input, InputTable, Interleaved, Part, weave
from sash.operators.order.scalegate_log import Control, GateLog, LogPlace
from sash.operators.order.scalegate_source import GateSource
from sash.operators.windows.ranges import NEVER

CAPACITY = 1 << 20


@dataclass
class _GateReader:
    place: LogPlace
    """Of the next item of the log."""
    read: int
    """How many tuples stand before it."""


class ScaleGate:
    """`inputs` are the schemas of the streams; `sources` may name the input that each source belongs to."""

    def __init__(
        self,
        inputs: Input | Sequence[Input],
        *,
        sources: Iterable[str] | Mapping[str, int],
        readers: Iterable[str],
        capacity: int = CAPACITY,
    ) -> None:
        self.inputs = (inputs,) if isinstance(inputs, Input) else tuple(inputs)
        if capacity < 1:
            raise ArgumentError("capacity", capacity, "a positive number of tuples")
        self.capacity = capacity
        # Two conditions of one lock: a reader that makes room does not wake the other readers.
        self._lock = RLock()
        self._news, self._room = Condition(self._lock), Condition(self._lock)
        self._sources: dict[str, GateSource] = {}
        self._leaving: list[GateSource] = []
        self._readers: dict[str, _GateReader] = {}
        self._log = GateLog()
        self._ready = 0
        self._read_by_all = 0
        self._numbers = 0
        self._floor = -NEVER
        self._closed = False
        self.failure: BaseException | None = None
        for argument, added in (
            ("sources", self.add_sources(sources, time=-NEVER)), ("readers", self.add_readers(readers))
        ):  # fmt: skip
            if not added:
                raise ArgumentError(argument, "a name twice", "names that differ")

    # What sources do

    def add(
        self,
        source: str,
        batch: InputTable | None = None,
        *,
        watermark: int | None = None,
        timeout: float | None = None,
    ) -> bool:
        """Add rows in the order of time, after which nothing before `watermark` follows.

        Waits while there is no room; False, and nothing is added, when there is none within `timeout`
        seconds, when the source was removed while it waited, or when the gate was closed.
        """
        with self._lock:
            if self._closed:
                return False
            own = self._source(source)
        part = None if batch is None else Part(own.input, *self.inputs[own.input].read(batch))
        with self._lock:
            if part and not self._wait(self._room, lambda: self._has_room(own), timeout):
                return False
            if own.gone or self._closed:
                return False
            if part:
                own.hold(part)
            own.latest = max(own.latest, own.latest if watermark is None else watermark)
            self._release()
            return True

    def add_sources(self, sources: Iterable[str] | Mapping[str, int], *, time: int | None = None) -> bool:
        """Sources that begin at `time`, by default at the latest ready one: they cannot add anything older.

        Adds those that are not there yet; True if that is all of them."""
        chosen = list(sources.items() if isinstance(sources, Mapping) else ((name, 0) for name in sources))
        with self._lock:
            begin = self._floor if time is None else time
            if begin < self._floor:
                raise ArgumentError("time", time, f"at least {self._floor}, the latest time that is ready")
            for name, number in chosen:
                if not 0 <= number < len(self.inputs):
                    raise ArgumentError(
                        "sources", {name: number}, f"an input from 0 to {len(self.inputs) - 1}"
                    )
            added = 0
            for name, number in chosen:
                if name not in self._sources:
                    self._sources[name] = GateSource(name, self._numbers, number, begin)
                    self._numbers += 1
                    added += 1
            return added == len(chosen)

    def remove_sources(self, sources: Iterable[str]) -> bool:
        """Nobody waits for these any more. What they have added stays and becomes ready in its turn.

        Removes those that are there; True if that is all of them."""
        with self._lock:
            all_there = self._let_go(sources)
            self._release()
            return all_there

    def reached(self, source: str) -> int:
        """How far a source has come: it cannot add anything older."""
        with self._lock:
            return self._source(source).latest

    def _source(self, name: str) -> GateSource:
        if name not in self._sources:
            raise ArgumentError("source", name, f"one of {sorted(self._sources)}")
        return self._sources[name]

    # What readers do

    def get(
        self, reader: str, *, timeout: float | None = None, together: int = 0
    ) -> Interleaved | Control | None:
        """The next ready run, or a control message; None when there is none within `timeout` seconds, when
        the reader was removed meanwhile, or when the gate is closed and everything was read.

        `together`: runs that nobody has read yet come as one, of at most so many tuples. Readers that are
        behind take larger steps, and all of them the same ones."""
        with self._lock:
            own = self._reader(reader)
            if not self._wait(self._news, lambda: self._has_news(reader, own), timeout):
                return None
            place = own.place
            if self._readers.get(reader) is not own or place.following is None:
                return None
            if together and not any(other.place.number > place.number for other in self._readers.values()):
                self._log.join(place, together)
            own.place, item = place.following, place.item
            if isinstance(item, Interleaved):
                own.read += len(item)
            self._make_room()
            return item

    def add_readers(self, readers: Iterable[str], *, at: str | None = None) -> bool:
        """Readers that go on where reader `at` stands, by default with what becomes ready next.

        Adds those that are not there yet; True if that is all of them."""
        with self._lock:
            like = _GateReader(self._log.end, self._ready) if at is None else self._reader(at)
            chosen, before = list(readers), len(self._readers)
            for name in chosen:
                self._readers.setdefault(name, _GateReader(like.place, like.read))
            return len(self._readers) - before == len(chosen)

    def remove_readers(self, readers: Iterable[str]) -> bool:
        """Nobody keeps anything for these any more.

        Removes those that are there; True if that is all of them."""
        with self._lock:
            removed = [self._readers.pop(name, None) for name in readers]
            self._make_room()
            self._news.notify_all()
            return None not in removed

    def read_by(self, reader: str) -> int:
        """How many tuples stand before what the reader gets next."""
        with self._lock:
            return self._reader(reader).read

    def _reader(self, name: str) -> _GateReader:
        if name not in self._readers:
            raise ArgumentError("reader", name, f"one of {sorted(self._readers)}")
        return self._readers[name]

    # What the owner does

    def control(self, make: Callable[[int], Any]) -> Control:
        """Put a message behind everything that is ready now; `make` is given γ, the latest ready time."""
        with self._lock:
            message = Control(make(self._floor), self._floor)
            self._log.append(message)
            self._news.notify_all()
            return message

    def end(self) -> None:
        """No more tuples come: all that were added are ready, every window expires, the gate is closed."""
        with self._lock:
            if not self._closed:
                self._let_go(list(self._sources))
                self._release(END_OF_TIME)
                self.close()

    def close(self, failure: BaseException | None = None) -> None:
        """Nothing is added any more; readers read to the end. `failure` is why that is not the end of the
        stream."""
        with self._lock:
            self.failure = self.failure or failure
            self._closed = True
            self._news.notify_all()
            self._room.notify_all()

    @property
    def held(self) -> int:
        """How many tuples are in memory: not ready yet, or not read by everybody."""
        with self._lock:
            pending = sum(source.held for source in (*self._sources.values(), *self._leaving))
            return pending + self.unread()

    def unread(self) -> int:
        """How many ready tuples the slowest reader has not got yet."""
        with self._lock:
            return self._ready - self._slowest()

    @property
    def ready(self) -> int:
        """How many tuples have become ready so far."""
        return self._ready

    @property
    def sources(self) -> set[str]:
        with self._lock:
            return set(self._sources)

    @property
    def closed(self) -> bool:
        return self._closed

    # Under the lock

    def _let_go(self, sources: Iterable[str]) -> bool:
        removed = [self._sources.pop(name, None) for name in sources]
        for source in removed:
            if source is not None:
                source.gone = True
                self._leaving.append(source)
        return None not in removed

    @staticmethod
    def _wait(condition: Condition, true: Callable[[], bool], timeout: float | None) -> bool:
        # Without a wait there is no switch to another thread: the common case costs a comparison.
        return true() or condition.wait_for(true, timeout)

    def _has_room(self, source: GateSource) -> bool:
        full = source.held >= self.capacity or self.unread() >= self.capacity
        return not full or source.gone or self._closed

    def _has_news(self, name: str, reader: _GateReader) -> bool:
        return reader.place.following is not None or self._closed or self._readers.get(name) is not reader

    def _release(self, at_least: int = -NEVER) -> None:
        """Weave what is ready now into one run at the end of the log."""
        everyone = sorted((*self._sources.values(), *self._leaving), key=lambda source: source.number)
        floor = min((source.latest for source in self._sources.values()), default=None)
        if floor is None:
            # Without sources nothing can come in between any more.
            floor = max(
                (int(part.times[-1]) for source in everyone for part in source.parts), default=self._floor
            )
        floor = max(floor, at_least)
        parts = [part for source in everyone for part in source.ready(floor)]
        if not parts and floor <= self._floor:
            return
        self._floor = max(floor, self._floor)
        self._leaving = [source for source in self._leaving if source.held]
        run = weave(self.inputs, parts, watermark=self._floor, first=self._ready)
        # A watermark that nobody has read yet is replaced by the next one: idle streams need no memory.
        if len(run) or self._is_read_to_its_end() or not self._log.supersede(run):
            self._log.append(run)
        self._ready += len(run)
        self._news.notify_all()
        self._room.notify_all()

    def _is_read_to_its_end(self) -> bool:
        return any(reader.place is self._log.end for reader in self._readers.values())

    def _slowest(self) -> int:
        """How many tuples all have read."""
        return min((reader.read for reader in self._readers.values()), default=self._ready)

    def _make_room(self) -> None:
        read = self._slowest()
        if read > self._read_by_all:
            self._read_by_all = read
            self._room.notify_all()
