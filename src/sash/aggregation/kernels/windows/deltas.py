"""Triggers and misfits by an attribute δ that never decreases, of all keys in one pass.

    misfit    δ is not a number, or lies below the greatest δ of its key so far
    trigger   the first event of a key, then the first with δ − δ(last trigger) > S, and so on

Kernels work on whole numbers or on fractions of 64 bits, and compute in these: whoever calls sees to it
that differences stay within them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sash.aggregation.kernels.compiler.machine_code_on_disk import kept_on_disk
from sash.arrays import Ints, Mask, Numbers

NOT_A_NUMBER, DECREASED = 1, 2


def misfits(values: Numbers, known: Mask, offsets: Ints, floors: Numbers) -> NDArray[np.int8]:
    """For each position 0 if its event has a place, else NOT_A_NUMBER or DECREASED. `floors` has the
    greatest δ that each slot has had before; `known` is false where δ is null.

    >>> values, known = np.array([4.0, 3.0, np.nan, 4.0, 1.0]), np.array([True, True, True, True, False])
    >>> misfits(values, known, np.array([0, 5]), np.array([-np.inf])).tolist()
    [0, 2, 1, 0, 1]
    """
    reasons = np.zeros(len(values), np.int8)
    _misfits_of_all(values, known, offsets, floors, reasons)
    return reasons


def _misfits(
    values: Numbers, known: Mask, offsets: Ints, floors: Numbers, reasons: NDArray[np.int8]
) -> None:
    for slot in range(len(offsets) - 1):
        top = floors[slot]
        for position in range(offsets[slot], offsets[slot + 1]):
            value = values[position]
            if not known[position] or np.isnan(value):
                reasons[position] = NOT_A_NUMBER
            elif value < top:
                reasons[position] = DECREASED
            else:
                top = value


_misfits_of_all = kept_on_disk(nogil=True)(_misfits)


def ring_triggers(
    values: Numbers,
    base: Ints,
    mask: Ints,
    since: Ints,
    until: Ints,
    begun: Mask,
    last: Numbers,
    slide: float,
) -> tuple[Ints, Ints]:
    """The keys and ordinals of the triggers among the elements since[k] ≤ i < until[k] of each key: see
    `kernels.state.rings` for how they are addressed."""
    room = int(np.maximum(until - since, 0).sum())
    keys, ordinals = np.empty(room, np.int64), np.empty(room, np.int64)
    # Between two infinities there is no difference, and no trigger.
    with np.errstate(invalid="ignore"):
        found = _ring_triggers_of_all(values, base, mask, since, until, begun, last, slide, keys, ordinals)
    return keys[:found], ordinals[:found]


def _ring_triggers(
    values: Numbers, base: Ints, mask: Ints, since: Ints, until: Ints, begun: Mask, last: Numbers,
    slide: float, keys: Ints, ordinals: Ints,
) -> int:  # fmt: skip
    found = 0
    for key in range(len(base)):
        any_yet, at = begun[key], last[key]
        for ordinal in range(since[key], until[key]):
            value = values[base[key] + (ordinal & mask[key])]
            if not any_yet or value - at > slide:
                any_yet, at = True, value
                keys[found], ordinals[found] = key, ordinal
                found += 1
    return found


_ring_triggers_of_all = kept_on_disk(nogil=True)(_ring_triggers)
