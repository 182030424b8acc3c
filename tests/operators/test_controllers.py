"""Controllers on recorded samples: when they act, by how much, and when they leave things alone."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.errors import ArgumentError
from sash.operators import Aggregate, Input, Sample, predictive, setup, thresholds
from sash.operators.elastic.controllers import Controller


def sample(load: float, degree: int, *, time: float = 0.0, rate: float = 100.0, pending: int = 0) -> Sample:
    return Sample(time=time, seconds=1.0, degree=degree, rate=rate, pending=pending, utilisation=load)


def recorded(loads: list[float], degree: int) -> list[Sample]:
    return [sample(load, degree, time=float(at)) for at, load in enumerate(loads)]


def driven(controller: Controller, work: list[float], *, degree: int = 1, most: int = 64) -> list[int]:
    """The degrees under a load of so many busy instances a second, when the controller is obeyed."""
    samples: list[Sample] = []
    degrees = []
    for second, needed in enumerate(work):
        load = min(1.0, needed / degree)
        samples.append(sample(load, degree, time=float(second), rate=1000 * needed))
        degree = max(1, min(most, controller(samples)))
        degrees.append(degree)
    return degrees


# load by sample, degree, the wanted degree: 70 % is what every change aims at
RECORDED = [
    ([0.89, 0.90], 4, 4),
    ([0.91], 4, 6),  # 3.64 busy instances / 0.7 = 5.2
    ([0.95], 2, 3),
    ([1.00], 1, 2),
    ([0.46, 0.46, 0.46], 4, 4),
    ([0.44, 0.44, 0.44], 4, 3),  # 1.76 / 0.7 = 2.5
    ([0.10, 0.10, 0.10], 8, 2),
    ([0.00, 0.00, 0.00], 8, 1),
    ([0.10, 0.10], 8, 8),  # not for long enough yet
    ([0.10, 0.60, 0.10], 8, 8),  # one busy sample in between
    ([0.40, 0.10, 0.20], 8, 5),  # the busiest of the three decides: 3.2 / 0.7
]


@pytest.mark.parametrize(("loads", "degree", "expected"), RECORDED)
def test_thresholds_act_above_ninety_and_below_forty_five_percent(
    loads: list[float], degree: int, expected: int
) -> None:
    assert thresholds()(recorded(loads, degree)) == expected


@settings(max_examples=200)
@given(st.floats(0.01, 40.0), st.integers(1, 40))
def test_under_a_steady_load_thresholds_come_to_rest_and_stay(needed: float, degree: int) -> None:
    degrees = driven(thresholds(), [needed] * 60, degree=degree)
    assert len(set(degrees[40:])) == 1
    assert needed / degrees[-1] <= 0.9 + 1e-9


@settings(max_examples=100, deadline=None)
@given(st.floats(1.0, 20.0), st.integers(0, 10**6))
def test_noise_of_ten_percent_does_not_make_thresholds_flap(needed: float, seed: int) -> None:
    draw = random.Random(seed)
    degrees = driven(thresholds(), [needed * draw.uniform(0.9, 1.1) for _ in range(200)], degree=32)
    settled = degrees[50:]
    assert sum(a != b for a, b in pairwise(settled)) <= 1


def test_a_prediction_counts_what_waits_and_what_is_to_come() -> None:
    # A tuple costs a millisecond: 1,000 tuples a second keep one instance busy.
    steady = [sample(0.5, 2, time=float(t), rate=1000.0) for t in range(5)]
    controller = predictive(target=0.7)
    assert controller(steady) == 2  # 1.0 / 0.7
    waiting = [*steady, sample(0.5, 2, time=5.0, rate=1000.0, pending=3000)]
    assert controller(waiting) == 6  # (1.0 + 3.0) / 0.7
    rising = [*steady, sample(1.0, 2, time=5.0, rate=2000.0)]
    assert controller(rising) == 5  # the rise of 1,000 goes on: 3.0 / 0.7


def test_a_prediction_for_a_join_grows_with_the_window() -> None:
    # Comparisons cost a microsecond: at 100 tuples a second and t seconds of window, 100 · 100 t of them.
    samples = [sample(min(1.0, 0.01 * (t + 1)), 1, time=float(t + 1), rate=100.0) for t in range(10)]
    flat, grown = predictive(window=None), predictive(window=10.0)
    full = [*samples, replace(sample(0.1, 1, time=11.0, rate=1000.0))]
    # The window holds 1,000 tuples and about 1,900 in a second: each of 1,000 or more tuples meets those.
    assert grown(full) > flat(full) >= 1


def test_a_prediction_takes_instances_back_only_after_some_patience() -> None:
    busy = [sample(0.9, 4, time=float(t), rate=3600.0) for t in range(3)]
    quiet = [sample(0.1, 4, time=float(3 + t), rate=400.0) for t in range(3)]
    controller = predictive(patience=3)
    assert [controller([*busy, *quiet[:n]]) for n in (1, 2)] == [4, 4]
    assert controller([*busy, *quiet]) < 4


def test_noise_of_ten_percent_does_not_make_predictions_flap() -> None:
    draw = random.Random(4)
    degrees = driven(predictive(patience=10), [5 * draw.uniform(0.9, 1.1) for _ in range(200)], degree=8)
    settled = degrees[50:]
    assert max(settled) - min(settled) <= 2
    assert sum(a != b for a, b in pairwise(settled)) <= 20


@pytest.mark.parametrize("load", [0.72, 0.74, 0.75, 0.76, 0.78])
def test_a_load_between_the_bounds_of_a_prediction_does_not_make_instances_come_and_go(load: float) -> None:
    """Samples of tenths of a second differ by some 2 %, as the counts of arrivals do."""
    draw = random.Random(7)
    work = [load * draw.uniform(0.98, 1.02) for _ in range(600)]
    degrees = driven(predictive(horizon=0.5, target=0.80, lower=0.70), work, degree=2, most=2)
    assert sum(a != b for a, b in pairwise([2, *degrees])) <= 1


def test_a_prediction_takes_instances_back_when_the_others_stay_below_the_lower_bound() -> None:
    controller = predictive(target=0.80, lower=0.60)
    assert controller([sample(0.35, 2, time=float(t), rate=700.0) for t in range(5)]) == 2  # 0.7 of one
    assert controller([sample(0.29, 2, time=float(t), rate=580.0) for t in range(5)]) == 1  # 0.58 of one


@pytest.mark.parametrize("controller", [thresholds(), predictive(), predictive(window=5.0)])
def test_without_a_sample_there_is_one_instance(controller: Controller) -> None:
    assert controller([]) == 1
    assert controller([sample(0.0, 1, rate=0.0)]) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: thresholds(lower=0.8),
        lambda: thresholds(upper=1.5),
        lambda: thresholds(patience=0),
        lambda: predictive(horizon=0),
        lambda: predictive(window=-1.0),
        lambda: predictive(patience=0),
        lambda: predictive(target=0.7, lower=0.8),
        lambda: predictive(lower=0.0),
    ],
)
def test_settings_that_make_no_sense_are_refused(wrong: Any) -> None:
    with pytest.raises(ArgumentError):
        wrong()


def test_the_declaration_keeps_a_controller_within_its_bounds() -> None:
    declared = sash.Elastic(min=2, max=4)
    assert declared.degree([]) == 2
    assert declared.degree([sample(1.0, 4)]) == 4
    assert sash.Elastic(max=8, controller=lambda samples: 5, store="redis").degree([]) == 5
    assert sash.Elastic(max=8, controller="predictive").degree([]) == 1
    with pytest.raises(ArgumentError, match=r"controller must be .* a whole number"):
        sash.Elastic(max=8, controller=lambda samples: 2.5).degree([])  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    ("argument", "wrong"),
    [
        ("min", {"min": 0, "max": 2}),
        ("max", {"min": 3, "max": 2}),
        ("max", {"max": 2.5}),
        ("controller", {"max": 2, "controller": "guess"}),
        ("store", {"max": 2, "store": "floppy"}),
        ("buckets", {"max": 8, "buckets": 4}),
    ],
)
def test_a_declaration_that_cannot_be_is_refused_by_name(argument: str, wrong: Any) -> None:
    with pytest.raises(ArgumentError, match=f"^{argument} must be"):
        sash.Elastic(**wrong)


def test_samples_of_a_running_operator_say_what_it_did() -> None:
    now = [0.0]
    events = Input(pa.schema([("t", pa.int64()), ("k", pa.int64())]), time="t")
    operator = Aggregate(advance=5, size=5, inputs=events, keys="k", n=sash.count(), shares=4)
    with setup(operator, 2, 4, clock=lambda: now[0]) as elastic:
        elastic.add("source", {"t": list(range(100)), "k": [1] * 100})
        now[0] = 2.0
        found = elastic.sample()
        assert (found.seconds, found.rate, found.degree) == (2.0, 50.0, 2)
        now[0] = 3.0
        assert elastic.sample().rate == 0.0
        elastic.stop()
