"""Sash: every sliding window that streaming research knows, for PySpark.

A window query is a pure function from a timed stream to reports; everything else is a faster way to
compute it. `import sash` is light: each name is loaded when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sash._version import __version__
from sash.gc_pause import paused_collector

if TYPE_CHECKING:  # the same names once more, for type checkers and editors; a test compares the two
    from sash import (
        aggregators as aggregators,
        dashboard as dashboard,
        errors as errors,
        operators as operators,
        secret as secret,
        sinks as sinks,
        stores as stores,
        testing as testing,
    )
    from sash.aggregation.built_in import (
        argmax as argmax,
        argmin as argmin,
        avg as avg,
        bloom as bloom,
        collect as collect,
        correlation as correlation,
        count as count,
        count_distinct as count_distinct,
        covariance as covariance,
        distinct as distinct,
        ewm as ewm,
        first as first,
        frequent_items as frequent_items,
        geomean as geomean,
        histogram as histogram,
        increase as increase,
        kurtosis as kurtosis,
        last as last,
        linear_regression as linear_regression,
        longest_increasing_run as longest_increasing_run,
        max as max,
        mean as mean,
        min as min,
        quantile as quantile,
        range as range,
        rate as rate,
        skewness as skewness,
        skyline as skyline,
        stddev as stddev,
        sum as sum,
        top_k as top_k,
        variance as variance,
    )
    from sash.aggregation.built_in.membership import might_contain as might_contain
    from sash.aggregation.define import monoid as monoid
    from sash.aggregation.monoid import Monoid as Monoid
    from sash.api.join_query import JoinQuery as JoinQuery
    from sash.api.operator_query import OperatorQuery as OperatorQuery, operate as operate
    from sash.api.stream import Stream as Stream, stream as stream
    from sash.api.together import Together as Together, together as together
    from sash.api.window_query import WindowQuery as WindowQuery
    from sash.operators.elastic.declaration import Elastic as Elastic
    from sash.operators.order.scalegate import ScaleGate as ScaleGate
    from sash.operators.patterns.declared import (
        KeyFarm as KeyFarm,
        PaneFarm as PaneFarm,
        WinFarm as WinFarm,
        WinMapReduce as WinMapReduce,
        WinSeq as WinSeq,
    )
    from sash.planner.auto_declaration import Auto as Auto
    from sash.runtimes.local.local_stream import BatchResult as BatchResult
    from sash.runtimes.spark.files.parquet_stream import read_stream_parquet as read_stream_parquet
    from sash.runtimes.spark.monitoring.job_progress import progress as progress
    from sash.runtimes.spark.session import spark_session as spark_session
    from sash.runtimes.spark.sinks.folder import published as published
    from sash.semantics.windows import (
        cumulate as cumulate,
        delta as delta,
        hopping as hopping,
        lifetime as lifetime,
        policy as policy,
        punctuated as punctuated,
        rows as rows,
        session as session,
        slide_by_time as slide_by_time,
        slide_by_tuple as slide_by_tuple,
        sliding as sliding,
        threshold as threshold,
        tumbling as tumbling,
    )
    from sash.serving.online import OnlineFeatures as OnlineFeatures, online as online

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
    "Auto": "sash.planner.auto_declaration",
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
    "might_contain": "sash.aggregation.built_in.membership",
    "monoid": "sash.aggregation.define",
    "online": "sash.serving.online",
    "operate": "sash.api.operator_query",
    "progress": "sash.runtimes.spark.monitoring.job_progress",
    "published": "sash.runtimes.spark.sinks.folder",
    "read_stream_parquet": "sash.runtimes.spark.files.parquet_stream",
    "spark_session": "sash.runtimes.spark.session",
    "stream": "sash.api.stream",
    "together": "sash.api.together",
    **dict.fromkeys(_AGGREGATES, "sash.aggregation.built_in"),
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
    from sash.semantics.pyspark_names import name_here

    found = name_here(name, __all__, cutoff=0.75)
    return f". Did you mean sash.{found}?" if found else ""


def __dir__() -> list[str]:
    return sorted(__all__)
