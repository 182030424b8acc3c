"""Random streams and random queries, for comparing runtimes with the reference."""

from __future__ import annotations

from hypothesis import strategies as st

from sash.aggregation import built_in
from sash.semantics import windows
from sash.semantics.reference import Arrival
from sash.semantics.window import Window

small = st.integers(1, 12)


def _at_most_ten(total, old) -> bool:
    return total.s - old.s + old.last > 10


shift = st.integers(-5, 5)


def _time(size: int, every: int, origin: int) -> Window:
    return windows.time(size, every, origin=origin)


def _cumulate(step: int, steps: int) -> Window:
    return windows.cumulate(step * steps, step)


def _slide_by_time(size: int, every: int, origin: int) -> Window:
    return windows.slide_by_time(size, every, origin=origin)


def _delta(size: int, every: int, closed: str) -> Window:
    return windows.delta("x", size, every, closed=closed)


def _policy(every: int) -> Window:
    track = {"s": built_in.sum("x"), "last": built_in.last("x")}
    return windows.policy(_at_most_ten, track=track, every=every)


any_window: st.SearchStrategy[Window] = st.one_of(
    st.builds(windows.rows, small, every=small),
    st.builds(_time, small, small, shift),
    st.builds(_cumulate, st.integers(1, 4), st.integers(1, 4)),
    st.builds(windows.slide_by_tuple, small, small),
    st.builds(_slide_by_time, small, small, shift),
    st.builds(windows.session, small),
    st.builds(_delta, small, small, st.sampled_from(["left", "right"])),
    st.just(windows.threshold(lambda row: row.x is not None and row.x > 4)),
    st.just(windows.threshold(lambda row: (row.x != 2) & (row.x != 7))),
    st.just(windows.punctuated(lambda row: row.x == 3)),
    st.builds(_policy, st.integers(1, 3)),
)

lifetimes: st.SearchStrategy[Window] = st.builds(lambda every: windows.lifetime(every=every), small)


@st.composite
def arrivals(draw: st.DrawFn, *, max_size: int = 40) -> list[Arrival]:
    """Events of a few keys (null is one of them), with ties, nulls and times before the epoch."""
    count = draw(st.integers(0, max_size))
    times = st.one_of(st.integers(-20, 40), st.none() if draw(st.booleans()) else st.integers(-20, 40))
    payload = st.one_of(st.integers(0, 9), st.none()) if draw(st.booleans()) else st.integers(0, 9)
    keys = st.sampled_from(["a", "b", None])
    stream = []
    for number in range(count):
        time = draw(times)
        stream.append(Arrival(time, draw(keys), {"e": number, "t": time, "x": draw(payload)}))
    return stream
