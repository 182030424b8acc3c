"""The keys of a bucket, each with a slot: a row of words in the arena.

    a slot's row    hash · state · next close · next expiry · newest time · lanes · memories · key

A key is found by a hash index, so a batch costs as much beside a million idle keys as beside none. A slot
that no window needs is given back, and leaves no trace. Two heaps of timers know which slots have a window
to close, and which may have nothing left to keep.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sash.aggregation.kernels.compiler.numba_compilation import kernel_of
from sash.aggregation.kernels.state import key_index, timers
from sash.arrays import Bytes, Ints
from sash.operators.arena import Arena, TableSpec
from sash.operators.columns.coded_keys import key_codes
from sash.operators.engine.lanes.row_words import Words
from sash.operators.windows.ranges import MISSING, NEVER

HASH, STATE, CLOSES, EXPIRES, NEWEST = range(5)
FIRST = 5
"""The first word of what the lanes and kinds of a query keep of a key."""
LIVE = 1
USED, FREE, COUNT, HEAP = range(4)
"""In the arena's numbers: rows ever used, the first free one, live ones, bytes of the heap."""
TIMERS = {"closes": (CLOSES, 4), "expires": (EXPIRES, 5)}
"""The two heaps: the word that has a slot's own time, and the number that counts the heap's entries."""
INDEX_SIZE = 6
"""How many entries of the index table are in use: a power of two."""
SLOTS, INDEX, KEYS = "slots", "index", "keys"
FEW = 1 << 14
"""The keys of so few rows are looked up row by row; of more, each key once."""


_NO_KEY = np.zeros(1, np.int64), np.zeros((1, 0), np.int64), np.empty(0, np.uint8)
"""The hash, words and bytes of the one key of a stream without a key."""


