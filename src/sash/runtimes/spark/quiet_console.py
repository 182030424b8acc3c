"""What the processes of Spark write to standard error, without the lines that mean nothing to a reader.

    the JVM's loggers      errors only: `log4j2.properties`, unless there is a configuration already
    the JVM itself         a warning about a module that Spark loads
    PySpark's workers      what a stateful query prints when it starts; the traceback of a worker whose
                           reader has read enough, as `show(3)` has

The last two have no switch. A JVM, and all Python workers that it starts, write to the standard error that
the JVM was started with. So that is a pipe, and a thread passes on every line but these. Whatever else
workers print, or fail with, is passed on as it is.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

from pyspark import SparkContext

CONFIGURATION = Path(__file__).with_name("log4j2.properties")
_OPTIONS = "SPARK_SUBMIT_OPTS"
"""Where spark-submit finds further options of the JVM; they replace none that settings have."""

_NOISE = re.compile(
    rb"WARNING: Using incubator modules: jdk\.incubator\.vector$"
    rb"|Starting Streaming TransformWithStateInPandas Python worker\.$"
    rb"|Streaming TransformWithStateInPandas Python worker "
    rb"(finish init stage|received parameters|Starting execution|Completed execution) "
)
_TRACEBACK = b"Traceback (most recent call last):"
_OF_DAEMON = re.compile(rb'  File ".*pyspark/daemon\.py", line \d+, in (manager|worker)$')
_READ_ENOUGH = b"BrokenPipeError: [Errno 32] Broken pipe"


@contextmanager
def quiet_start() -> Iterator[None]:
    """A JVM that is started in this block is quiet for its life; one that runs already stays as it is."""
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield
        return
    with _quiet_loggers(), _filtered_standard_error():
        yield


def without_noise(lines: Iterable[bytes]) -> Iterator[bytes]:
    r"""The lines that are passed on.

    >>> start = [b"Starting Streaming TransformWithStateInPandas Python worker.\n", b"\n", b"mine\n"]
    >>> list(without_noise(start))
    [b'mine\n']
    >>> where = b'  File "/x/pyspark.zip/pyspark/daemon.py", line 95, in worker\n'
    >>> list(without_noise([_TRACEBACK, where, b"BrokenPipeError: [Errno 32] Broken pipe\n", b"after\n"]))
    [b'after\n']
    >>> len(list(without_noise([_TRACEBACK, where, b"ValueError: no\n"])))
    3
    """
    held: list[bytes] = []  # of a traceback, whose last line decides
    blank = False  # whether an empty line would belong to noise
    for line in lines:
        text = line.rstrip()
        if blank and not text:
            blank = False
            continue
        blank = bool(_NOISE.match(text))
        if blank:
            continue
        if held and text == _READ_ENOUGH:
            held.clear()
        elif text == _TRACEBACK or (held and _is_of_daemon(text)):
            held.append(line)
        else:
            yield from held
            held.clear()
            yield line
    yield from held


def _is_of_daemon(text: bytes) -> bool:
    """A place in PySpark's daemon; without its source, which is in an archive, or with it."""
    return bool(_OF_DAEMON.match(text)) or text.startswith(b"    ")


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    before = os.environ.get(_OPTIONS)
    if "log4j" in (before or "") or _configured() or not CONFIGURATION.is_file():
        yield
        return
    os.environ[_OPTIONS] = f"{before or ''} -Dlog4j2.configurationFile={CONFIGURATION.as_uri()}".strip()
    try:
        yield
    finally:
        if before is None:
            del os.environ[_OPTIONS]
        else:
            os.environ[_OPTIONS] = before


def _configured() -> bool:
    """Whether somebody has written down how Spark logs here."""
    folders = [os.environ.get("SPARK_CONF_DIR")]
    if "SPARK_HOME" in os.environ:
        folders.append(str(Path(os.environ["SPARK_HOME"]) / "conf"))
    return any(folder and any(Path(folder).glob("log4j2.*")) for folder in folders)


@contextmanager
def _filtered_standard_error() -> Iterator[None]:
    try:
        ours, kept = os.dup(2), os.dup(2)
    except OSError:  # a process without one
        yield
        return
    reading, writing = os.pipe()
    sys.stderr.flush()
    os.dup2(writing, 2)
    os.close(writing)
    Thread(target=_pass_on, args=(reading, ours), name="sash console", daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


def _pass_on(reading: int, writing: int) -> None:
    with os.fdopen(reading, "rb") as lines, suppress(OSError):
        for line in without_noise(lines):
            os.write(writing, line)
        os.close(writing)
