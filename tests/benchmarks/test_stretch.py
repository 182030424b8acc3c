"""The experiments of the STRETCH paper measure what they are named after."""

from __future__ import annotations

import pytest

from benchmarks.stretch import sustaining, under_load
from benchmarks.stretch.joining import SOURCES, replay, scale_join, scale_join_streams
from sash.operators import setup


@pytest.mark.parametrize("truth", [37, 700, 1_000, 1_300, 9_000])
@pytest.mark.parametrize("first", [400, 1_000, 5_000])
def test_the_search_ends_within_a_tenth_of_the_rate_that_is_sustained(truth: float, first: float) -> None:
    found = sustaining.searched(lambda rate: 0.01 if rate <= truth else 2.0, first, trials=20)
    assert truth / sustaining.NEAR <= found.rate <= truth
    assert found.text == f"{found.rate:,.0f}"


def test_a_search_in_which_nothing_is_sustained_is_no_rate() -> None:
    found = sustaining.searched(lambda rate: 2.0, 1_000, trials=3)
    assert found.text == "less than 250"


def test_replays_without_pairs_are_not_sustained() -> None:
    assert sustaining.searched(lambda rate: float("nan"), 800, trials=2).text == "less than 400"


def test_a_controller_that_is_armed_later_and_once_switches_once_and_not_before() -> None:
    def restless(samples: object) -> int:
        return 3 - elastic.degree

    with setup(scale_join(1), 1, 2, sources=SOURCES) as elastic:
        found = replay(
            elastic, scale_join_streams(), seconds=1.2, rate=lambda now: 200.0, controller=restless,
            armed=0.5, once=True,
        )  # fmt: skip
    [(at, before, after, _)] = found.switches
    assert at >= 0.5
    assert (before, after) == (1, 2)


def test_the_switch_under_load_does_not_come_before_the_rate_changes() -> None:
    change = under_load.changed(2, 0.7, 0.05, window=1, seconds=3.0, trials=1)
    assert len(change.replay.switches) <= 1
    assert all(at >= change.before for at, *_ in change.replay.switches)
