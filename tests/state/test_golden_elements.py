"""Elements of every aggregate that an earlier version has written are read, mean the same and go on."""

from __future__ import annotations

from base64 import b64decode

import pytest

from sash.aggregation import encoding
from sash.testing.sameness import same
from tests.aggregation.every_monoid import slack
from tests.state.golden_elements import FILE, cases, folded, recorded

CASES, RECORDED = cases(), recorded()


def test_every_aggregate_has_its_line() -> None:
    """What is new is added with `make golden`; an aggregate that is gone could not read its state."""
    assert CASES.keys() == RECORDED.keys()
    assert len(CASES) > 100
    assert FILE.stat().st_size < 200_000


@pytest.mark.parametrize("label", RECORDED)
def test_an_element_of_an_earlier_version_means_the_same_and_goes_on(label: str) -> None:
    monoid, rows = CASES[label]
    data, value = (b64decode(RECORDED[label][part]) for part in ("element", "value"))
    element = (monoid.decode or encoding.decode)(data)
    assert same(monoid.lower(element), encoding.decode(value), absolute=slack(monoid))
    further = monoid.lower(monoid.combine(element, monoid.lift(*rows[0])))
    if monoid.approximate:
        assert type(further) is type(encoding.decode(value))  # which events a sketch forgets is by chance
    else:
        fresh = monoid.lower(folded(monoid, [*rows, rows[0]]))
        assert same(further, fresh, absolute=slack(monoid))