class Slots:
    """Null is a key of its own. A stream without a key has one, which holds everything."""

    def __init__(self, arena: Arena, keys: pa.Schema, *, words: int) -> None:
        self.arena, self.codec = arena, Words(keys)
        self.first_key_word = FIRST + words

    @staticmethod
    def tables(keys: pa.Schema, *, words: int) -> dict[str, TableSpec]:
        """The tables of the arena that are needed."""
        width = FIRST + words + Words(keys).width
        return {
            SLOTS: TableSpec(width), INDEX: TableSpec(1), KEYS: TableSpec(1, "uint8"),
            "closes": TableSpec(2), "expires": TableSpec(2),
        }  # fmt: skip

    @property
    def rows(self) -> Ints:
        return self.arena.ints(SLOTS)

    def __len__(self) -> int:
        return int(self.arena.numbers[COUNT])

    def live(self) -> Ints:
        """All slots that have a key."""
        return np.flatnonzero(self.rows[: self.arena.numbers[USED], STATE] == LIVE)

    # Keys

    def of(self, keys: pa.Table, count: int) -> tuple[Ints, Ints]:
        """The slot of each of `count` rows with these keys, and the slots that are new."""
        if not count:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        if count <= FEW and keys.num_columns:
            found = self._found(*self._of_rows(keys))
            if found.min() >= 0:
                return found, np.empty(0, np.int64)
        codes, words, data, hashes = self._hashed(keys, count)
        found = self._found(hashes, words, data)
        unknown = np.flatnonzero(found < 0)
        found[unknown] = self._added(hashes[unknown], words[unknown], data)
        return found[codes], found[unknown]

    def find(self, keys: pa.Table, count: int) -> Ints:
        """The slot of each of these rows; a negative number for each key that has none."""
        codes, words, data, hashes = self._hashed(keys, count)
        found = self._found(hashes, words, data)
        return np.where(found < 0, -1 - np.arange(len(found)), found)[codes]

    def _hashed(self, keys: pa.Table, count: int) -> tuple[Ints, Ints, Bytes, Ints]:
        """A number for the key of each of `count` rows; the words, bytes and hash of each key."""
        names = keys.column_names
        codes = key_codes(keys, names) if names else np.zeros(count, np.int64)
        # Codes are dense: the first row of each, without sorting.
        first = np.empty(int(codes.max()) + 1, np.int64)
        first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
        hashes, words, data = self._of_rows(keys.take(pa.array(first)))
        return codes, words, data, hashes

    def _of_rows(self, keys: pa.Table) -> tuple[Ints, Ints, Bytes]:
        """The hash, the words and the bytes of the key of each row."""
        return self.codec.hashed(keys) if keys.num_columns else _NO_KEY

    def keys_of(self, slots: Ints) -> pa.Table:
        """The key of each of these slots; a table without columns when the stream has no key."""
        words = self.rows[slots, self.first_key_word :]
        return self.codec.decode(np.ascontiguousarray(words), self.arena.bytes_of(KEYS))

    def _found(self, hashes: Ints, words: Ints, data: Bytes) -> Ints:
        found = np.full(len(hashes), -1, np.int64)
        if len(self):
            kernel_of(key_index.find_keys)(
                self._index, self.rows, HASH, self.first_key_word, hashes, words,
                self.codec.variable, data, self.arena.bytes_of(KEYS), found,
            )  # fmt: skip
        return found

    def _added(self, hashes: Ints, words: Ints, data: Bytes) -> Ints:
        slots = self._rows_for(len(hashes))
        rows = self.rows
        rows[slots] = 0
        rows[slots, HASH], rows[slots, STATE] = hashes, LIVE
        rows[slots, CLOSES] = rows[slots, EXPIRES] = NEVER
        rows[slots, NEWEST] = MISSING
        rows[slots, self.first_key_word :] = self._with_bytes(words, data)
        self._enter(slots)
        return slots

    def _rows_for(self, count: int) -> Ints:
        numbers, slots = self.arena.numbers, np.empty(count, np.int64)
        taken = 0
        while taken < count and numbers[FREE]:
            slots[taken] = numbers[FREE] - 1
            numbers[FREE] = self.rows[slots[taken], HASH]
            taken += 1
        new = count - taken
        slots[taken:] = numbers[USED] + np.arange(new)
        numbers[USED] += new
        numbers[COUNT] += count
        self.arena.reserve(SLOTS, int(numbers[USED]))
        return slots

    def _with_bytes(self, words: Ints, data: Bytes) -> Ints:
        """The words again, pointing to where the bytes of the keys are kept."""
        if not len(data):
            return words
        used = int(self.arena.numbers[HEAP])
        self.arena.reserve(KEYS, used + len(data))
        self.arena.bytes_of(KEYS)[used : used + len(data)] = data
        self.arena.numbers[HEAP] += len(data)
        words = words.copy()
        words[:, self.codec.variable] += used
        return words

    @property
    def _index(self) -> Ints:
        return self.arena.ints(INDEX)[: self.arena.numbers[INDEX_SIZE]]

    def _enter(self, slots: Ints) -> None:
        """Into the index; all of them again, into a larger one, when it is half full."""
        if self.arena.numbers[INDEX_SIZE] < 2 * len(self):
            size = 1 << max(6, (4 * len(self) - 1).bit_length())
            self.arena.reserve(INDEX, size)
            self.arena.numbers[INDEX_SIZE] = size
            self._index[:] = 0
            slots = self.live()
        kernel_of(key_index.add_keys)(self._index, self.rows, HASH, slots)

    def restore(self, rows: Ints, keys: Bytes) -> None:
        """These are the slots 0, 1, 2, … of an empty arena; their keys point to these bytes."""
        numbers, count = self.arena.numbers, len(rows)
        self.arena.reserve(SLOTS, count)
        self.arena.reserve(KEYS, len(keys))
        self.rows[:count] = rows
        self.arena.bytes_of(KEYS)[: len(keys)] = keys
        numbers[USED] = numbers[COUNT] = count
        numbers[HEAP] = len(keys)
        self._enter(np.arange(count))

    def forget(self, slots: Ints) -> None:
        """Give slots back that nothing refers to any more."""
        if not len(slots):
            return
        numbers, rows = self.arena.numbers, self.rows
        kernel_of(key_index.drop_keys)(self._index, rows, HASH, slots)
        rows[slots, STATE] = 0
        rows[slots, CLOSES] = rows[slots, EXPIRES] = NEVER
        chain = np.append(slots[1:] + 1, numbers[FREE])
        rows[slots, HASH] = chain
        numbers[FREE] = slots[0] + 1
        numbers[COUNT] -= len(slots)

    def prefetch_rows(self, slots: Ints) -> None:
        """The rows of these slots will be read: they may lie anywhere among millions."""
        kernel_of(key_index.prefetch_rows)(self.rows, slots)

    # Timers

    def set_timers(self, heap: str, slots: Ints, times: Ints) -> None:
        """Wake these slots at these times, or earlier if they wake earlier already; NEVER sets none."""
        word, counter = TIMERS[heap]
        earlier = times < self.rows[slots, word]
        if not earlier.any():
            return
        slots, times = slots[earlier], times[earlier]
        self.rows[slots, word] = times
        count = int(self.arena.numbers[counter])
        self.arena.reserve(heap, count + len(slots))
        push = kernel_of(timers.push_timers)
        self.arena.numbers[counter] = push(self.arena.ints(heap), count, times, slots)

    def due(self, heap: str, until: int) -> Ints:
        """The slots whose time has come, some of them twice; their timers are spent."""
        word, counter = TIMERS[heap]
        found: list[Ints] = []
        while True:
            times, slots = np.empty(1024, np.int64), np.empty(1024, np.int64)
            count = int(self.arena.numbers[counter])
            taken = kernel_of(timers.pop_timers)(self.arena.ints(heap), count, until, times, slots)
            if not taken and not found:
                return slots[:0]
            self.arena.numbers[counter] -= taken
            times, slots = times[:taken], slots[:taken]
            current = self.rows[slots, word] == times
            self.rows[slots[current], word] = NEVER
            found.append(slots[current])
            if taken < 1024:
                return np.concatenate(found)

    def next_timer(self, heap: str) -> int | None:
        """The least time at which a slot wakes."""
        word, counter = TIMERS[heap]
        while self.arena.numbers[counter]:
            time, slot = (int(part) for part in self.arena.ints(heap)[0])
            if self.rows[slot, word] == time:
                return time
            self.due_one(heap)
        return None

    def due_one(self, heap: str) -> None:
        """Drop the first entry of a heap."""
        _, counter = TIMERS[heap]
        spent = np.empty(1, np.int64)
        count = int(self.arena.numbers[counter])
        taken = kernel_of(timers.pop_timers)(self.arena.ints(heap), count, NEVER, spent, spent.copy())
        self.arena.numbers[counter] -= taken
