"""Kernel templates that touch each element once: lift, fold, lower. See `template_words` for the words."""

from __future__ import annotations

from typing import Any

from sash.aggregation.kernels.compiler.template_words import (
    Columns,
    Element,
    combine,
    identity,
    lift,
    load,
    lower,
    put_result,
    store,
)
from sash.arrays import Mask


def lift_all(inputs: Columns, valid: Mask, out: Columns) -> None:
    """out[i] = lift(inputs[i]); a null lifts to the identity. An empty `valid` means: no nulls."""
    if len(valid) == 0:
        for i in range(len(out[0])):
            store(out, i, lift(inputs, i))
    else:
        for i in range(len(out[0])):
            store(out, i, lift(inputs, i) if valid[i] else identity())


def fold(columns: Columns, lo: int, hi: int) -> Element:
    """columns[lo] ⊕ … ⊕ columns[hi − 1], the identity when there is none."""
    total = identity()
    for i in range(lo, hi):
        total = combine(total, load(columns, i))
    return total


def recalculate(columns: Columns, window: int, out: Columns) -> None:
    """The folds of the last `window` elements, from scratch, after each of the last len(out) events."""
    skipped = len(columns[0]) - len(out[0])
    for i in range(len(out[0])):
        total = identity()
        for j in range(max(0, skipped + i + 1 - window), skipped + i + 1):
            total = combine(total, load(columns, j))
        store(out, i, total)


def lower_one(columns: Columns, i: int) -> Any:
    """Its compiled return type decides which columns `lower_all` fills."""
    return lower(load(columns, i))


def lower_all(columns: Columns, results: Columns, valid: Mask) -> None:
    """results[i] = lower(columns[i]) where valid[i]; a result of None makes it invalid."""
    for i in range(len(valid)):
        if valid[i]:
            result = lower(load(columns, i))
            if result is None:
                valid[i] = False
            else:
                put_result(results, i, result)
