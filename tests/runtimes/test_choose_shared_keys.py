"""Which keys of a stream are shared, from which batch on and until when: the driver's decision, and what it
does to the busiest task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sash
from benchmarks.hot_key_look_backs import of_batches
from benchmarks.hot_key_streams import SHARES, events
from sash.operators.look_back_regimes import Regime
from sash.operators.look_backs_by_pane import LookBackPanes
from sash.runtimes.spark.streaming.hot_keys.choose_shared_keys import PATIENCE, KeySharing, shared_panes
from sash.runtimes.spark.streaming.hot_keys.key_loads import SAMPLE, KeyLoad, loads_of, sampled

LEAST = 1000
HOT = KeyLoad(9_000, 0, 10_000)
EMPTY = pa.table(
    {"t": pa.array([], pa.int64()), "k": pa.array([], pa.int64()), "x": pa.array([], pa.int64())}
)


def rolling(*look_backs: Any, **how: Any) -> Any:
    emit = how.pop("emit", "close")
    return sash.stream(EMPTY, time="t", key="k", **how).rolling(*look_backs, emit=emit)


def panes(*look_backs: Any) -> LookBackPanes:
    found = shared_panes(rolling(*look_backs).agg(n=sash.count()).bound, buckets=8)
    assert found is not None
    return found


def run(sharing: KeySharing, *loads: dict[int, KeyLoad], tasks: int = 4) -> list[tuple[Regime, ...]]:
    """The regimes after each batch, one of which has 10,000 events and moves time by 10,000."""
    regimes: tuple[Regime, ...] = ()
    found = []
    for batch, load in enumerate(loads, start=1):
        newest = 10_000 * batch
        regimes = sharing.next(
            regimes, load, events=10_000, tasks=tasks, newest=newest, watermark=newest - 100
        )
        found.append(regimes)
    return found


def test_a_key_is_shared_from_the_batch_on_that_follows_two_in_which_it_was_hot() -> None:
    first, second, third = run(KeySharing(panes(4000), LEAST), {7: HOT}, {7: HOT}, {7: HOT})
    assert first == ()
    (regime,) = second
    assert (regime.key, regime.shares, regime.since, regime.answers) == (7, 8, 20_001, 24_001)
    assert 4000 % (regime.shares * regime.length) == 0
    assert third == second


@pytest.mark.parametrize(
    ("load", "tasks"),
    [(KeyLoad(2_400, 0, 10_000), 4), (KeyLoad(900, 0, 500), 16), (HOT, 1), (KeyLoad(9_000, 0, 10**7), 4)],
    ids=["less than a task has", "few rows", "one task", "panes are as many as rows"],
)
def test_a_key_stays_where_it_is_if_nothing_is_gained(load: KeyLoad, tasks: int) -> None:
    assert run(KeySharing(panes(4000), LEAST), *[{7: load}] * 3, tasks=tasks)[-1] == ()


def test_a_backlog_does_not_set_how_long_panes_are() -> None:
    after = run(KeySharing(panes(10**6), LEAST), {7: KeyLoad(9_000, 0, 10**9)}, {7: HOT})
    assert after[-1] == run(KeySharing(panes(10**6), LEAST), {7: HOT}, {7: HOT})[-1]


def test_a_key_that_was_cold_in_some_batches_goes_back_to_its_owner() -> None:
    cold: list[dict[int, KeyLoad]] = [{}] * (PATIENCE + 2)
    found = run(KeySharing(panes(4000), LEAST), {7: HOT}, {7: HOT}, {7: HOT}, *cold)
    ended = found[2 + PATIENCE][0]
    assert (ended.until, ended.back) == (60_001, 64_001)
    assert not found[1 + PATIENCE][0].ends
    assert found[-2:] == [(), ()]  # the owner has everything since 64,001


def test_batches_without_events_do_not_make_a_key_cold() -> None:
    sharing = KeySharing(panes(4000), LEAST)
    regimes = run(sharing, {7: HOT}, {7: HOT})[-1]
    for _ in range(2 * PATIENCE):
        assert sharing.next(regimes, {}, events=0, tasks=4, newest=20_000, watermark=19_000) == regimes


def test_a_key_that_was_cold_before_others_answered_is_its_owners_again_at_once() -> None:
    far = panes(8_000_000)
    found = run(KeySharing(far, LEAST), {7: HOT}, {7: HOT}, *[{}] * PATIENCE)
    assert [len(regimes) for regimes in found] == [0, 1, 1, 1, 0]


@pytest.mark.parametrize(
    "query",
    [
        rolling(8, sash.lifetime()).agg(n=sash.count()),
        rolling(5, 7).agg(n=sash.count()),
        rolling(8, emit="arrival").agg(n=sash.count()),
        rolling(8).agg(held=sash.collect("x")),
        rolling(8).agg(kinds=sash.count_distinct("x")),
        rolling(8, forget_after=100).agg(n=sash.count()),
        sash.stream(EMPTY, time="t").rolling(8).agg(n=sash.count()),
        sash.stream(EMPTY, time="t", key="k").latest(8).agg(n=sash.count()),
        sash.stream(EMPTY, time="t", key="k").window(sash.tumbling(8)).agg(n=sash.count()),
    ],
    ids=[
        "without end", "no common length", "on arrival", "in order", "objects", "forgotten", "no key",
        "latest", "windows",
    ],
)  # fmt: skip
def test_what_cannot_be_shared_never_is(query: Any) -> None:
    assert shared_panes(query.bound, buckets=8) is None


def test_a_sample_finds_the_share_of_a_hot_key() -> None:
    random = np.random.default_rng(1)
    keys = np.where(random.random(500_000) < 0.6, -3, random.integers(0, 10**6, 500_000))
    some, weight = sampled(len(keys))
    found = loads_of(keys[some], some, weight)
    assert len(some) == SAMPLE
    assert found.keys() == {-3}
    assert abs(found[-3].rows / 300_000 - 1) < 0.1
    assert found[-3].span > 490_000


def of_seconds(rows: pa.Table, parts: int) -> list[Any]:
    """The busiest of 8 tasks against the mean of all, in each of so many batches."""
    bound = sash.stream(rows, time="ts", key="k").rolling("10 seconds").agg(n=sash.count()).bound
    size = rows.num_rows // parts
    found = of_batches(bound, [rows.slice(at, size) for at in range(0, rows.num_rows, size)])
    assert all(one.sum() < 1.15 * size for one in found[-3:])
    return [float(one.max() / one.mean()) for one in found]


@pytest.mark.parametrize("share", SHARES)
def test_no_task_has_much_more_than_the_mean_whatever_part_of_the_rows_a_key_has(share: float) -> None:
    found = of_seconds(events(160_000, share), 8)
    assert found[0] > 4
    assert max(found[5:]) <= 1.5


def test_a_skew_that_turns_to_another_key_is_shared_again_within_five_batches() -> None:
    rows = events(320_000, 0.9)
    turned = np.where(np.arange(320_000) < 160_000, rows["k"].to_numpy(), (rows["k"].to_numpy() + 5) % 96)
    found = of_seconds(rows.set_column(1, "k", pa.array(turned)), 16)
    assert max(found[5:8]) <= 1.5 < found[8]
    assert max(found[13:]) <= 1.5
