"""The built-in aggregates, under the names that users call them by.

`sum`, `min`, `max` and `range` carry an underscore where they are defined, so that no module of ours hides
a builtin from itself. Every name in `__all__` is a function from columns to a `Monoid`; the tests find
them here by themselves. A new one is also named in `sash/__init__.py`, in both of its lists.

argmin_argmax.py          the value of one column where another is smallest or largest
averages.py               arithmetic and geometric means
column_types.py           which column types an aggregate takes, and the Arrow type that comes out
constructor_arguments.py  how a built-in aggregate was made
counting.py               how many
event_times.py            the time of events as an input: what aggregates need that read it
extremes.py               the smallest and the largest, and their distance
first_n_last_n.py         the n oldest and the n newest values of a window
histograms.py             how values are spread: counts by bin
increase_and_rate.py      counters: numbers that only grow, until what counts them starts again
membership.py             which values occurred: the Bloom filter (Bloom, 1970)
moments.py                sample variance and deviation, skewness and kurtosis
ordered.py                aggregates that depend on the order of events
quantiles.py              quantiles from a summary of bounded size
ranking.py                the k largest values, and the points that no other point beats
sets.py                   how many different values there are, exactly
sketch_bytes.py           sketches of DataSketches from bytes: CorruptValue for bytes that are none
sketches.py               small approximate summaries of large windows, by Apache DataSketches
smoothing.py              exponentially weighted means
sums.py                   sums that do not lie: exact for integers and decimals, compensated for floats
two_columns.py            how two columns go together: covariance, correlation, and the least-squares line
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
