"""Sash: every sliding window that streaming research knows, for PySpark.

A window query is a pure function from a timed stream to reports; everything else is a faster way to
compute it. `import sash` is light: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sash._version import __version__
from sash.collector import paused_collector

if TYPE_CHECKING:  # the same names once more, for type checkers and editors; a test compares the two
    from sash import (
        aggregators as aggregators,
    )
    from sash import (
        dashboard as dashboard,
    )
    from sash import (
        errors as errors,
    )
    from sash import (
        operators as operators,
    )
    from sash import (
        secret as secret,
    )
    from sash import (
        sinks as sinks,
    )
    from sash import (
        stores as stores,
    )
    from sash import (
        testing as testing,
    )
    from sash.aggregation.define import monoid as monoid
    from sash.aggregation.monoid import Monoid as Monoid
    from sash.aggregation.monoids import (
        argmax as argmax,
    )
    from sash.aggregation.monoids import (
        argmin as argmin,
    )
    from sash.aggregation.monoids import (
        avg as avg,
    )
    from sash.aggregation.monoids import (
        bloom as bloom,
    )
    from sash.aggregation.monoids import (
        collect as collect,
    )
    from sash.aggregation.monoids import (
        correlation as correlation,
    )
    from sash.aggregation.monoids import (
        count as count,
    )
    from sash.aggregation.monoids import (
        count_distinct as count_distinct,
    )
    from sash.aggregation.monoids import (
        covariance as covariance,
    )
    from sash.aggregation.monoids import (
        distinct as distinct,
    )
    from sash.aggregation.monoids import (
        ewm as ewm,
    )
    from sash.aggregation.monoids import (
        first as first,
    )
    from sash.aggregation.monoids import (
        frequent_items as frequent_items,
    )
    from sash.aggregation.monoids import (
        geomean as geomean,
    )
    from sash.aggregation.monoids import (
        histogram as histogram,
    )
    from sash.aggregation.monoids import (
        increase as increase,
    )
    from sash.aggregation.monoids import (
        kurtosis as kurtosis,
    )
    from sash.aggregation.monoids import (
        last as last,
    )
    from sash.aggregation.monoids import (
        linear_regression as linear_regression,
    )
    from sash.aggregation.monoids import (
        longest_increasing_run as longest_increasing_run,
    )
    from sash.aggregation.monoids import (
        max as max,
    )
    from sash.aggregation.monoids import (
        mean as mean,
    )
    from sash.aggregation.monoids import (
        min as min,
    )
    from sash.aggregation.monoids import (
        quantile as quantile,
    )
    from sash.aggregation.monoids import (
        range as range,
    )
    from sash.aggregation.monoids import (
        rate as rate,
    )
    from sash.aggregation.monoids import (
        skewness as skewness,
    )
    from sash.aggregation.monoids import (
        skyline as skyline,
    )
    from sash.aggregation.monoids import (
        stddev as stddev,
    )
    from sash.aggregation.monoids import (
        sum as sum,
    )
    from sash.aggregation.monoids import (
        top_k as top_k,
    )
    from sash.aggregation.monoids import (
        variance as variance,
    )
    from sash.aggregation.monoids.membership import might_contain as might_contain
    from sash.api.join_query import JoinQuery as JoinQuery
    from sash.api.operator_query import OperatorQuery as OperatorQuery
    from sash.api.operator_query import operate as operate
    from sash.api.stream import Stream as Stream
    from sash.api.stream import stream as stream
    from sash.api.together import Together as Together
    from sash.api.together import together as together
    from sash.api.window_query import WindowQuery as WindowQuery
    from sash.operators.elastic.declaration import Elastic as Elastic
    from sash.operators.order.scalegate import ScaleGate as ScaleGate
    from sash.operators.patterns.declared import (
        KeyFarm as KeyFarm,
    )
    from sash.operators.patterns.declared import (
        PaneFarm as PaneFarm,
    )
    from sash.operators.patterns.declared import (
        WinFarm as WinFarm,
    )
    from sash.operators.patterns.declared import (
        WinMapReduce as WinMapReduce,
    )
    from sash.operators.patterns.declared import (
        WinSeq as WinSeq,
    )
    from sash.planner.auto import Auto as Auto
    from sash.runtimes.local.local_stream import BatchResult as BatchResult
    from sash.runtimes.spark.files.parquet_stream import read_stream_parquet as read_stream_parquet
    from sash.runtimes.spark.monitoring.job_progress import progress as progress
    from sash.runtimes.spark.session import spark_session as spark_session
    from sash.runtimes.spark.sinks.folder import published as published
    from sash.semantics.windows import (
        cumulate as cumulate,
    )
    from sash.semantics.windows import (
        delta as delta,
    )
    from sash.semantics.windows import (
        hopping as hopping,
    )
    from sash.semantics.windows import (
        lifetime as lifetime,
    )
    from sash.semantics.windows import (
        policy as policy,
    )
    from sash.semantics.windows import (
        punctuated as punctuated,
    )
    from sash.semantics.windows import (
        rows as rows,
    )
    from sash.semantics.windows import (
        session as session,
    )
    from sash.semantics.windows import (
        slide_by_time as slide_by_time,
    )
    from sash.semantics.windows import (
        slide_by_tuple as slide_by_tuple,
    )
    from sash.semantics.windows import (
        sliding as sliding,
    )
    from sash.semantics.windows import (
        threshold as threshold,
    )
    from sash.semantics.windows import (
        tumbling as tumbling,
    )
    from sash.serving.online import OnlineFeatures as OnlineFeatures
    from sash.serving.online import online as online

_MODULES = ("aggregators", "dashboard", "errors", "operators", "secret", "sinks", "stores", "testing")
_AGGREGATES = (
    "argmax", "argmin", "avg", "bloom", "collect", "correlation", "count", "count_distinct",
    "covariance", "distinct", "ewm", "first", "frequent_items", "geomean", "histogram", "increase",
    "kurtosis", "last", "linear_regression", "longest_increasing_run", "max", "mean", "min",
    "quantile", "range", "rate", "skewness", "skyline", "stddev", "sum", "top_k", "variance",
)  # fmt: skip
_WINDOWS = (
    "cumulate", "delta", "hopping", "lifetime", "policy", "punctuated", "rows", "session",
    "slide_by_time", "slide_by_tuple", "sliding", "threshold", "tumbling",
)  # fmt: skip
_PATTERNS = ("KeyFarm", "PaneFarm", "WinFarm", "WinMapReduce", "WinSeq")
_HOMES = {
    "Auto": "sash.planner.auto",
    "Elastic": "sash.operators.elastic.declaration",
    "JoinQuery": "sash.api.join_query",
    "Monoid": "sash.aggregation.monoid",
    "OnlineFeatures": "sash.serving.online",
    "OperatorQuery": "sash.api.operator_query",
    "ScaleGate": "sash.operators.order.scalegate",
    "Stream": "sash.api.stream",
    "Together": "sash.api.together",
    "WindowQuery": "sash.api.window_query",
    "BatchResult": "sash.runtimes.local.local_stream",
    "might_contain": "sash.aggregation.monoids.membership",
    "monoid": "sash.aggregation.define",
    "online": "sash.serving.online",
    "operate": "sash.api.operator_query",
    "progress": "sash.runtimes.spark.monitoring.job_progress",
    "published": "sash.runtimes.spark.sinks.folder",
    "read_stream_parquet": "sash.runtimes.spark.files.parquet_stream",
    "spark_session": "sash.runtimes.spark.session",
    "stream": "sash.api.stream",
    "together": "sash.api.together",
    **dict.fromkeys(_AGGREGATES, "sash.aggregation.monoids"),
    **dict.fromkeys(_PATTERNS, "sash.operators.patterns.declared"),
    **dict.fromkeys(_WINDOWS, "sash.semantics.windows"),
}

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"sash.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'sash' has no attribute {name!r}{_hint(name)}")
    with paused_collector():
        value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def _hint(name: str) -> str:
    from sash.semantics.other_names import name_here

    found = name_here(name, __all__, cutoff=0.75)
    return f". Did you mean sash.{found}?" if found else ""


def __dir__() -> list[str]:
    return sorted(__all__)
