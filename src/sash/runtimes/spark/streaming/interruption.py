"""A micro-batch that fails because its query is stopped, raised in one line.

Spark finds out whether a failure of `foreachBatch` is its own interruption by a regular expression over the
traceback, and that recurses once per character. A traceback with the stacks of Python and of the JVM
overflows the stack of the query's thread, which then prints a thousand lines. So such a failure is raised
again as one line, with the words that Spark looks for and nothing after them.
"""

from __future__ import annotations

import re
import traceback

from pyspark.sql import DataFrame

from sash.runtimes.spark.streaming.deliver_outputs_to_sinks import BatchFunction

_CALL = "py4j.protocol.Py4JJavaError: An error occurred while calling"
_INTERRUPTED = re.compile(
    r"java\.lang\.InterruptedException|java\.io\.InterruptedIOException"
    r"|java\.nio\.channels\.ClosedByInterruptException"
)
_CANCELLED = re.compile(r"org\.apache\.spark\.SparkException: .*\bcancelled\b.*")
"""With the group of jobs that was cancelled, which Spark compares with the query's own."""


class Interrupted(RuntimeError):
    """A micro-batch was interrupted, or its jobs were cancelled."""


def brief_when_interrupted(deliver: BatchFunction) -> BatchFunction:
    """The same function; an interruption is raised as `Interrupted`, and every other failure as it is."""

    def run(rows: DataFrame, batch: int) -> None:
        try:
            deliver(rows, batch)
        except Exception:
            words = interruption(traceback.format_exc())
            if words is None:
                raise
            raise Interrupted(words) from None

    return run


def interruption(trace: str) -> str | None:
    r"""The line by which Spark knows that it has interrupted the batch itself.

    >>> where = ".\n: java.lang.InterruptedException\n\tat Promise.scala:253\n"
    >>> interruption("py4j.protocol.Py4JJavaError: An error occurred while calling o7.save" + where)
    'py4j.protocol.Py4JJavaError: An error occurred while calling Spark: java.lang.InterruptedException'
    >>> interruption("ValueError: java.lang.InterruptedException")
    """
    _, called, after = trace.partition(_CALL)
    if not called:
        return None
    if found := _INTERRUPTED.search(after):
        return f"{_CALL} Spark: {found[0]}"
    cancelled = _CANCELLED.search(after)
    return cancelled and cancelled[0]
