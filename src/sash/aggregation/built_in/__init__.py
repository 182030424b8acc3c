"""The built-in aggregates, under the names that users call them by.

`sum`, `min`, `max` and `range` carry an underscore where they are defined, so that no module of ours hides
a builtin from itself. Every name in `__all__` is a function from columns to a `Monoid`; the tests find
them here by themselves. A new one is also named in `sash/__init__.py`, in both of its lists.
"""

from __future__ import annotations

from sash.aggregation.built_in.argmin_argmax import argmax, argmin
from sash.aggregation.built_in.averages import geomean, mean, mean as avg
from sash.aggregation.built_in.constructor_arguments import recorded
from sash.aggregation.built_in.counting import count
from sash.aggregation.built_in.extremes import max_ as max, min_ as min, range_ as range
from sash.aggregation.built_in.histograms import histogram
from sash.aggregation.built_in.increase_and_rate import increase, rate
from sash.aggregation.built_in.membership import bloom
from sash.aggregation.built_in.moments import kurtosis, skewness, stddev, variance
from sash.aggregation.built_in.ordered import collect, first, last, longest_increasing_run
from sash.aggregation.built_in.quantiles import quantile
from sash.aggregation.built_in.ranking import skyline, top_k
from sash.aggregation.built_in.sets import count_distinct
from sash.aggregation.built_in.sketches import distinct, frequent_items
from sash.aggregation.built_in.smoothing import ewm
from sash.aggregation.built_in.sums import sum_ as sum
from sash.aggregation.built_in.two_columns import correlation, covariance, linear_regression

__all__ = [
    "argmax",
    "argmin",
    "avg",
    "bloom",
    "collect",
    "correlation",
    "count",
    "count_distinct",
    "covariance",
    "distinct",
    "ewm",
    "first",
    "frequent_items",
    "geomean",
    "histogram",
    "increase",
    "kurtosis",
    "last",
    "linear_regression",
    "longest_increasing_run",
    "max",
    "mean",
    "min",
    "quantile",
    "range",
    "rate",
    "skewness",
    "skyline",
    "stddev",
    "sum",
    "top_k",
    "variance",
]

# Under the same names, so that type checkers and documentation see the functions themselves.
globals().update({name: recorded(name, globals()[name]) for name in __all__})
