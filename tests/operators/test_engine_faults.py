"""What can go wrong between two batches: afterwards the answers are those of the reference.

The store is the truth and commits a batch as a whole. An arena is a cache, which can be lost, late, ahead
or damaged at any moment.
"""

from __future__ import annotations

import gc
import math
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from itertools import cycle, pairwise
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings, strategies as st

from sash.aggregation import built_in
from sash.errors import CorruptValue, NoSpace, StoreError
from sash.operators.arena import ArenaHome, arena as arenas, arena_folder as homes, head as heads
from sash.operators.arena.locked import LockedHead
from sash.operators.bound_query import BoundQuery
from sash.operators.engine import WindowOperator, pending_log as waiting, state as operators
from sash.operators.engine.lanes.slots import USED
from sash.operators.engine.saving import (
    journal_entries as entries,
    operator_journal as journal,
    snapshot_names as naming,
)
from sash.semantics import windows
from sash.semantics.durations import Duration, Unit
from sash.semantics.query import Query
from sash.semantics.reference import Arrival, Batch
from sash.semantics.window import Window
from tests.runtimes.operator_runtime import (
    TYPES,
    Runtime,
    Way,
    require_answered_as_the_reference,
    small_journals,
)
from tests.runtimes.strategies import any_window
from tests.runtimes.tables import table_of

