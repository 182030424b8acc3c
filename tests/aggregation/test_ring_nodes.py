"""Where the nodes of a region lie: each in a row of its own, the ends of a range close together."""

from __future__ import annotations

import pytest

from sash.aggregation.kernels.state.rings import CELL, LEAF, SMALLEST, node


def nodes_of(log: int) -> list[tuple[int, int]]:
    """Levels and numbers of all nodes of a region that is full."""
    return [
        (level, number)
        for level in range(log)
        for number in range((1 << log) // (LEAF << level))
        if LEAF << level <= 1 << log
    ]


@pytest.mark.parametrize("log", range(SMALLEST, 15))
def test_every_node_has_a_row_of_its_own_in_a_quarter_of_the_region(log: int) -> None:
    base, mask = 3 << log, (1 << log) - 1
    rows = [int(node(base, mask, level, number)) for level, number in nodes_of(log)]
    assert len(set(rows)) == len(rows)
    assert all(base >> 2 <= row < (base >> 2) + (1 << log >> 2) for row in rows)


@pytest.mark.parametrize("log", range(4, 12))
def test_a_node_that_comes_round_again_has_the_row_of_the_one_before(log: int) -> None:
    base, mask = 5 << log, (1 << log) - 1
    for level, number in nodes_of(log):
        again = number + (1 << log) // (LEAF << level)
        assert node(base, mask, level, number) == node(base, mask, level, again)


def test_all_nodes_over_64_elements_lie_together() -> None:
    base, mask, elements = 0, (1 << 14) - 1, LEAF * CELL
    for cell in range(4):
        rows = [
            int(node(base, mask, level, number))
            for level in range(4)
            for number in range(cell * CELL >> level, (cell + 1) * CELL >> level)
        ]
        assert (len(rows), max(rows) - min(rows)) == (15, 14)
    assert elements == 64
