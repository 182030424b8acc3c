"""The text of a function: found wherever it was written, refused unless it is the code that runs."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from pyspark import cloudpickle

from sash.aggregation.kernels.compiler.function_source import CARRIED, NoSource, remember, source_of
from sash.aggregation.kernels.compiler.specialise import specialise
from sash.aggregation.monoid import Monoid

from .kernel_monoids import TOTAL, add, same, zero

LIMIT = 10


def decorated(function: Any) -> Any:
    return function


@decorated
def clipped(a: int, b: int) -> int:
    """Its docstring stays, its decorator and its annotations go."""
    return min(a + b, LIMIT)


def closing_over(step: float) -> Any:
    def stepped(x: float) -> float:
        return math.floor(x / step) * step

    return stepped


def test_a_decorated_function_is_found_without_its_decorator() -> None:
    assert source_of(clipped).startswith("def clipped(a, b):")
    assert "min(a + b, LIMIT)" in source_of(clipped)


def test_a_method_of_a_class_body_is_found() -> None:
    class Summing:
        def combine(a: int, b: int) -> int:  # noqa: N805
            return a + b

    assert source_of(Summing.combine) == "def combine(a, b):\n    return a + b"


def test_lambdas_on_one_line_are_told_apart() -> None:
    one, two = (lambda x: x + 1), (lambda x: x + 2)
    assert source_of(one).endswith("x + 1")
    assert source_of(two).endswith("x + 2")


def test_a_closure_is_found() -> None:
    assert "math.floor(x / step) * step" in source_of(closing_over(0.25))


def test_text_that_is_not_what_runs_is_refused(tmp_path: Any) -> None:
    path = tmp_path / "changing.py"
    path.write_text("def f(x):\n    return x + 1\n")
    world: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), world)
    assert source_of(world["f"]).endswith("x + 1")
    path.write_text("def f(x):\n    return x + 2\n")
    with pytest.raises(NoSource, match="no longer holds the code that runs"):
        source_of(world["f"])


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (max, "not a Python function"),
        (functools.partial(add, 1), "not a Python function"),
        (eval("lambda x: x"), "not available"),
        (lambda x, y=LIMIT: x + y, "default arguments"),
    ],
)
def test_functions_without_text_say_why(function: Any, reason: str) -> None:
    with pytest.raises(NoSource, match=reason):
        source_of(function)


def test_the_text_travels_with_a_pickled_function() -> None:
    monoid = remember(Monoid("mine", ("x",), zero, closing_over(0.5), lambda a, b: a + b, same))
    again = cloudpickle.loads(cloudpickle.dumps(monoid))
    assert again.combine.__dict__[CARRIED] == source_of(monoid.combine)
    assert source_of(again.lift) == source_of(monoid.lift)


# Specialised text


def applied(template: Any) -> Any:
    """The text of a template without a monoid, run as plain Python."""
    world: dict[str, Any] = {"np": np, "math": math} | dict.fromkeys(("entry", "part", "word"), decorated)
    exec(specialise(template, None), world)
    return world["kernel"]


def helped(x: float) -> float:
    return stepped_twice(x) + LIMIT


def stepped_twice(x: float) -> float:
    return 2.0 * math.sqrt(x)


def infinite() -> float:
    return EDGES[1]


EDGES = (-math.inf, math.inf, np.float64(0.5), True, None, "text")


def test_constants_helpers_and_libraries_are_written_into_the_text() -> None:
    assert applied(helped)(9.0) == 16.0
    assert applied(closing_over(0.25))(0.6) == 0.5
    assert applied(infinite)() == math.inf


def test_equal_code_gives_equal_text_and_other_constants_other_text() -> None:
    assert specialise(closing_over(0.25), None) == specialise(closing_over(0.25), None)
    assert specialise(closing_over(0.25), None) != specialise(closing_over(0.5), None)


def test_values_that_cannot_be_written_down_are_refused() -> None:
    table = np.arange(3)

    def looked_up(i: int) -> int:
        return table[i]

    with pytest.raises(NoSource, match="ndarray"):
        specialise(looked_up, None)


def test_names_that_do_not_exist_are_refused() -> None:
    def hopeful(x: int) -> int:
        return x + not_defined_anywhere  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(NoSource, match="not_defined_anywhere"):
        specialise(hopeful, None)


def test_remembering_leaves_a_monoid_equal() -> None:
    assert remember(TOTAL) is TOTAL