AGGREGATES = {"n": built_in.count(), "s": built_in.sum("x"), "held": built_in.collect("e")}
KINDS: dict[str, Window] = {
    "sliding": windows.time(20, 5),
    "rows": windows.rows(5, every=2),
    "slide_by_tuple": windows.slide_by_tuple(12, 2),
    "session": windows.session(3),
    "delta": windows.delta("x", 5, 2),
    "policy": windows.policy(
        lambda total, old: total.s - old.s > 40, track={"s": built_in.sum("x")}, every=2
    ),
    "punctuated": windows.punctuated(lambda row: row.x % 7 == 0),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
each_way_of_keeping = pytest.mark.parametrize("kind", ["sliding", "session", "delta"])
"""Elements that several windows share, running folds, elements of one window."""


def bound_to(
    *window_list: Window, lateness: int = 0, delay: int = 0, aggregates: Any = AGGREGATES
) -> BoundQuery:
    named = tuple(window.named(f"w{number}") for number, window in enumerate(window_list))
    waits = {"allowed_lateness": Duration(lateness, Unit.TICKS), "delay": Duration(delay, Unit.TICKS)}
    query = Query(named, aggregates, **waits)
    return BoundQuery(query, table_of([], TYPES).schema, "t", ("k",))


def steady(batches: int = 12, *, keys: int = 5) -> list[Batch]:
    """Time goes on by 5 with each batch; there are gaps, and the keys take turns."""
    return [
        Batch(
            tuple(
                Arrival(
                    5 * number + at, f"key {(at * number) % keys}", {"e": 10 * number + at, "x": number}
                )
                for at in range(5)
                if (at + number) % 4
            )
        )
        for number in range(batches)
    ]


class OnMachine(Runtime):
    """In another process with each batch, which opens the arena of this machine."""

    def __init__(self, bound: BoundQuery) -> None:
        super().__init__(bound, ways=[Way.ARENA])
        self.operator = WindowOperator.load(bound, None, self.store, name=self.name)

    @property
    def folder(self) -> Path:
        return ArenaHome.default().folder / self.name

    def leave(self) -> None:
        """The process ends in the middle of a batch: nothing is committed, its locks are gone."""
        self.operator.arena._lock.close()  # type: ignore[attr-defined]
        del self.operator
        gc.collect()

    @contextmanager
    def uncommitted(self) -> Iterator[None]:
        """What is done within is never committed: the runtime forgets it, too."""
        watermark = copy(self.watermark)
        try:
            yield
        finally:
            self.watermark = watermark

    def reopen(self) -> None:
        self.operator = WindowOperator.load(self.bound, self.header or None, self.store, name=self.name)


# The process dies


class Died(BaseException):
    """Nothing catches it, as nothing catches SIGKILL."""


@contextmanager
def dies_at(write: int) -> Iterator[list[str]]:
    """The process dies just before that write to the arena's files; the writes are listed."""
    seen: list[str] = []

    def counted(owner: Any, name: str) -> Any:
        real = getattr(owner, name)

        def fake(*given: Any, **named: Any) -> Any:
            if len(seen) == write:
                raise Died(name)
            seen.append(name)
            return real(*given, **named)

        return patch.object(owner, name, fake)

    with (
        counted(LockedHead, "write"),
        counted(LockedHead, "mark_dirty"),
        counted(arenas.FileArena, "_write_blob"),
        counted(arenas.GrowingArray, "_grow_file"),
        counted(arenas.FileArena, "commit"),
        counted(journal.Journal, "save"),
        counted(journal.snapshot_contents, "taken"),
    ):
        yield seen


@pytest.mark.parametrize("least", [1, 10**9], ids=["snapshots", "entries"])
@every_kind
def test_a_process_that_dies_before_any_write_of_a_batch_loses_nothing(kind: str, least: int) -> None:
    stream, runtime, write = steady(), OnMachine(bound_to(KINDS[kind])), 0

    def before(number: int) -> None:
        """Batch after batch dies one write later; whoever comes next does it again."""
        nonlocal write
        with suppress(Died), dies_at(write) as seen, runtime.uncommitted():
            runtime.execute(stream[number])
            runtime.operator.save()
        # Once it has died before each of them: all is written, but never committed.
        write = 0 if len(seen) < write else write + 1
        runtime.leave()
        runtime.reopen()

    with small_journals(least):
        require_answered_as_the_reference(runtime, stream, before)


@settings(max_examples=15, deadline=None)
@given(
    window_list=st.lists(any_window, min_size=1, max_size=2),
    lateness=st.sampled_from([0, 6]),
    deaths=st.lists(st.one_of(st.none(), st.integers(0, 14)), min_size=8, max_size=8),
    least=st.sampled_from([1, 4_000]),
)
def test_oracle_deaths_at_any_write(
    window_list: list[Window], lateness: int, deaths: list[int | None], least: int
) -> None:
    stream, runtime = steady(8), OnMachine(bound_to(*window_list, lateness=lateness))

    def before(number: int) -> None:
        death = deaths[number]
        if death is None:
            return
        with suppress(Died), dies_at(death), runtime.uncommitted():
            runtime.execute(stream[number])
            runtime.operator.save()
        runtime.leave()
        runtime.reopen()

    with small_journals(least):
        require_answered_as_the_reference(runtime, stream, before)


@each_way_of_keeping
def test_what_was_written_of_a_batch_that_was_not_committed_is_not_seen(kind: str) -> None:
    """The store has taken chunks of the batch, and not its header: the next try writes over them."""
    stream, runtime = steady(), OnMachine(bound_to(KINDS[kind]))

    def before(number: int) -> None:
        with runtime.uncommitted():
            runtime.execute(replace(stream[number], arrivals=stream[number].arrivals[:2]))
            saved = runtime.operator.save()
        runtime.store.kept |= dict(list(saved.written.items())[: number % 2 + 1])
        runtime.reopen()

    with small_journals(3_000):
        require_answered_as_the_reference(runtime, stream, before)


@each_way_of_keeping
def test_a_batch_that_is_executed_again_by_the_same_process_gives_the_same(kind: str) -> None:
    """An exception after `save`: the object and its arena are ahead of the store."""
    stream, runtime = steady(), OnMachine(bound_to(KINDS[kind]))

    def before(number: int) -> None:
        with runtime.uncommitted():
            runtime.execute(stream[number])
            runtime.operator.save()
        runtime.operator.resume(runtime.header or None, runtime.store)

    with small_journals(3_000):
        require_answered_as_the_reference(runtime, stream, before)


# Many small batches, and large ones


def trickle(batches: int, *, keys: int = 200) -> list[Batch]:
    """Of keys that stay: a snapshot of many would have far more bytes than a batch."""
    first = Batch(tuple(Arrival(0, f"key {at}", {"e": at, "x": at}) for at in range(keys)))
    later = (
        Batch((Arrival(number, f"key {number % 7}", {"e": number, "x": 1}),)) for number in range(batches)
    )
    return [first, *later]


@pytest.mark.parametrize("fan", [2, 3, 8])
def test_a_store_has_few_values_however_many_batches_there_were(fan: int) -> None:
    runtime = OnMachine(bound_to(windows.rows(500), aggregates={"s": built_in.sum("x")}))
    runtime.ways = cycle([Way.SAME])
    most = 0
    with patch.object(journal, "FAN", fan), patch.object(journal, "LEAST", 10**9):
        for batch in trickle(300):
            runtime.step(batch)
            most = max(most, len(runtime.store.kept))
        assert runtime.operator.journal.head.parts == 0
        ranks = int(math.log(300, fan)) + 1
        assert most <= fan * ranks
        # Each is read again once for each rank, and written.
        assert runtime.store.reads <= 301 * 2
        assert len(runtime.header) < 400 + 20 * most
    runtime.close()


@pytest.mark.parametrize("behind", [1, 4, 11, 20])
@pytest.mark.parametrize("lateness", [0, 3], ids=["together", "one by one"])
def test_an_arena_that_is_behind_entries_that_were_put_together_replays_what_it_has_missed(
    behind: int, lateness: int
) -> None:
    stream = trickle(28, keys=8)
    runtime = OnMachine(bound_to(KINDS["sliding"], KINDS["session"], lateness=lateness))
    kept = dict[int, dict[str, bytes]]()
    resets = 0

    def before(number: int) -> None:
        nonlocal resets
        runtime.leave()
        if number:
            kept[number] = arena_files(runtime)
        if number - behind in kept:
            put_back(runtime, kept[number - behind])
        with patch.object(
            WindowOperator, "reset", autospec=True, side_effect=WindowOperator.reset
        ) as reset:
            runtime.reopen()
        resets += reset.call_count if number else 0

    with patch.object(journal, "FAN", 3), patch.object(journal, "LEAST", 10**9):
        require_answered_as_the_reference(runtime, stream, before)
    assert resets == 0


@every_kind
def test_no_value_is_longer_than_a_store_takes(kind: str) -> None:
    stream, runtime = steady(), OnMachine(bound_to(KINDS[kind]))
    runtime.ways = cycle([Way.REBUILT, Way.SAME, Way.ARENA])
    longest = 0

    def before(number: int) -> None:
        nonlocal longest
        longest = max([longest, *map(len, runtime.store.kept.values())])

    with patch.object(entries, "PART", 200), patch.object(journal, "LEAST", 6_000):
        require_answered_as_the_reference(runtime, stream, before)
    assert 200 < longest <= 200 + 40


# A burst of keys


@each_way_of_keeping
@pytest.mark.parametrize("way", [Way.SAME, Way.ARENA], ids=["at hand", "another process"])
def test_after_a_burst_of_keys_the_arena_is_as_large_as_what_is_alive(kind: str, way: Way) -> None:
    bound = bound_to(KINDS[kind])
    bound = replace(bound, query=replace(bound.query, forget_after=Duration(30, Unit.TICKS)))
    runtime, small = (OnMachine(bound) for _ in range(2))
    runtime.ways = small.ways = cycle([way])
    runtime.step(Batch(tuple(Arrival(0, f"burst {at}", {"e": at, "x": at}) for at in range(20_000))))
    burst, sizes = runtime.operator.arena.size, list[int]()
    for number in range(8, 40):
        arrivals = (Arrival(5 * number + at % 5, f"key {at % 9}", {"e": at, "x": 1}) for at in range(90))
        batch = Batch(tuple(arrivals))
        assert runtime.step(batch)[0] == small.step(batch)[0] or number < 16
        sizes.append(runtime.operator.arena.size)
    assert burst > 2**20
    assert runtime.operator.arena.size < 2 * small.operator.arena.size < burst / 4
    assert runtime.operator.slots.arena.numbers[USED] < 200
    assert len({size for before, size in pairwise(sizes) if size < before}) <= 2  # and then it stays so
    runtime.close()
    small.close()


# A watermark that stands still


@pytest.mark.parametrize("way", [Way.SAME, Way.ARENA], ids=["at hand", "another process"])
def test_while_the_watermark_stands_still_a_batch_writes_what_it_brings(way: Way) -> None:
    runtime = OnMachine(bound_to(KINDS["sliding"], delay=1000, aggregates={"held": built_in.collect("e")}))
    runtime.ways = cycle([way])
    written = list[int]()

    def counted(owner: Any, name: str) -> Any:
        real = getattr(owner, name)

        def fake(*given: Any) -> None:
            written[-1] += len(given[-1])
            real(*given)

        return patch.object(owner, name, fake)

    with counted(waiting, "_append"), counted(arenas.FileArena, "_write_blob"):
        for number in range(400):
            written.append(0)
            arrivals = (Arrival(100 + at, f"key {at}", {"e": at, "x": number}) for at in range(20))
            runtime.step(Batch(tuple(arrivals)))
    assert len(runtime.operator.pending) == 400 * 20
    # The whole of it was written again when it had doubled, and else only what is new.
    assert median(written[200:]) <= 1.1 * median(written[:100])
    assert sum(written) <= 3.5 * 400 * median(written)
    runtime.close()


# Another version of the library


def test_a_snapshot_with_other_words_is_refused_with_one_sentence() -> None:
    stream, runtime = steady(4), OnMachine(bound_to(KINDS["sliding"], KINDS["session"]))
    with small_journals(1):
        for batch in stream:
            runtime.step(batch)
    for name, words in {
        "_SLOT": ["hash", "state", "closes", "newest", "expires"],
        "_RING": ["base"],
    }.items():
        with (
            patch.object(naming, name, words),
            pytest.raises(
                CorruptValue, match=r"another version of Sash: word \d+ of 'key' is '.*' there and '"
            ),
        ):
            runtime.loaded(None)
    runtime.close()


def test_a_journal_without_a_snapshot_is_read_by_a_version_with_other_words() -> None:
    stream, runtime = steady(4), OnMachine(bound_to(KINDS["sliding"], KINDS["session"]))
    for batch in stream:
        runtime.step(batch)
    with patch.object(naming, "_SLOT", ["hash", "state", "closes", "newest", "expires"]):
        runtime.loaded(None)
    runtime.close()


def test_a_header_of_another_layout_is_refused_with_one_sentence() -> None:
    stream, runtime = steady(2), OnMachine(bound_to(KINDS["sliding"]))
    runtime.step(stream[0])
    with (
        patch.object(journal, "LAYOUT", journal.LAYOUT + 1),
        pytest.raises(StoreError, match="has layout 3, and this version of Sash reads layout 4"),
    ):
        runtime.reopen()
    runtime.close()


# Arenas that are not what the store has


def arena_files(runtime: OnMachine) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in runtime.folder.iterdir()}


