"""What Q3 to Q6 share: the ScaleJoin benchmark's streams, and a replay in real time into an elastic join.

Left (x int, y float) and right (a int, b float, c double, d boolean), values from 1 to 10,000, are joined
where |x − a| ≤ 10 and |y − b| ≤ 10: one pair in 250,000 comparisons. Every tuple is compared with the whole
window of the other side, so at r tuples a second on each side and windows of WS seconds

    comparisons a second = 2 · WS · r²

The time of a tuple is the moment in which it is sent, and the latency of a pair is what has passed since
its later tuple when a reader has the pair.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread

import numpy as np
import pyarrow as pa

from benchmarks.stretch.progress import PROGRESS
from sash.arrays import Ints
from sash.operators import ElasticOperator, Input, Join, Sample
from sash.operators.elastic.controllers import Controller
from sash.operators.stateful.join_shares import JoinShares

SECOND = 1_000_000
TICK, DECIDE_EVERY = 0.005, 0.1
SAMPLES = 700
"""A controller sees the last so many: those of the longest window that one predicts, and some more."""
LEFT = Input(pa.schema([("t", pa.int64()), ("x", pa.int32()), ("y", pa.float32())]), time="t")
RIGHT = Input(
    pa.schema(
        [("t", pa.int64()), ("a", pa.int32()), ("b", pa.float32()), ("c", pa.float64()), ("d", pa.bool_())]
    ),
    time="t",
)
SOURCES = {"left": 0, "right": 1}
Draw = Callable[[Ints], pa.Table]
"""The tuples of a source at these times."""


def scale_join(window: float, *, shares: int = 4) -> Join:
    """`| False` leaves nothing to search for: every pair of the window is compared, as in the paper."""
    return Join(
        within=int(window * SECOND), inputs=[LEFT, RIGHT], shares=shares,
        where=lambda l, r: (abs(l.x - r.a) <= 10) & (abs(l.y - r.b) <= 10) | False,  # noqa: E741
    )  # fmt: skip


def scale_join_streams(seed: int = 3) -> dict[str, Draw]:
    draw = np.random.default_rng(seed)

    def left(times: Ints) -> pa.Table:
        values = draw.integers(1, 10_001, (2, len(times)))
        return pa.table([times, values[0].astype(np.int32), values[1].astype(np.float32)], LEFT.schema)

    def right(times: Ints) -> pa.Table:
        a, b, c = draw.integers(1, 10_001, (3, len(times)))
        columns = [times, a.astype(np.int32), b.astype(np.float32), c.astype(np.float64), c % 2 == 0]
        return pa.table(columns, schema=RIGHT.schema)

    return {"left": left, "right": right}


def compared(elastic: ElasticOperator) -> int:
    assert isinstance(elastic.running, JoinShares)
    return int(elastic.running.store.comparisons)


def fill(
    elastic: ElasticOperator, streams: Mapping[str, Draw], *, rate: float, begin: int, end: int
) -> None:
    """Send what a window holds, as fast as it is taken: event time [begin, end), `rate` a second each."""
    with pairs_read(elastic):
        for at in range(begin, end, SECOND):
            PROGRESS.step(f"sending second {(at - begin) // SECOND} of {(end - begin) // SECOND}")
            times = at + np.arange(int(rate)) * SECOND // max(int(rate), 1)
            for name, stream in streams.items():
                elastic.add(name, stream(times), watermark=at + SECOND - 1)
        switched(elastic, elastic.degree)


@contextmanager
def pairs_read(elastic: ElasticOperator) -> Iterator[None]:
    """Somebody takes what is emitted meanwhile: a gate may hold fewer pairs than five minutes have, and
    instances wait where it is full."""
    over = Event()

    def read() -> None:
        while not over.is_set():
            elastic.get("reader", timeout=0.05)

    reader = Thread(target=read)
    reader.start()
    try:
        yield
    finally:
        over.set()
        reader.join()


def at_full_speed(
    elastic: ElasticOperator, streams: Mapping[str, Draw], *, rate: float, begin: int, seconds: int
) -> tuple[float, float]:
    """Comparisons a second, and by a second of what the busiest instance has measured as its work."""
    began, before, worked = time.perf_counter(), compared(elastic), list(elastic.meter.busy)
    fill(elastic, streams, rate=rate, begin=begin, end=begin + seconds * SECOND)
    done = compared(elastic) - before
    busiest = max(now - then for now, then in zip(elastic.meter.busy, worked, strict=True))
    return done / (time.perf_counter() - began), done / busiest


def switched(elastic: ElasticOperator, degree: int) -> None:
    """Wait until so many instances have met all that was sent: they switch behind it."""
    if not elastic.reconfigure(degree).wait(600):
        raise AssertionError(f"no switch to {degree} instances within ten minutes")


@dataclass
class Replay:
    """What happened, by seconds since the begin."""

    seconds: list[float] = field(default_factory=list)
    rates: list[float] = field(default_factory=list)
    degrees: list[int] = field(default_factory=list)
    comparisons: list[float] = field(default_factory=list)
    """A second."""
    utilisations: list[float] = field(default_factory=list)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """When rows were read, and their mean latency."""
    pairs: int = 0
    tuples: int = 0
    switches: list[tuple[float, int, int, float]] = field(default_factory=list)
    """When, from how many instances, to how many, and the seconds that it took."""

    def latency(self, begin: float = 0.0, end: float = float("inf")) -> float:
        found = [late for at, late in self.latencies if begin <= at < end]
        return float(np.mean(found)) if found else float("nan")

    def utilisation(self, begin: float = 0.0, end: float = float("inf")) -> float:
        """The part of their time in which the instances that there were worked."""
        at = np.array(self.seconds)
        return float(np.mean(np.array(self.utilisations)[(begin <= at) & (at < end)]))

    def worst(self) -> float:
        return max((late for _, late in self.latencies), default=float("nan"))


def replay(
    elastic: ElasticOperator, streams: Mapping[str, Draw],
    *, seconds: float, rate: Callable[[float], float], controller: Controller | None = None,
    armed: float = 0.0, once: bool = False, most: int = 2, offset: int = 0, seed: int = 5,
    tick: float = TICK,
) -> Replay:  # fmt: skip
    """Send `rate(now)` tuples a second of each stream for so many seconds, those of a tick at its end, then
    end the stream; `offset` is the event time at which the replay begins. The controller decides ten times
    a second, from `armed` seconds on, and with `once` no more after its first switch."""
    found, draw, samples = Replay(), np.random.default_rng(seed), list[Sample]()
    began = time.perf_counter()

    def read() -> None:
        while (rows := elastic.get("reader")) is not None:
            now = time.perf_counter() - began
            times = (rows["time"].to_numpy() - offset) / SECOND
            # Pairs of the time before the replay are those of the filling.
            if len(times := times[times > 0]):
                found.latencies.append((now, now - float(times.mean())))
                found.pairs += len(times)

    reader = Thread(target=read)
    reader.start()
    elastic.sample()
    last, decided, before, changes = 0, 0.0, compared(elastic), []
    while (now := time.perf_counter() - began) < seconds:
        upto = int(now * SECOND)
        for name, stream in streams.items():
            n = int(draw.poisson(rate(now) * (upto - last) / SECOND))
            # All tuples of a tick are sent at its end, and that is their time.
            elastic.add(name, stream(np.full(n, offset + upto)), watermark=offset + upto)
            found.tuples += n
        last = upto
        if now - decided >= DECIDE_EVERY:
            PROGRESS.step(f"replay, {now:.0f} of {seconds:.0f} s")
            samples = [*samples[1 - SAMPLES :], elastic.sample()]
            wanted = elastic.degree
            may = not changes or (not once and changes[-1][3].completed is not None)
            if controller is not None and now >= armed and may:
                wanted = max(1, min(most, controller(samples)))
            if wanted != elastic.degree:
                changes.append((now, elastic.degree, wanted, elastic.reconfigure(wanted)))
            done = compared(elastic)
            found.seconds.append(now)
            found.rates.append(samples[-1].rate)
            found.utilisations.append(samples[-1].utilisation)
            found.comparisons.append((done - before) / (now - decided))
            found.degrees.append(elastic.degree)
            before, decided = done, now
        time.sleep(max(0.0, tick - (time.perf_counter() - began - now)))
    elastic.stop()
    reader.join()
    found.switches = [(at, one, other, change.seconds) for at, one, other, change in changes]
    return found
