"""A cluster as a plain session finds it: whether its workers have Sash, and settings that cost time."""

from __future__ import annotations

import platform
import re
import socket
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from sash._version import __version__
from sash.cli.doctor.health_check import HealthCheck

PATIENCE = 5.0
"""Seconds in which a master must answer."""
_SHIP = "spark-submit --py-files sash.zip …, or install sash where PYSPARK_PYTHON of the workers is"


def cluster(master: str) -> list[HealthCheck]:
    """What a query would find there. Starts a Spark application, and stops it."""
    unreachable = unreachable_reason(master)
    if unreachable:
        fix = "start a master there, or give another --master"
        return [HealthCheck("cluster", "wrong", unreachable, fix)]
    from pyspark.sql import SparkSession

    from sash.runtimes.spark.session import costly_settings

    spark = SparkSession.builder.master(master).appName("sash doctor").getOrCreate()
    try:
        slots = spark.sparkContext.defaultParallelism
        found = [HealthCheck("cluster", "ok", f"{master}, {slots} tasks at a time, Spark {spark.version}")]
        found.append(_workers(spark))
        found += [
            HealthCheck("setting", "wrong", f"{words}: micro-batches are slower", line, needed=False)
            for words, line in costly_settings(spark)
        ]
        return found
    finally:
        spark.stop()


def unreachable_reason(master: str) -> str:
    """Why nobody answers there; empty where somebody does, or no address is known."""
    found = re.fullmatch(r"spark://([^:/,]+):(\d+)", master)
    if found is None:
        return ""
    try:
        socket.create_connection((found[1], int(found[2])), timeout=PATIENCE).close()
    except OSError as error:
        return f"nothing answers at {master}: {error}"
    return ""


def _workers(spark: Any) -> HealthCheck:
    from pyspark import cloudpickle

    by_value: Any = cloudpickle
    # Workers without Sash must be able to run this.
    by_value.register_pickle_by_value(sys.modules[__name__])
    try:
        answers = set(spark.sparkContext.parallelize(range(4), 4).mapPartitions(versions).collect())
    finally:
        by_value.unregister_pickle_by_value(sys.modules[__name__])
    mine = platform.python_version_tuple()[:2], __version__
    wrong = sorted(answer for answer in answers if answer != mine)
    name = "workers"
    if not wrong:
        return HealthCheck(name, "ok", f"Python {'.'.join(mine[0])} with sash {__version__}")
    python, sash = wrong[0]
    theirs = f"Python {'.'.join(python)} with {f'sash {sash}' if sash else 'no sash'}"
    ours = f"{'.'.join(mine[0])} with sash {__version__}"
    return HealthCheck(name, "wrong", f"{theirs}; the driver has {ours}", _SHIP)


def versions(_: Iterable[Any]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Of Python and Sash, where this runs."""
    import platform

    try:
        from sash import __version__ as sash
    except ImportError:
        sash = ""
    yield platform.python_version_tuple()[:2], sash
