"""What the experiments time and count gives right answers: their kernels, evictions and policies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from benchmarks.amta_paper import bulk_eviction, latency, slide_policies
from benchmarks.amta_paper.cached_naive import CachedNaive
from benchmarks.amta_paper.dimensions import wide_sum
from benchmarks.amta_paper.measuring import counting, plain_sum, readings
from benchmarks.amta_paper.slide_policies import POLICIES, climb
from sash.aggregation import built_in
from sash.aggregators import AMTA, Recalculate, tracked
from sash.semantics.windows import policy
from sash.testing.policy_laws import monotone

TIMED = [name for name in latency.CLASSES if name != "recalculate"]


@pytest.mark.parametrize("name", TIMED)
@pytest.mark.parametrize("window", [1, 2, 7, 16, 100])
def test_oracle_the_kernels_that_are_timed_give_plain_sums(name: str, window: int) -> None:
    values = readings(300)
    fast = plain_sum()
    out = fast.empty(len(values))
    latency.sliding_kernel(name, len(values))(fast.columns((values,)), window, out)
    sums = np.concatenate(([0], np.cumsum(values)))
    ends = np.arange(1, len(values) + 1)
    assert out[0].tolist() == (sums[ends] - sums[np.maximum(ends - window, 0)]).tolist()


@pytest.mark.parametrize("window", [1, 5, 64])
def test_oracle_the_timed_recalculation_folds_full_windows_only(window: int) -> None:
    values, fast = readings(200), plain_sum()
    out = fast.empty(len(values) - window + 1)
    fast.kernel("recalculate")(fast.columns((values,)), window, out)
    assert out[0].tolist() == [values[r : r + window].sum() for r in range(len(out[0]))]


@pytest.mark.parametrize("prepared", [bulk_eviction.amta, bulk_eviction.daba, bulk_eviction.two_stacks])
def test_oracle_what_is_timed_as_a_bulk_eviction_leaves_the_right_fold(
    prepared: bulk_eviction.Prepared,
) -> None:
    evict = prepared(plain_sum(), readings(257))
    for k in (1, 2, 3, 100, 128, 255, 256):
        assert evict(k) > 0  # the answers are compared inside, and a wrong one raises


@settings(deadline=None, max_examples=25)
@given(st.integers(4, 5_000))
def test_bulk_evictions_are_measured_from_one_element_to_all_but_one(n: int) -> None:
    counts = bulk_eviction.counts(n)
    assert counts == sorted(set(counts))
    assert (counts[0], counts[-1]) == (1, n - 1)


def test_differential_the_papers_naive_folds_again_only_after_an_eviction() -> None:
    monoid, tally = counting(tracked(n=built_in.count("x"), hi=built_in.max("x")))
    cached, plain = CachedNaive(monoid), Recalculate(monoid)
    values, evictions, combines = [*range(50, 0, -1), *range(30), 70, *range(70, 0, -1)], 0, 0
    for x in values:
        before = tally.combines
        cached.insert(x)
        evicted = cached.evict_by_policy(lambda total, old: total.n - old.n >= 60 or old.hi < total.hi)
        found = cached.query()
        combines += tally.combines - before
        evictions += evicted > 0
        plain.insert(x)
        assert plain.evict_by_policy(lambda t, old: t.n - old.n >= 60 or old.hi < t.hi) == evicted
        assert (found, len(cached)) == (plain.query(), len(plain))
    assert 0 < evictions < len(values) / 2
    # An insertion, the head that is tried, those that leave, and all of at most 60 behind an eviction.
    assert combines <= 2 * len(values) + len(values) + 60 * evictions


@pytest.mark.parametrize("name", POLICIES)
def test_differential_descent_and_scan_slide_by_a_policy_alike(name: str) -> None:
    by_descent, combines = slide_policies.slide(POLICIES[name], AMTA, 16, 300)
    by_scan, more = slide_policies.slide(POLICIES[name], Recalculate, 16, 300)
    assert by_descent == by_scan
    assert max(by_descent) > 1
    assert combines < more


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_of_the_experiment_is_monotone(name: str) -> None:
    case = POLICIES[name]
    rows = [{"x": x, "t": 10 * at} for at, x in enumerate(readings(24).tolist())]
    window = policy(lambda total, old: case.leaves(4, total, old), track=case.track)
    assert monotone(window, rows) == 24 * 25 // 2


def test_a_longer_window_waits_for_a_longer_climb() -> None:
    assert [climb(length) for length in (1, 12, 60, 360, 2_520)] == [3, 4, 5, 6, 7]


def test_a_wide_sum_adds_field_by_field() -> None:
    monoid, tally = counting(wide_sum(64))
    ones, twos = (1,) * 64, (2,) * 64
    assert monoid.combine(monoid.combine(monoid.identity(), ones), twos) == (3,) * 64
    assert monoid.lift(*ones) == monoid.lower(ones) == ones
    assert tally.combines == 2
