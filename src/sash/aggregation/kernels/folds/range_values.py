"""One value per range, from inputs to results in one pass: `range_fold` with other words.

    load(i)      =  lift(inputs[i]), or the identity where an input is null
    store(r, e)  =  results[r] ← lower(e), where range r has an element at all

Columns of elements in between would be most of what is read and written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sash.aggregation.kernels.compiler.numba_compilation import NumbaError
from sash.aggregation.kernels.folds.lowering import Lowered, blank_results, completed
from sash.aggregation.kernels.folds.range_fold import checked_ranges, present, refuse_range
from sash.arrays import Array, Ints, Mask
from sash.errors import SashError

if TYPE_CHECKING:
    from sash.aggregation.kernels.compiler.compiled import Compiled


def range_values(
    compiled: Compiled, inputs: Sequence[Array], valid: Mask | None, lo: Ints, hi: Ints,
    *, groups: Ints, n: int,
) -> Lowered | None:  # fmt: skip
    """The results of all ranges over n events; None where a step is not machine code, or has raised."""
    if not compiled.one_pass:
        return None
    lo, hi, groups = checked_ranges(lo, hi, groups)
    if not inputs and valid is None:
        valid = np.ones(n, np.bool_)  # some column must be there, to be as long as there are events
    columns = compiled.inputs(inputs, valid, n)
    there = present(valid, lo, hi)
    known = there.copy()
    try:
        one = compiled.kernel("lower_one")
        results, several = blank_results(one, compiled.columns(compiled.empty(1)), len(lo))
        kernel = compiled.values_kernel(masked=valid is not None)
        bad = kernel(columns, groups, lo, hi, 0, len(groups) - 1, (*results, known))
    except NumbaError:
        compiled.one_pass = False  # which of the steps is interpreted, they find out one by one
        return None
    except SashError:
        raise
    except Exception:
        return None  # one by one they raise it again, and it is known which of them did
    if bad >= 0:
        refuse_range(n, lo, hi, groups)
    return completed(results, known, there, compiled.monoid.nothing, several=several)
