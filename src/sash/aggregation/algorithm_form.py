"""Which form of an algorithm a window runs: the one place where that is decided.

compiled       elements are numbers (scalars or flat tuples), and Numba takes the monoid's functions
interpreted    all else: objects as elements, NUMBA_DISABLE_JIT=1, a store under the tree, or a monoid
               that Numba refuses (one warning names it)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from sash.aggregation.algorithms.monoids_side_by_side import Tracked
from sash.aggregation.algorithms.protocol import Algorithm
from sash.aggregation.monoid import Kind, Monoid

if TYPE_CHECKING:
    from sash.aggregation.kernels.compiler.compiled import Compiled

AlgorithmForm = Literal["compiled", "interpreted", "undecided"]


def machine_of(monoid: Monoid, kinds: tuple[Kind, ...] | None) -> Compiled | None:
    """The monoid as machine code for input columns of these kinds (None: they are not known, and its
    elements are those of its identity); None when it is interpreted."""
    if isinstance(monoid, Tracked) or "object" in (kinds or ()):
        return None
    # Here and not above, so that importing the data structures does not load Numba.
    from sash.aggregation.kernels.compiler.compiled import compiled
    from sash.aggregation.kernels.compiler.numba_compilation import jit_disabled
    from sash.aggregation.kernels.compiler.shape import shape_of

    # A monoid that is bound already stays as its user bound it.
    bound = monoid if kinds is None or monoid.kinds is not None else monoid.bind(kinds)
    shaped_by = None if bound.kinds is not None else kinds
    if not bound.columnar or jit_disabled() or shape_of(bound, shaped_by).has_objects:
        return None
    machine = compiled(bound, kinds=shaped_by)
    return None if machine.mode == "interpreted" else machine


def compiled_algorithm(
    name: str, monoid: Monoid, kinds: tuple[Kind, ...] | None, time: Any, *, element: Any = None
) -> Algorithm | None:
    """The compiled algorithm of that name, empty; None: it is interpreted. `time` is one of the times that
    it is for, and `element`, if not None, one of the elements."""
    machine = machine_of(monoid, kinds)
    if machine is None or not (element is None or machine.shape.takes(element)):
        return None
    from sash.aggregation.algorithms.compiled import build

    window = build.window(name, machine, kinds, time)
    return None if window is None or window.interpreted else window
