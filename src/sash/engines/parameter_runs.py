"""The experiments, in the order of the method: Tick, then Report, then Scope, then Pick.

After Affetti, Tommasini, Margara, Cugola, Della Valle, "Defining the execution semantics of stream
processing engines" (Journal of Big Data 2017): an engine's parameters are found one after the other, each
with inputs on which its values differ whatever the other parameters are.

    tick     simultaneous events: is each one a reason to look, or the first of its time, or of its batch?
    report   repeated contents (content-change), parts of windows (window-close), silence (non-empty),
             windows whose ends meet only some multiples (periodic)
    scope    consecutive times from many ts1, through windows of many sizes and slides
    pick     count windows: many complete windows between two ticks
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from types import MappingProxyType

from sash.engines.probe_run import ProbeRun
from sash.semantics.secret import Axis

_TIES = (3, 5, 5, 5, 5, 7)
_MANY_TIES = (10, 10, 11, 12, 12, 12, 12, 13, 14, 15)
_BLOCKS = (10, 10, 10, 10, 11, 11, 11, 12, 13)

TICK: Mapping[Axis, tuple[ProbeRun, ...]] = MappingProxyType(
    {
        Axis.TIME: (
            ProbeRun(times=_TIES, size=4, slide=1),
            ProbeRun(times=_TIES, size=4, slide=1, batches=(0, 1, 1, 2, 2, 3)),
            ProbeRun(times=_TIES, size=4, slide=1, batches=(0, 1, 1, 1, 1, 2)),
            ProbeRun(times=(1, 5, 9), size=3, slide=3, batches=(0, 1, 1)),
        ),
        Axis.COUNT: (
            ProbeRun(times=_MANY_TIES, size=1, slide=1, kind="count"),
            ProbeRun(
                times=_MANY_TIES, size=1, slide=1, kind="count", batches=(0, 0, 1, 2, 2, 3, 3, 4, 5, 6)
            ),
        ),
    }
)

REPORT: Mapping[Axis, tuple[ProbeRun, ...]] = MappingProxyType(
    {
        Axis.TIME: (
            ProbeRun(times=(30, 31, 36), size=5, slide=1),
            ProbeRun(times=tuple(range(10, 20)), size=3, slide=3),
            ProbeRun(times=(10, 11, 30, 31, 45), size=3, slide=3),
            ProbeRun(times=(12, 13, 15, 18, 22, 29), size=4, slide=2),
            # Contents that stay for longer than any period, so that a change differs from a period.
            ProbeRun(times=(20, 22, 60), size=16, slide=1),
        ),
        Axis.COUNT: (
            ProbeRun(times=tuple(range(10, 20)), size=3, slide=3, kind="count"),
            ProbeRun(times=tuple(range(10, 20)), size=2, slide=3, kind="count"),
        ),
    }
)

_SHAPES = ((3, 3), (4, 2), (5, 2), (3, 1), (2, 5), (7, 3))
_FIRSTS = (0, 1, 6, 10, 13, -4)


def _consecutive(first: int, size: int, slide: int) -> ProbeRun:
    return ProbeRun(times=tuple(range(first, first + size + 2 * slide + 2)), size=size, slide=slide)


SCOPE: Mapping[Axis, tuple[ProbeRun, ...]] = MappingProxyType(
    {
        Axis.TIME: tuple(
            _consecutive(first, size, slide) for first, (size, slide) in product(_FIRSTS, _SHAPES)
        ),
        Axis.COUNT: tuple(
            ProbeRun(times=tuple(range(14)), size=size, slide=slide, kind="count")
            for size, slide in _SHAPES
        ),
    }
)

PICK: Mapping[Axis, tuple[ProbeRun, ...]] = MappingProxyType(
    {
        Axis.TIME: (),
        Axis.COUNT: (
            ProbeRun(times=_BLOCKS, size=2, slide=1, kind="count"),
            ProbeRun(times=_BLOCKS, size=2, slide=1, kind="count", batches=(0, 0, 0, 0, 1, 1, 1, 2, 3)),
        ),
    }
)
