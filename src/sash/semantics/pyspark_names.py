"""What aggregates and windows are called in PySpark, and here: for the hints of errors.

>>> name_here("countDistinct", []), name_here("meen", ["mean", "median_of"]), name_here("rank", ["range"])
('count_distinct or sash.distinct', 'mean', None)
>>> name_here("averge", ["avg", "mean"]), name_here("medain", ["mean"])
('avg', 'quantile(column, 0.5)')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

ELSEWHERE = {
    "any_value": "first", "approx_count_distinct": "distinct", "approx_percentile": "quantile",
    "array_agg": "collect", "average": "avg", "bloom_filter_agg": "bloom",
    "bool_and": "min (of booleans)", "bool_or": "max (of booleans)", "collect_list": "collect",
    "collect_set": "collect or sash.first(column, n, distinct=True)", "corr": "correlation",
    "countDistinct": "count_distinct or sash.distinct", "count_if": "count(where=…)",
    "covar_pop": "covariance (of a sample)", "covar_samp": "covariance", "every": "min (of booleans)",
    "first_value": "first", "histogram_numeric": "histogram", "hll_sketch_agg": "distinct",
    "lag": "last(column, 2), a list of the value before and this one", "last_value": "last",
    "max_by": "argmax", "median": "quantile(column, 0.5)", "min_by": "argmin",
    "mode": "frequent_items(column, k=1)", "percentile": "quantile", "percentile_approx": "quantile",
    "product": "monoid, for an aggregate of your own", "regr_slope": "linear_regression",
    "session_window": "session", "skew": "skewness", "some": "max (of booleans)", "std": "stddev",
    "stddev_pop": "stddev (of a sample)", "stddev_samp": "stddev",
    "sum_distinct": "monoid, for an aggregate of your own", "sum_if": "sum(column, where=…)",
    "var_pop": "variance (of a sample)", "var_samp": "variance", "window": "sliding or sash.tumbling",
}  # fmt: skip
"""What aggregates and windows are called in pyspark.sql.functions, and here."""
_NOT_HERE = {"grouping", "grouping_id", "ntile", "rank", "dense_rank", "percent_rank"}
"""Names of PySpark's that look like others of ours."""


def name_here(name: str, known: Sequence[str], *, cutoff: float = 0.6) -> str | None:
    """What this name of PySpark's is called here, or the nearest name of both, if it is as near as
    `cutoff`."""
    if name in _NOT_HERE:
        return None
    exactly = {spark.replace("_", "").lower(): ours for spark, ours in ELSEWHERE.items()}
    if ours := exactly.get(name.replace("_", "").lower()):
        return ours
    nearest = get_close_matches(name, [*known, *ELSEWHERE], n=1, cutoff=cutoff)
    return ELSEWHERE.get(nearest[0], nearest[0]) if nearest else None


def column_hint(given: object) -> str:
    """What to write instead of a Column of PySpark where a name is needed; empty for anything else."""
    if type(given).__name__ != "Column":
        return ""
    plain = re.fullmatch(r"Column<'(\w+)'>", repr(given))
    if plain:
        return f"Pass its name: {plain[1]!r}."
    return "Give the frame that column first, with .withColumn, and pass its name."
