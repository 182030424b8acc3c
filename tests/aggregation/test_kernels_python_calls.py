"""Machine code that calls Python: what the function gets, what becomes of its answers and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sash.aggregation.kernels.compiler import numba_compilation
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.compiler.python_calls import PythonFunction
from sash.aggregation.kernels.compiler.side_by_side_source import CallingSource
from sash.aggregation.kernels.compiler.template_words import Columns, leaves, load, lower, shown
from sash.aggregation.monoid import Monoid
from sash.arrays import Ints

TOTAL = compiled(Monoid("total", ("x",), lambda: 0, lambda x: x, lambda a, b: a + b, lambda s: -s))
BOTH = compiled(
    Monoid(
        "both",
        ("x",),
        lambda: (0.0, False),
        lambda x: (1.0 * x, x > 0),
        lambda a, b: (a[0] + b[0], a[1] or b[1]),
        lambda s: s[0],
    )
)
SOURCE = CallingSource((TOTAL.source, BOTH.source))


def leaving(columns: Columns, policy: object, found: Ints) -> int:
    """Of the first element as the whole, which of the others leave; how many there are."""
    total = shown(lower(load(columns, 0)), policy)
    for i in range(1, len(found)):
        found[i] = leaves(total, lower(load(columns, i)), policy)
    return len(found)


COLUMNS: Any = (
    (np.arange(4),),
    (np.array([0.5, 1.5, 2.5, 3.5]), np.array([True, False, True, False])),
)


@pytest.fixture(params=["build", "interpreted"])
def kernel(request: Any) -> numba_compilation.Kernel:
    made: numba_compilation.Kernel = getattr(numba_compilation, request.param)(leaving, SOURCE)
    return made


def test_python_gets_elements_as_its_own_values(kernel: numba_compilation.Kernel) -> None:
    seen: list[Any] = []
    policy = PythonFunction(seen.append), PythonFunction(lambda old: seen.append(old) or old[1][1])
    found = np.zeros(4, np.int64)
    assert kernel(COLUMNS, policy, found) == 4
    assert found.tolist() == [0, 0, 1, 0]
    assert seen == [(0, (0.5, True)), (1, (1.5, False)), (2, (2.5, True)), (3, (3.5, False))]
    assert {tuple(map(type, (n, *rest))) for n, rest in seen} == {(int, float, bool)}


def test_what_the_function_raises_the_kernel_raises(kernel: numba_compilation.Kernel) -> None:
    def raising(old: Any) -> bool:
        if old[0] == 2:
            raise LookupError(old)
        return True

    found = np.zeros(4, np.int64)
    with pytest.raises(LookupError, match=r"2\.5"):
        kernel(COLUMNS, (PythonFunction(lambda total: None), PythonFunction(raising)), found)
    assert found.tolist() == [0, 1, 0, 0]


def test_an_answer_that_is_neither_true_nor_false_is_an_error(kernel: numba_compilation.Kernel) -> None:
    policy = PythonFunction(lambda total: None), PythonFunction(lambda old: np.zeros(2))
    with pytest.raises(ValueError, match="ambiguous"):
        kernel(COLUMNS, policy, np.zeros(4, np.int64))


@pytest.mark.skipif(numba_compilation.jit_disabled(), reason="nothing is compiled")
def test_such_a_kernel_is_machine_code_that_is_kept() -> None:
    kernel = numba_compilation.build(leaving, SOURCE)
    policy = PythonFunction(lambda total: None), PythonFunction(lambda old: True)
    kernel(COLUMNS, policy, np.zeros(4, np.int64))
    assert kernel.mode == "cached"
    dispatcher: Any = kernel.function
    assert dispatcher.stats.cache_misses or dispatcher.stats.cache_hits
    assert not dispatcher.targetoptions["nogil"], "the function needs the interpreter's lock"
