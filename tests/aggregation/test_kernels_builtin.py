"""Every columnar built-in monoid, found by itself, compiles and folds to what Python folds it to."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sash.aggregation.kernels.compiler.compiled import Compiled, compiled
from sash.aggregation.monoid import Kind, Monoid

from .every_monoid import BOUND
from .kernel_monoids import MACHINE_CODE, elements, recomputed

COLUMNAR = {
    label: (monoid, kinds)
    for label, (monoid, kinds) in BOUND.items()
    if monoid.columnar and (set(kinds) <= {"int"} or set(kinds) == {"float"})
}


def column(kind: Kind, seed: int) -> np.ndarray:
    values = np.random.default_rng(seed).integers(1, 50, 40)
    return values if kind == "int" else values / 4


def assert_same(machine: Any, python: Any) -> None:
    """Equal, but for the last bits: a machine may contract a · b + c into one rounding."""
    assert np.shape(machine) == np.shape(python)
    np.testing.assert_allclose(np.array(machine, float), np.array(python, float), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("label", COLUMNAR)
def test_differential_a_builtin_compiles_and_equals_its_interpreted_folds(label: str) -> None:
    monoid, kinds = COLUMNAR[label]
    fast = compiled(monoid, kinds=kinds)
    inputs = [column(kind, seed) for seed, kind in enumerate(kinds)]
    columns = fast.lift(inputs, n=40)
    parts = elements(fast, columns)
    rows = [tuple(a.item(i) for a in inputs) for i in range(40)]
    assert_same(parts, [monoid.lift(*row) for row in rows])
    assert fast.mode == ("cached" if MACHINE_CODE else "interpreted")

    expected = [recomputed(monoid, parts[i : i + 7]) for i in range(40)]
    assert_same([fast.fold(columns, i, min(i + 7, 40)) for i in range(40)], expected)
    assert_results(monoid, fast.lower(as_columns(fast, expected)), expected)


def as_columns(fast: Compiled, rows: list[Any]) -> list[np.ndarray]:
    fields = [rows] if fast.shape.scalar else list(zip(*rows, strict=True))
    return [np.array(field, dtype) for field, dtype in zip(fields, fast.dtypes, strict=True)]


def assert_results(monoid: Monoid, lowered: Any, folds: list[Any]) -> None:
    values, valid = lowered
    results = [monoid.lower(fold) for fold in folds]
    assert valid.tolist() == [result is not None for result in results]
    rows = list(zip(*values, strict=True)) if isinstance(values, tuple) else values
    for machine, python, known in zip(rows, results, valid, strict=True):
        if known:
            assert_same(machine, python)


def test_the_builtins_were_found() -> None:
    names = {monoid.name for monoid, _ in COLUMNAR.values()}
    assert {"sum", "max", "mean", "stddev", "argmax", "correlation", "first", "count"} <= names
