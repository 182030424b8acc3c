"""Float sums do not drift, however long a window slides: nothing is ever subtracted."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest

from sash.aggregation import built_in
from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import AlgorithmName, slide
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.monoid import Monoid
from sash.errors import NotInvertible

WINDOW = 1000
FIFO = [name for name in get_args(AlgorithmName) if name not in ("subtract_on_evict", "recalculate")]


def worst_error(algorithm: AlgorithmName, slides: int) -> float:
    """The greatest distance, in units of the last place, from sums that are recomputed exactly."""
    # Magnitudes from 1e-8 to 1e8 and both signs: an algorithm that subtracted would lose the small ones.
    random = np.random.default_rng(7)
    values = random.normal(size=slides) * 10.0 ** random.integers(-8, 9, slides)
    machine = compiled(built_in.sum("x"), kinds=("float",))
    sums, _ = machine.lower(slide(machine, machine.lift((values,)), WINDOW, algorithm=algorithm))
    looked_at = {slides - 1, *random.integers(WINDOW, slides, 200).tolist()}
    errors = []
    for at in looked_at:
        exact = math.fsum(values[at - WINDOW + 1 : at + 1])
        errors.append(abs(float(sums[at]) - exact) / math.ulp(exact))
    return max(errors)


@pytest.mark.parametrize("algorithm", FIFO)
def test_a_float_sum_is_right_to_the_last_place_after_a_million_slides(algorithm: AlgorithmName) -> None:
    assert worst_error(algorithm, 10**6) <= 2


@pytest.mark.soak
@pytest.mark.parametrize("algorithm", ["two_stacks", "daba", "amta"])
def test_a_float_sum_is_right_to_the_last_place_after_a_hundred_million_slides(
    algorithm: AlgorithmName,
) -> None:
    assert worst_error(algorithm, 10**8) <= 2


def test_there_is_no_way_to_subtract_floats() -> None:
    def floats(monoid: Monoid) -> Monoid:
        return monoid.bind(("float",) * len(monoid.columns))

    for monoid in (
        built_in.sum("x"),
        built_in.mean("x"),
        built_in.variance("x"),
        built_in.covariance("x", "y"),
    ):
        with pytest.raises(NotInvertible):
            floats(monoid).require_inverse("subtract on evict")
