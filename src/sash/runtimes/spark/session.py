"""A SparkSession with the settings that matter to Sash. Any other session works too."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sash.errors import MissingDependency, SashWarning

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    # 200 shuffle partitions cost about 65 ms each in every micro-batch, and hold nothing on one machine.
    "spark.sql.shuffle.partitions": "{cores}",
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


def require_java() -> None:
    """Spark needs Java 17 or later; without it, one sentence instead of a stack trace."""
    home = os.environ.get("JAVA_HOME")
    if (home and (Path(home) / "bin" / "java").exists()) or shutil.which("java"):
        return
    raise MissingDependency(
        "Spark needs Java 17 or later and `java` was not found; "
        "install it, for example with: apt-get install openjdk-17-jre-headless"
    )


def session(*, master: str = "local[*]", app: str = "sash", **settings: str) -> SparkSession:
    """The session of this process as it is, or a new one with the settings that matter.

    Further settings are given with underscores for dots: spark_sql_shuffle_partitions="8". They are for a
    new session; one that exists is never changed, and a warning names the settings that it has otherwise.
    """
    require_java()
    from pyspark.sql import SparkSession

    from sash.runtimes.spark.compat import existing_session

    given = {name.replace("_", "."): value for name, value in settings.items()}
    found = existing_session()
    if found is not None:
        _warn_of_other_settings(found, given)
        return found
    chosen = dict(SETTINGS)
    if master.startswith("local"):
        chosen |= LOCAL_SETTINGS
        # Workers start as `python3` otherwise, which need not be the environment that has Sash.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = str(os.cpu_count() or 1)
    builder = SparkSession.builder.master(master).appName(app)
    for name, value in chosen.items():
        builder = builder.config(name, value.format(cores=cores))
    for name, value in given.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def _warn_of_other_settings(spark: SparkSession, given: Mapping[str, str]) -> None:
    # How much is logged changes no answer and no speed.
    settings = {name: value for name, value in given.items() if name != "spark.log.level"}
    other = [name for name, value in settings.items() if spark.conf.get(name, None) != value]
    if other:
        warnings.warn(
            f"there is a Spark session already, which sash.session() does not change: {', '.join(other)} "
            "can be given to a new one, after spark.stop()",
            SashWarning,
            stacklevel=4,
        )
