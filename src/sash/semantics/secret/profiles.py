"""The engines whose SECRET parameters are known.

    profile(name) = (t0, i0, report, tick, pick)

Coral8, Oracle CEP, StreamBase and STREAM come from Dindar et al., "Modeling the Execution Semantics of
Stream Processing Engines with SECRET" (VLDB Journal 2013); Flink, Storm, Spark Streaming, Dataflow and
Azure Stream Analytics from Affetti et al., "Defining the Execution Semantics of Stream Processing Engines"
(Journal of Big Data 2017), and Kafka Streams from the experiments published with it. They describe the
versions of those days.

The engines of today are described from their documentation and source: PyFlink and Flink's Java API (2.x),
Spark Structured Streaming (4.3), Beam's DirectRunner, Bytewax (0.21). All align the starts of time windows,
[k·β, k·β + ω), and show what closes and holds an event. Their count windows differ: PyFlink's first one is
shown after ω events, the Java API's after β.

Two remarks on the model's edges. Its windows are open on the left, (start, end]; an engine whose windows
are [start, end) gets an origin that lies 1 lower. And origins that do not depend on ts1 count from start-up
at time 0: the first window ends at β − 1 or β, and events at or before the origin belong to no window.

A profile here is all that `simulate` needs. For `.semantics(name)` `semantics/run_as_engine.py` has how an
engine closes and flushes; `sash.engines` has the drivers of live ones.

>>> print(profile("storm"))
t0 = β − ω, i0 = β − ω; report: window-close ∧ non-empty; tick: time (tuple for count windows); pick: latest
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from sash.errors import ArgumentError, UnknownEngine, did_you_mean
from sash.semantics.secret.parameters import AtGap, Profile, Report, Tick
from sash.semantics.secret.scope import (
    ALIGNED_END,
    ALIGNED_START,
    BEFORE_EPOCH,
    EPOCH,
    FIRST_EVENT,
    FIRST_HOP,
    ONE_SIZE_BEFORE_ZERO,
    UNKNOWN,
    ZERO,
    Scope,
)
from sash.semantics.watermark import LateBy

_FLINK = Profile(
    scope=Scope(time=BEFORE_EPOCH, count=EPOCH),
    report={Report.WINDOW_CLOSE, Report.NON_EMPTY},
    tick=Tick.TIME,
    count_tick=Tick.TUPLE,
)

# Engines whose watermark closes windows. What is late they judge by windows, Bytewax by time. As any of
# them Sash has one watermark for all keys; Bytewax has one for each key, and Spark judges a batch by the
# watermark before last (docs/secret, 'beyond the model').
_ALIGNED = Profile(
    scope=Scope(time=ALIGNED_START), report={Report.WINDOW_CLOSE, Report.NON_EMPTY}, tick=Tick.TIME,
    watermark=True, late_by=LateBy.WINDOWS, sessions=AtGap.JOINS_OPEN,
)  # fmt: skip

PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "azure": Profile(
            scope=Scope(time=UNKNOWN), report={Report.WINDOW_CLOSE, Report.NON_EMPTY}, tick=Tick.TIME
        ),
        "beam": replace(_ALIGNED, late_by=LateBy.OWN_WINDOWS, lateness=True, sessions=AtGap.SPLITS),
        "bytewax": replace(_ALIGNED, tick=Tick.TUPLE, late_by=LateBy.TIME, sessions=AtGap.JOINS),
        "coral8": Profile(
            scope=Scope(time=ALIGNED_START, count=ZERO),
            report={Report.CONTENT_CHANGE, Report.NON_EMPTY},
            tick=Tick.BATCH,
        ),
        "dataflow": replace(_FLINK, scope=Scope(time=BEFORE_EPOCH), count_tick=None),
        "flink": _FLINK,
        "flink_java": replace(
            _ALIGNED, scope=Scope(time=ALIGNED_START, count=EPOCH), count_tick=Tick.TUPLE, lateness=True
        ),
        "kafka_streams": Profile(
            scope=Scope(time=FIRST_HOP),
            report={Report.NON_EMPTY, Report.PERIODIC},
            period=1,
            tick=Tick.TUPLE,
        ),
        "oracle_cep": Profile(
            scope=Scope(time=ALIGNED_END, count=EPOCH),
            report={Report.CONTENT_CHANGE, Report.WINDOW_CLOSE},
            tick=Tick.TIME,
        ),
        "pyflink": replace(
            _ALIGNED, scope=Scope(time=ALIGNED_START, count=ZERO), count_tick=Tick.TUPLE, lateness=True
        ),
        "spark_dstream": Profile(
            scope=Scope(time=BEFORE_EPOCH), report={Report.WINDOW_CLOSE}, tick=Tick.TIME
        ),
        "spark_structured": replace(_ALIGNED, late_by=LateBy.OWN_WINDOWS),
        "storm": replace(_FLINK, scope=Scope(time=EPOCH, count=EPOCH)),
        "stream": Profile(
            scope=Scope(time=FIRST_EVENT, count=ONE_SIZE_BEFORE_ZERO),
            report={Report.WINDOW_CLOSE, Report.NON_EMPTY, Report.CONTENT_CHANGE},
            tick=Tick.TIME,
        ),
        "streambase": Profile(
            scope=Scope(time=ALIGNED_START, count=ZERO),
            report={Report.WINDOW_CLOSE, Report.NON_EMPTY},
            tick=Tick.TUPLE,
        ),
    }
)


def names() -> tuple[str, ...]:
    """The engines that have a profile, in alphabetical order."""
    return tuple(PROFILES)


def profile(name: str) -> Profile:
    """The profile of an engine.

    >>> profile("flnk")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    sash.errors.UnknownEngine: engine must be one of azure, ...; got 'flnk'. Did you mean 'flink'?
    """
    if not isinstance(name, str):
        raise ArgumentError("engine", name, f"a Profile or the name of one: {', '.join(PROFILES)}")
    if name not in PROFILES:
        hint = did_you_mean(name.lower(), PROFILES)
        raise UnknownEngine("engine", name, f"one of {', '.join(PROFILES)}", hint=hint)
    return PROFILES[name]
