"""A SparkSession with the settings that matter to Sash. Any other session works too."""

from __future__ import annotations

import os
import shutil
import site
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from pyspark.errors import SparkNoSuchElementException
from pyspark.sql import SparkSession

from sash.errors import ArgumentError, MissingDependency, SashWarning
from sash.runtimes import worker_daemon
from sash.runtimes.spark.compat import existing_session, is_connect
from sash.runtimes.spark.malloc_arenas import few_arenas
from sash.runtimes.spark.quiet_console import quiet_start
from sash.runtimes.spark.session_requirements import PARTITIONS, shuffle_partitions, task_slots

SETTINGS = {
    # 200 shuffle partitions cost about 65 ms each in every micro-batch, and hold nothing on one machine.
    PARTITIONS: "{cores}",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.unix.domain.socket.enabled": "true",
    "spark.ui.enabled": "false",
    # Spark's own bar writes to anything that is called standard error; Sash looks whether it is a terminal.
    "spark.ui.showConsoleProgress": "false",
    # Windows are cut in UTC; a session in local time would show other bounds than it computes with.
    "spark.sql.session.timeZone": "UTC",
    # Windows over streams keep their state here; changelogs make a micro-batch write what has changed.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}

LOCAL_SETTINGS = {
    # A third off the time of a micro-batch on a local disk, which needs no distributed file system's care.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

FASTER = tuple(name for name in SETTINGS if "stateStore" in name or "socket" in name)
"""Those of the settings that make micro-batches faster, whatever the number of cores."""

DAEMON = "spark.python.daemon.module"
INTERPRETERS = {"spark.pyspark.python", "spark.pyspark.driver.python", "spark.executorEnv.PYSPARK_PYTHON"}

AT_START = ("spark.python.unix.domain.socket.enabled",)
"""Those that a session has from its beginning or not at all."""
_WARNED = set[str]()
"""Applications that have been warned."""

MANY_PARTITIONS = 4
"""Shuffle partitions per task slot, above which a micro-batch mostly waits for tasks to start."""


def require_java() -> None:
    """Spark needs Java 17 or later; without it, one sentence instead of a stack trace."""
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise MissingDependency(
        "Spark needs Java 17 or later and `java` was not found; "
        "install it, for example with: apt-get install openjdk-17-jre-headless"
    )


def spark_session(*, master: str = "local[*]", app: str = "sash", **settings: str) -> SparkSession:
    """The Spark session of this process as it is, or a new one with the settings that matter.

    Further settings are given with underscores for dots, spark_sql_shuffle_partitions="8", or as they are,
    **{"spark.sql.catalog.spark_catalog": …}. They are for a new session. One that exists is never changed:
    a warning names the settings that differ and cost time.

    A new one logs errors only; spark_log_level="WARN", or sparkContext.setLogLevel, shows more.
    """
    require_java()
    given = {name if "." in name else name.replace("_", "."): each for name, each in settings.items()}
    found = existing_session()
    if found is not None:
        _warn_of_other_settings(found, given)
        return found
    chosen = dict(SETTINGS)
    if not master.startswith("local"):
        # The cores of the driver are not those of a cluster, which are not known before it runs.
        chosen.pop(PARTITIONS)
        slots = _slots_given(given)
        chosen |= {} if slots is None else {PARTITIONS: str(slots)}
    else:
        chosen |= LOCAL_SETTINGS
        # Workers start as `python3` otherwise, which need not be the environment that has Sash.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        chosen |= {DAEMON: worker_daemon.__name__} if _workers_find_sash(given) else {}
    cores = str(os.cpu_count() or 1)
    builder = SparkSession.builder.master(master).appName(app)
    for name, value in chosen.items():
        builder = builder.config(name, value.format(cores=cores))
    for name, value in given.items():
        builder = builder.config(name, value)
    with quiet_start(), few_arenas():
        return builder.getOrCreate()


def require_session(given: SparkSession | None) -> SparkSession:
    """The session that was given, or the one of this process; ArgumentError where there is none."""
    session = given or existing_session()
    if session is None:
        raise ArgumentError(
            "spark", None, "a SparkSession", message="there is no active Spark session",
            hint="Make one first: sash.spark_session().",
        )  # fmt: skip
    return session


def _workers_find_sash(settings: Mapping[str, str]) -> bool:
    """Whether a Python that starts on this machine as workers do has Sash, whatever this program has
    changed of its own search path. Where that is not certain, workers start as ever: they may get Sash with
    their tasks, and a daemon that cannot be imported would fail all jobs."""
    if os.environ["PYSPARK_PYTHON"] != sys.executable or not INTERPRETERS.isdisjoint(settings):
        return False
    installed = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    files = (file for place in installed for file in Path(place).glob("*.pth"))
    linked = (line for file in files for line in file.read_text(errors="replace").splitlines())
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    home = Path(worker_daemon.__file__).resolve().parents[2]
    return any(Path(each).resolve() == home for each in (*installed, *given, *linked))


def _slots_given(settings: Mapping[str, str]) -> int | None:
    """How many tasks a cluster runs at a time, where settings have it.

    >>> _slots_given({"spark.executor.instances": "3", "spark.executor.cores": "4"})
    12
    """
    if "spark.cores.max" in settings:
        return int(settings["spark.cores.max"])
    executors, cores = (settings.get(f"spark.executor.{each}") for each in ("instances", "cores"))
    return None if executors is None else int(executors) * int(cores or 1)


def _warn_of_other_settings(spark: SparkSession, given: Mapping[str, str]) -> None:
    # How much is logged changes no answer and no speed.
    wanted = {name: value for name, value in given.items() if name != "spark.log.level"}
    differing = _differing(spark, _costly(spark) | wanted)
    if differing:
        warnings.warn(
            "sash.spark_session() returns the Spark session that exists and changes nothing of it; "
            f"these settings differ: {', '.join(differing)}. A new session, after spark.stop(), can have "
            "them.",
            SashWarning,
            stacklevel=3,
        )


def costly_settings(spark: SparkSession, *, elastic: bool = False) -> list[tuple[str, str]]:
    """The settings of a session that make a micro-batch take more than a tenth longer, each in words and
    with the line that fixes it."""
    found = []
    for name, value in _costly(spark).items():
        given = _value(spark, name)
        # An elastic query has its state elsewhere.
        if given == value or (elastic and "stateStore" in name):
            continue
        line = f"--conf {name}={value}" if name in AT_START else f"spark.conf.set({name!r}, {value!r})"
        found.append((f"{name} is {given or 'not set'}", line))
    return found


def warn_of_costly_settings(spark: SparkSession, *, elastic: bool = False) -> None:
    """Once for an application: what makes its streams slow."""
    application = "" if is_connect(spark) else spark.sparkContext.applicationId
    if not application or application in _WARNED:
        return
    costly = costly_settings(spark, elastic=elastic)
    if costly:
        _WARNED.add(application)
        warnings.warn(
            "these settings make each micro-batch more than a tenth slower: "
            + "; ".join(f"{words}, fixed by {line}" for words, line in costly),
            SashWarning,
            stacklevel=4,
        )


def _differing(spark: SparkSession, wanted: Mapping[str, str]) -> list[str]:
    found = {name: _value(spark, name) for name in wanted}
    return [
        f"{name} {'is not set' if found[name] is None else f'= {found[name]}'}, not {value}"
        for name, value in wanted.items()
        if found[name] != value
    ]


def _value(spark: SparkSession, name: str) -> str | None:
    """What was set, or what Spark has by default; None where it is neither."""
    try:
        return spark.conf.get(name)
    except SparkNoSuchElementException:
        return None


def _costly(spark: SparkSession) -> dict[str, str]:
    """The settings without which a micro-batch takes noticeably longer, as a session of ours has them."""
    wanted = {name: SETTINGS[name] for name in FASTER}
    slots = task_slots(spark)
    if shuffle_partitions(spark) > MANY_PARTITIONS * slots:
        wanted[PARTITIONS] = str(slots)
    if not is_connect(spark) and str(spark.sparkContext.master).startswith("local"):
        wanted |= LOCAL_SETTINGS
    return wanted