def put_back(runtime: OnMachine, files: dict[str, bytes]) -> None:
    shutil.rmtree(runtime.folder)
    runtime.folder.mkdir()
    for name, data in files.items():
        (runtime.folder / name).write_bytes(data)


@pytest.mark.parametrize("behind", [1, 2, 5])
@each_way_of_keeping
def test_an_arena_that_is_behind_replays_what_it_has_missed(kind: str, behind: int) -> None:
    stream, runtime, kept = steady(), OnMachine(bound_to(KINDS[kind])), dict[int, dict[str, bytes]]()

    def before(number: int) -> None:
        runtime.leave()
        if number:
            kept[number] = arena_files(runtime)
        if number - behind in kept:
            put_back(runtime, kept[number - behind])
        runtime.store.reads = 0
        runtime.reopen()
        if number - behind in kept:
            assert runtime.store.reads == behind + 1  # which it knows by the entry before them

    require_answered_as_the_reference(runtime, stream, before)


def test_an_arena_that_is_behind_a_snapshot_is_built_again() -> None:
    stream, runtime, kept = steady(), OnMachine(bound_to(KINDS["sliding"])), list[dict[str, bytes]]()

    def before(number: int) -> None:
        runtime.leave()
        if number == 2:
            kept.append(arena_files(runtime))
        if number == 9:
            put_back(runtime, kept[0])
        runtime.reopen()

    with small_journals(1):
        require_answered_as_the_reference(runtime, stream, before)


