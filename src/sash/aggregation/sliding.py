"""A count window slides over whole columns: the value after every event, in one call of machine code."""

from __future__ import annotations

from typing import Any

import numpy as np

from sash.aggregation.algorithm_form import machine_of
from sash.aggregation.algorithms.rings import STRUCTURES
from sash.aggregation.interpreted import object_column
from sash.aggregation.monoid import Kind, Monoid
from sash.arrays import Array, Mask

KERNELS = {
    **{name: structure.kernels for name, structure in STRUCTURES.items()},
    "FiBA": "fiba",
    "Recalculate": "recalculate",
}
"""Which kernel slides for which class."""


def slide_compiled(
    name: str, monoid: Monoid, columns: list[Any], window: int, times: Any | None, kinds: tuple[Kind, ...]
) -> Array | None:
    """out[i] = the value of the last `window` events up to i; of the latest ones when there are times.

    None where there is no kernel for it: the caller then inserts, evicts and queries.
    """
    machine = machine_of(monoid, kinds)
    if machine is None:
        return None
    from sash.aggregation.algorithms.compiled.input_columns import Inlet
    from sash.aggregation.algorithms.compiled.time_codecs import time_codec
    from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import slide, slide_by_time
    from sash.aggregation.kernels.folds.range_fold import present

    batch = Inlet(machine, kinds).lifted(columns, len(columns[0]))
    known: Mask | None = None
    if times is None:
        folds = slide(machine, batch.columns, window, algorithm=KERNELS[name])  # type: ignore[arg-type]
        if batch.known is not None:
            ends = np.arange(1, len(batch) + 1)
            known = present(batch.known, np.maximum(ends - window, 0), ends)
    else:
        clock = time_codec(times[0]) if len(times) else None
        # Which of the latest events are nulls is not known from their positions.
        if clock is None or batch.known is not None or name != "FiBA":
            return None
        folds = slide_by_time(machine, batch.columns, clock.codes(times), window)
    values, valid = machine.lower(folds, present=known)
    fields = values if isinstance(values, tuple) else (values,)
    if len(fields) == 1 and valid.all():
        return fields[0]
    rows = list(zip(*(field.tolist() for field in fields), strict=True))
    plain = rows if isinstance(values, tuple) else [value for (value,) in rows]
    pairs = zip(plain, valid.tolist(), strict=True)
    return object_column([value if there else None for value, there in pairs])
