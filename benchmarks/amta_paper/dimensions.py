"""Experiment 5: what an event costs as its element gets wider, from 1 to 64 fields.

An element of d fields is d sums side by side, as when one reading brings d sensors: a flat tuple, kept as d
columns, combined field by field in one call. Shown beside it, dashed: d windows of one field each, that is
d times the time of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from benchmarks.amta_paper.chart import Chart, Panel, Series
from benchmarks.amta_paper.measuring import ProgressPrinter, readings, sliding_nanoseconds, sweeps
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.compiler.function_source import CARRIED
from sash.aggregation.monoid import Monoid

KERNELS = {"two stacks": "two_stacks", "DABA lite": "daba", "AMTA": "amta"}


@dataclass(frozen=True)
class DimensionSizes:
    fields: tuple[int, ...]
    window: int
    events: int


# The columns of 64 fields over this window are 2 MB: what is seen is the width, not the memory.
FULL = DimensionSizes(fields=(1, 2, 4, 8, 16, 32, 64), window=1 << 12, events=1 << 16)
QUICK = DimensionSizes(fields=(2,), window=1 << 4, events=1 << 8)


def run(*, quick: bool, progress: ProgressPrinter) -> Chart:
    sizes = QUICK if quick else FULL
    whole = {name: Series(name) for name in KERNELS}
    apart = Series("AMTA, d windows of one field", dashed=True, style="AMTA")
    for _, d, name in product(sweeps(quick=quick), sizes.fields, KERNELS):
        progress.step(f"compiling and timing {name}, {d} fields")
        whole[name].keep_best(d, nanoseconds(d, KERNELS[name], sizes))
    for d in sizes.fields:
        apart.add(d, d / sizes.fields[0] * whole["AMTA"].ys[0])
    each = [
        Series(s.label, s.xs, [y / d for d, y in zip(s.xs, s.ys, strict=True)], s.dashed, style=s.style)
        for s in (*whole.values(), apart)
    ]
    fields = "fields of an element"
    return Chart(
        "5-dimensions",
        f"Cost of one event by the width of its element, window of {sizes.window:,}",
        [
            Panel("time, compiled kernels", fields, "nanoseconds per event", [*whole.values(), apart]),
            Panel(
                "the same, per field", fields, "nanoseconds per event and field", each, logarithmic=False
            ),
        ],
        {"window": sizes.window, "events": sizes.events},
    )


def nanoseconds(d: int, kernel: str, sizes: DimensionSizes) -> float:
    fast = compiled(wide_sum(d))
    count = sizes.window + sizes.events
    columns = fast.columns(tuple(readings(count, seed=k) for k in range(d)))
    return sliding_nanoseconds(fast.kernel(kernel), columns, sizes.window, fast.empty(count))


@cache
def wide_sum(d: int) -> Monoid:
    """d sums side by side. Written out field by field, since compiled tuples know no loop over fields.

    >>> wide_sum(3).combine((1, 2, 3), (10, 20, 30))
    (11, 22, 33)
    """
    names = [f"x{k}" for k in range(d)]
    texts = {
        "identity": f"def identity(): return ({'0, ' * d})",
        "lift": f"def lift({', '.join(names)}): return ({', '.join(names)},)",
        "combine": f"def combine(a, b): return ({' '.join(f'a[{k}] + b[{k}],' for k in range(d))})",
        "lower": "def lower(e): return e",
    }
    functions: dict[str, Any] = {}
    for name, text in texts.items():
        exec(text, functions)
        # There is no file to find the text in, and without it the machine code is not kept on disk.
        setattr(functions[name], CARRIED, text)
    return Monoid(f"sum of {d} fields", tuple(names), **{name: functions[name] for name in texts})