def _truncated(size: int) -> Callable[[Path], None]:
    def damage(file: Path) -> None:
        os.truncate(file, min(size, file.stat().st_size))

    return damage


def _scribbled(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(file.stat().st_size // 2)
        opened.write(os.urandom(64))


def _scribbled_at_first(file: Path) -> None:
    """Where tables of bytes have something."""
    with file.open("r+b") as opened:
        opened.seek(40)
        opened.write(os.urandom(8))


def _longer(file: Path) -> None:
    with file.open("ab") as opened:
        opened.write(bytes(5000))


def _empty(file: Path) -> None:
    file.write_bytes(b"")


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "head scribbled on": ("head", _scribbled),
    "head truncated": ("head", _truncated(100)),
    "head emptied": ("head", _empty),
    "head too long": ("head", _longer),
    "head gone": ("head", Path.unlink),
    "tables truncated": ("*.table", _truncated(1000)),
    "tables emptied": ("*.table", _empty),
    "slots gone": ("slots.table", Path.unlink),
    "log scribbled on": ("waiting.table", _scribbled_at_first),
    "entries scribbled on": ("entries.table", _scribbled_at_first),
    "blob scribbled on": ("*.blob", _scribbled),
    "blob truncated": ("*.blob", _truncated(40)),
    "blob longer": ("*.blob", _longer),
    "blob gone": ("*.blob", Path.unlink),
    "everything emptied": ("*", _empty),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_arena_that_was_damaged_is_built_again(damage: str) -> None:
    stream, runtime = steady(), OnMachine(bound_to(*KINDS.values()))
    pattern, harm = DAMAGES[damage]

    def before(number: int) -> None:
        if number % 3 == 2:
            runtime.leave()
            files = list(runtime.folder.glob(pattern))
            assert files
            for file in files:
                harm(file)
            runtime.reopen()

    with patch.object(journal, "FAN", 4):  # what is put together is read from the arena, or else the store
        require_answered_as_the_reference(runtime, stream, before)
    runtime.reopen()
    assert len(list(runtime.operator.journal.contents()[1]))


def test_an_arena_that_was_damaged_while_the_operator_is_at_hand_is_built_again() -> None:
    stream, runtime = steady(), OnMachine(bound_to(*KINDS.values()))

    def before(number: int) -> None:
        if number:
            runtime.operator.arena.release()
            pattern, harm = list(DAMAGES.values())[number % len(DAMAGES)]
            for file in list(runtime.folder.glob(pattern)):
                # Truncating a file that is mapped is SIGBUS for whoever reads it: nobody can do anything.
                if harm not in (_empty,) and "truncate" not in harm.__qualname__:
                    harm(file)
            runtime.operator.resume(runtime.header, runtime.store)

    require_answered_as_the_reference(runtime, stream, before)


def test_all_arenas_can_be_deleted_at_any_moment() -> None:
    stream, runtime = steady(), OnMachine(bound_to(*KINDS.values()))

    def before(number: int) -> None:
        """Before the operator is opened, while it is at hand, and while it is working."""
        if number % 3 == 0:
            runtime.leave()
        if number % 3 != 2:
            shutil.rmtree(ArenaHome.default().folder, ignore_errors=True)
        if number % 3 == 0:
            runtime.reopen()
        elif number % 3 == 1:
            runtime.operator.arena.release()
            runtime.operator.resume(runtime.header, runtime.store)
        else:
            for file in runtime.folder.iterdir():
                file.unlink()

    require_answered_as_the_reference(runtime, stream, before)


@each_way_of_keeping
def test_the_arena_of_another_query_is_not_taken(kind: str) -> None:
    others = [name for name in KINDS if name != kind]
    stream, runtime = steady(), OnMachine(bound_to(KINDS[kind]))

    def before(number: int) -> None:
        runtime.leave()
        other = OnMachine(bound_to(KINDS[others[number % len(others)]]))
        for batch in stream[:number]:
            other.step(batch)
        other.leave()
        shutil.rmtree(runtime.folder)
        other.folder.rename(runtime.folder)
        runtime.reopen()

    require_answered_as_the_reference(runtime, stream[:5], before)


OTHERS: dict[str, Callable[[], Any]] = {
    "library": lambda: patch.object(arenas, "__version__", "0.0.0"),
    "layout of the operator": lambda: patch.object(operators, "LAYOUT", 999),
    "layout of the head": lambda: patch.object(heads, "LAYOUT", 999),
    "byte order": lambda: patch.object(sys, "byteorder", "middle"),
    "boot, or machine": lambda: patch.object(heads, "this_boot", lambda: bytes(range(16))),
    "boot, for the arena": lambda: patch.object(arenas, "this_boot", lambda: bytes(range(16))),
}


@pytest.mark.parametrize("other", OTHERS)
def test_an_arena_of_another_version_of_anything_is_built_again(other: str) -> None:
    stream, runtime = steady(), OnMachine(bound_to(KINDS["sliding"], KINDS["session"]))

    def before(number: int) -> None:
        if number % 4 != 3:
            return
        runtime.leave()
        with OTHERS[other]():
            runtime.reopen()
            runtime.operator.save()
            runtime.leave()
        runtime.store.reads = 0
        runtime.reopen()
        assert runtime.store.reads

    require_answered_as_the_reference(runtime, stream, before)


def test_an_arena_of_the_same_query_of_another_checkpoint_is_not_taken() -> None:
    """Names are random, so that it needs a copied folder."""
    stream, runtime, other = steady(), *(OnMachine(bound_to(KINDS["rows"])) for _ in range(2))
    for batch in stream:
        other.step(replace(batch, arrivals=batch.arrivals[:1]))
    other.leave()

    def before(number: int) -> None:
        if number == 6:
            runtime.leave()
            shutil.rmtree(runtime.folder)
            shutil.copytree(other.folder, runtime.folder)
            runtime.reopen()

    require_answered_as_the_reference(runtime, stream, before)


# Two tasks on one bucket


@each_way_of_keeping
def test_of_two_tasks_on_one_bucket_the_second_has_an_arena_of_its_own(kind: str) -> None:
    """Speculation, or a task that was given up and still runs: the store commits one of them."""
    stream, runtime = steady(8), OnMachine(bound_to(KINDS[kind]))
    private = 0

    def before(number: int) -> None:
        nonlocal private
        zombie = runtime.operator
        assert not zombie.arena.is_anonymous
        runtime.reopen()  # while the other one holds the lock
        private += runtime.operator.arena.is_anonymous
        mine, runtime.operator = runtime.operator, zombie
        with runtime.uncommitted():
            runtime.execute(stream[number])
            runtime.operator.save()
        runtime.operator = mine

    require_answered_as_the_reference(runtime, stream, before)
    assert private == len(stream)


@each_way_of_keeping
def test_an_operator_takes_the_arena_of_its_bucket_as_soon_as_that_is_free(kind: str) -> None:
    """It is at hand all the time: what a worker keeps would else stay in its own memory for ever."""
    stream, runtime = steady(9), OnMachine(bound_to(KINDS[kind]))
    runtime.ways = cycle([Way.SAME])
    zombie, where = runtime.operator, list[bool]()

    def before(number: int) -> None:
        if number == 0:
            runtime.reopen()  # while the other one holds the lock
        if number == 5:
            zombie.arena.release()
            runtime.operator.resume(runtime.header, runtime.store)
        where.append(runtime.operator.arena.is_anonymous)

    require_answered_as_the_reference(runtime, stream, before)
    assert where == 5 * [True] + 4 * [False]


def test_an_operator_that_is_at_hand_removes_what_dead_applications_left() -> None:
    stream, runtime = steady(4), OnMachine(bound_to(KINDS["sliding"]))
    runtime.ways = cycle([Way.SAME])
    for batch in stream[:2]:
        runtime.step(batch)
    left = ArenaHome.default().folder / "left"
    shutil.copytree(runtime.folder, left)
    os.utime(left / "head", (0, 0))
    runtime.step(stream[2])
    assert left.exists()  # not with every batch
    with patch.object(homes, "OFTEN", 0):
        runtime.step(stream[3])
    assert not left.exists()
    assert runtime.folder.exists()
    runtime.close()


def test_two_threads_on_one_bucket_get_the_same_answers() -> None:
    stream, runtime = steady(6), OnMachine(bound_to(KINDS["sliding"], KINDS["session"]))
    for batch in stream[:5]:
        runtime.step(batch)
    runtime.leave()
    answers, barrier = list[Any](), threading.Barrier(2)

    def task() -> None:
        one = OnMachine(runtime.bound)
        one.name, one.header, one.store = runtime.name, runtime.header, runtime.store
        one.watermark = copy(runtime.watermark)
        barrier.wait()
        one.reopen()
        answers.append(one.execute(stream[5]))
        one.operator.save()

    tasks = [threading.Thread(target=task) for _ in range(2)]
    for each in tasks:
        each.start()
    for each in tasks:
        each.join()
    assert answers[0] == answers[1]
    assert answers[0][0]


# No space


NO_SPACE = """
import resource, sys
from sash.errors import NoSpace
from tests.operators.test_engine_faults import KINDS, OnMachine, bound_to, many

runtime = OnMachine(bound_to(KINDS["sliding"]))
runtime.step(many(0))
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
try:
    runtime.step(many(1))
except NoSpace as error:
    print(error)
    sys.exit(7)
"""


def many(number: int) -> Batch:
    arrivals = (Arrival(10 * number + at % 10, f"{number} {at}", {"e": at, "x": at}) for at in range(1500))
    return Batch(tuple(arrivals))


def test_a_limit_of_files_is_one_sentence_and_not_a_signal(tmp_path: Path) -> None:
    environment = {**os.environ, "SASH_ARENA_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", NO_SPACE], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 7, ran.stderr
    assert len(ran.stdout.strip().splitlines()) == 1
    assert "SASH_ARENA_DIR" in ran.stdout


@each_way_of_keeping
def test_a_batch_without_space_for_the_arena_fails_and_nothing_is_lost(kind: str) -> None:
    stream, runtime = steady(), OnMachine(bound_to(KINDS[kind]))
    failed = 0

    def before(number: int) -> None:
        nonlocal failed
        if number % 2 == 0:
            return
        time = stream[number].arrivals[-1].time
        crowd = (Arrival(time, f"{number} {at}", {"e": at, "x": number}) for at in range(3000))
        header, chunks = runtime.header, dict(runtime.store.kept)
        with full_disk(), runtime.uncommitted(), pytest.raises(NoSpace, match="no room for"):
            runtime.execute(Batch(tuple(crowd)))
        failed += 1
        assert (runtime.header, runtime.store.kept) == (header, chunks)
        runtime.leave()
        # Elsewhere, or on this machine, where there is room again.
        if number % 3:
            runtime.reopen()
        else:
            runtime.go_on(Way.ELSEWHERE)

    require_answered_as_the_reference(runtime, stream, before)
    assert failed == 6


@contextmanager
def full_disk() -> Iterator[None]:
    """No file grows any more."""

    def full(descriptor: int, old: int, new: int) -> None:
        raise OSError(28, "No space left on device")

    with patch("sash.operators.arena.growing.reserve_blocks", full):
        yield
