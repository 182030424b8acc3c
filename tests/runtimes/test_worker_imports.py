"""What Python workers import for a query: what they run, and not what the driver decides with."""

from __future__ import annotations

import pickle

import pytest

from sash.runtimes.spark.batch import static_source


@pytest.mark.parametrize("part", [static_source.REPORTS, static_source.LATE])
def test_the_part_of_an_answer_is_shipped_without_a_module_of_ours(part: object) -> None:
    assert b"sash" not in pickle.dumps(part)
