"""The process that Spark forks its Python workers from, on one machine: PySpark's daemon, made ready first.
`sash.spark_session()` names this module in `spark.python.daemon.module` (decision 44).

    pyspark from files      Spark puts an archive of pyspark in front of the installed one. Python keeps no
                            byte code of archives: every process would compile what it imports, and every
                            worker would read the archive's list of files once for each folder in it
    imports before forks    what all workers import is imported once

A fork takes over one thread only, so nothing may run beside it. Arrow's allocator is kept from starting a
thread; where a module has started one all the same, this program begins again without these imports.

It is outside of `runtimes.spark`, whose package imports pyspark: that must wait until the path is right.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from sash.gc_pause import paused_collector

AHEAD = (
    "numpy",
    "pyarrow.compute",
    "pyarrow.parquet",
    "pandas",
    "numba.np.arrayobj",
    "pyspark.worker",
    "sash.runtimes.spark.batch.bucket_query",
    "sash.runtimes.spark.epochs.epoch_step",
    "sash.runtimes.spark.sql_folding.epoch_fold",
)
"""What workers import for most queries."""
PLAIN = "SASH_PLAIN_DAEMON"
"""In the environment: nothing is imported ahead."""
_ALLOCATOR, _NO_THREAD = "JE_ARROW_MALLOC_CONF", "background_thread:false"
_THREADS = Path("/proc/self/task")


def with_installed_pyspark(path: Sequence[str]) -> list[str]:
    """A search path without the archives of a pyspark that is installed there in files: its modules, and a
    jar. That of py4j, another package, comes last.

    >>> lib = "/site/pyspark/python/lib"
    >>> archives = [f"{lib}/pyspark.zip", f"{lib}/py4j-0.1-src.zip", "/site/pyspark/jars/spark-core.jar"]
    >>> with_installed_pyspark(["", *archives, "/site"])
    ['', '/site', '/site/pyspark/python/lib/py4j-0.1-src.zip']

    One of another Spark stays in front.

    >>> with_installed_pyspark(["/opt/spark/python/lib/pyspark.zip", "/site", "/opt"])
    ['/opt/spark/python/lib/pyspark.zip', '/site', '/opt']
    """
    modules = next((Path(each) for each in path if each.endswith("/python/lib/pyspark.zip")), None)
    package = None if modules is None else modules.parents[2]
    if package is None or package.name != "pyspark" or str(package.parent) not in path:
        return list(path)
    inside = [each for each in path if package in Path(each).parents]
    last = [each for each in inside if Path(each).name.startswith("py4j-")]
    return [each for each in path if each not in inside] + last


def use_installed_pyspark() -> None:
    path = with_installed_pyspark(sys.path)
    for each in {*sys.path} - {*path}:
        # Python has looked for this module there, and every worker would read the list of files again.
        sys.path_importer_cache.pop(each, None)
    sys.path[:] = path


def import_ahead(modules: Sequence[str] = AHEAD) -> bool:
    """Import what workers need; False where something else runs in this process now."""
    given = _ALLOCATOR in os.environ
    os.environ.setdefault(_ALLOCATOR, _NO_THREAD)
    try:
        with paused_collector():
            for name in modules:
                with suppress(ImportError):  # a task that needs it will fail, and no other
                    import_module(name)
                if len(list(_THREADS.iterdir())) > 1:
                    return False
    finally:
        if not given:
            del os.environ[_ALLOCATOR]
    gc.freeze()  # a collection would write to the pages that workers share
    os.register_at_fork(after_in_child=_seed)
    return True


def _seed() -> None:
    """Without it, workers would draw the same numbers. Python's own generator does this by itself."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def main() -> None:
    use_installed_pyspark()
    if PLAIN not in os.environ and _THREADS.is_dir() and not import_ahead():
        os.execve(sys.executable, sys.orig_argv, os.environ | {PLAIN: "1"})
    # Not above: the path had the archive.
    from pyspark.daemon import manager

    manager()


if __name__ == "__main__":
    main()
