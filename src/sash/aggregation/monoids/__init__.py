"""The built-in aggregates, under the names that users call them by.

`sum`, `min`, `max` and `range` carry an underscore where they are defined, so that no module of ours hides
a builtin from itself. Every name in `__all__` is a function from columns to a `Monoid`; the tests find
them here by themselves.
"""

from __future__ import annotations

from sash.aggregation.monoids.arguments import argmax, argmin
from sash.aggregation.monoids.averages import geomean, mean
from sash.aggregation.monoids.averages import mean as avg
from sash.aggregation.monoids.counters import increase, rate
from sash.aggregation.monoids.counting import count
from sash.aggregation.monoids.extremes import max_ as max
from sash.aggregation.monoids.extremes import min_ as min
from sash.aggregation.monoids.extremes import range_ as range
from sash.aggregation.monoids.histograms import histogram
from sash.aggregation.monoids.membership import bloom
from sash.aggregation.monoids.moments import kurtosis, skewness, stddev, variance
from sash.aggregation.monoids.ordered import collect, first, last, longest_increasing_run
from sash.aggregation.monoids.quantiles import quantile
from sash.aggregation.monoids.ranking import skyline, top_k
from sash.aggregation.monoids.recorded import recorded
from sash.aggregation.monoids.relations import correlation, covariance, linear_regression
from sash.aggregation.monoids.sets import count_distinct
from sash.aggregation.monoids.sketches import distinct, frequent_items
from sash.aggregation.monoids.smoothing import ewm
from sash.aggregation.monoids.sums import sum_ as sum

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
