"""An aggregate in SQL: how Spark's generated code folds rows into an element, and lowers it.

    fold    one expression per field of an element; {0}, {1} … are the input columns
    lower   an expression for the value; {0}, {1} … are the fields; None: Python lowers

A row that does not count (a null among the inputs, a condition that is not true) has nulls in all input
columns, and SQL's aggregates skip nulls. An aggregate without columns has a 1 as {0} for each row that
counts. Without any row that counts, at least one field must be null: that is how an empty group is known.
Inputs are bigint, double or boolean; timestamps are microseconds, dates are days.

>>> MAX.folded(["`price`"]), SUM_OF_INTEGERS.folded(["`x`"])
(['max(`price`)'], ['sum(shiftright(`x`, 32))', 'sum(`x` & 4294967295)'])
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SqlForm:
    """The fold of a group of rows, and the value of its element."""

    fold: tuple[str, ...]
    lower: str | None = None

    def folded(self, inputs: Sequence[str]) -> list[str]:
        """The fields of the element, over these expressions."""
        return [field.format(*inputs) for field in self.fold]

    def lowered(self, fields: Sequence[str]) -> str:
        """The value of an element with these fields."""
        assert self.lower is not None, "only for forms that lower"
        return self.lower.format(*fields)


def raised(error: str, message: str) -> str:
    """An expression that fails with an error of ours: `runtimes.spark.failures` knows its form."""
    return f"raise_error('sash.errors.{error}: {message}')"


_LIMBS = ("sum(shiftright({0}, 32))", "sum({0} & 4294967295)")
_HIGH = "({0} + shiftright({1}, 32))"
_TOO_LARGE = raised(
    "IntegerOverflow", "an integer sum does not fit in 64 bits; cast it to decimal or double"
)
_FINITE = "abs({1}) < double('Infinity')"

COUNT = SqlForm(("count({0})",), "{0}")
MIN = SqlForm(("min({0})",), "{0}")
MAX = SqlForm(("max({0})",), "{0}")
RANGE_OF_INTEGERS = SqlForm(("min({0})", "max({0})"))
RANGE_OF_FLOATS = SqlForm(("min({0})", "max({0})"), "{1} - {0}")
SUM_OF_INTEGERS = SqlForm(
    _LIMBS,
    f"CASE WHEN {_HIGH} NOT BETWEEN -2147483648 AND 2147483647 THEN CAST({_TOO_LARGE} AS BIGINT) "
    f"ELSE shiftleft({_HIGH}, 32) + ({{1}} & 4294967295) END",
)
SUM_OF_FLOATS = SqlForm(("sum({0})", "0D"), "{0}")
"""Plain addition, in an order that Spark chooses; what each addition rounds away is lost."""
MEAN_OF_INTEGERS = SqlForm(
    (*_LIMBS, "count({0})"),
    f"(CAST({_HIGH} AS DOUBLE) * 4294967296D + CAST({{1}} & 4294967295 AS DOUBLE)) / nullif({{2}}, 0)",
)
MEAN_OF_FLOATS = SqlForm(("sum({0})", "0D", "count({0})"), "{0} / nullif({2}, 0)")
_SPREAD = ("count({0})", "avg({0})", "var_pop({0}) * count({0})")
_SAMPLE_VARIANCE = "{2} / ({0} - 1)"
_SPREAD_LOWERED = "CASE WHEN {{0}} < 2 THEN NULL WHEN {finite} THEN {value} ELSE double('NaN') END"
VARIANCE = SqlForm(_SPREAD, _SPREAD_LOWERED.format(finite=_FINITE, value=_SAMPLE_VARIANCE))
STDDEV = SqlForm(_SPREAD, _SPREAD_LOWERED.format(finite=_FINITE, value=f"sqrt({_SAMPLE_VARIANCE})"))
