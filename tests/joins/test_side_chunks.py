"""Rows of a share in chunks: those that are held, in any order of adding and expiring."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings, strategies as st

from sash.operators.joins.state.chunk import Chunk
from sash.operators.joins.state.side_chunks import SMALL, RowsInTime, SortedChunks

STEPS = st.lists(
    st.tuples(st.lists(st.integers(0, 3), max_size=6), st.booleans(), st.integers(0, 12)), max_size=30
)


def rows(first: int, time: np.ndarray, *, clean: bool = True) -> Chunk:
    place = np.arange(first, first + len(time))
    return Chunk(place, time, 0 * time, time, (7 * place, time), clean)


@settings(max_examples=200, deadline=None)
@given(STEPS, st.booleans())
def test_oracle_chunks_hold_what_has_not_expired_and_chunks_in_use_stay_as_they_are(
    steps: list[tuple[list[int], bool, int]], sorts: bool
) -> None:
    held = SortedChunks(longest=5) if sorts else RowsInTime()
    now, taken, before = 0, 0, -1
    alive: dict[int, tuple[int, bool]] = {}
    seen: list[tuple[Chunk, list[int]]] = []
    for gaps, clean, back in steps:
        time = now + np.cumsum(np.array(gaps, np.int64))
        held.add(rows(taken, time, clean=clean))
        alive.update({taken + n: (t, clean) for n, t in enumerate(time.tolist())})
        now, taken = int(time[-1]) if len(time) else now, taken + len(time)
        before = max(before, now - back)
        held.expire(before)
        chunks = list(held)
        found = {
            place: (t, chunk.clean)
            for chunk in chunks
            for place, t in zip(chunk.place.tolist(), chunk.time.tolist(), strict=True)
        }
        needed = {place: row for place, row in alive.items() if row[0] >= before}
        assert needed.items() <= found.items() <= alive.items()
        if not sorts:
            assert found == needed, "the one chunk lets go of exactly what has expired"
        assert len(held) == len(found)
        for chunk in chunks:
            assert (chunk.columns[0] == 7 * chunk.place).all()
            assert (chunk.oldest, chunk.newest) == (chunk.time.min(), chunk.time.max())
            assert chunk.span == (chunk.second.min(), chunk.second.max())
            seen.append((chunk, chunk.place.tolist()))
    for chunk, places in seen:
        assert chunk.place.tolist() == places


def test_rows_in_time_are_one_chunk_whose_room_is_at_most_four_times_what_it_holds() -> None:
    held = RowsInTime()
    for second in range(400):
        held.add(rows(100 * second, np.full(100, second)))
        held.expire(second - 50)
        (chunk,) = held
        assert len(chunk) == 100 * min(second + 1, 51)
        base = chunk.place.base
        assert base is not None
        assert len(base) <= max(4 * len(chunk), SMALL)


def test_the_room_of_a_burst_is_given_back() -> None:
    held = RowsInTime()
    held.add(rows(0, np.zeros(100_000, np.int64)))
    (burst,) = held
    held.add(rows(100_000, np.full(10, 5)))
    held.expire(1)
    (chunk,) = held
    assert chunk.place.tolist() == list(range(100_000, 100_010))
    assert chunk.place.base is not None
    assert len(chunk.place.base) <= SMALL
    assert len(burst) == 100_000, "whoever is at work goes on with what it has"
    held.expire(6)
    assert list(held) == []
    held.add(rows(100_010, np.full(3, 7)))
    assert [chunk.place.tolist() for chunk in held] == [[100_010, 100_011, 100_012]]
