"""What Spark says went wrong, in one sentence: recorded messages, and one that Spark raises here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sash.errors import QueryFailed
from sash.runtimes.spark.failures import in_one_sentence, in_words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAILED = "[STREAM_FAILED] Query [id = 1-2, runId = 3-4] terminated with exception: "
STAGE = "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times: "
PYTHON = """[PYTHON_EXCEPTION] In the Python worker: Traceback (most recent call last):
  File "worker.py", line 1, in process
    yield from rows
            ^^^^
{0} SQLSTATE: 38000
"""
JAVA = """An error occurred while calling o1.save.
: org.x.SparkException: Job aborted.
\tat x
Caused by: org.y.Wrapped: outer
\tat y
Caused by: java.z.Inner: the reason
\tat z
"""


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (PYTHON.format("sash.errors.DifferentQuery: another query made this"), "another query made this"),
        (PYTHON.format("ZeroDivisionError: division by zero"), "ZeroDivisionError: division by zero"),
        (
            PYTHON.format("py4j.protocol.Py4JJavaError: An error occurred while calling o9.executeUpdate.\n"
            ": java.sql.SQLSyntaxErrorException: Comparisons between 'CLOB' are not supported.\n\tat x\n"),
            "Comparisons between 'CLOB' are not supported.",
        ),
        (PYTHON.format(f"py4j.protocol.Py4JJavaError: {JAVA}"), "the reason"),
        (
            STAGE + "java.io.IOException: No space left on device\n\tat x",
            "the disk, or what may be written of it, is full: No space left on device",
        ),
        (
            "Connection refused SQLSTATE: XXKST\nOffsets: {TextSocketV2[host: 127.0.0.1, port: 9]: -1}",
            "nothing listens at 127.0.0.1:9",
        ),
        ("no.host\njava.net.UnknownHostException: no.host\n\tat x", "no connection: no.host"),
        (
            STAGE + "java.io.IOException: Mkdirs failed to create file:/out/x/_temporary/0/y (x)",
            "/out/x cannot be created",
        ),
        ("[JAVA_GATEWAY_EXITED] Gone", "Java did not start Spark, which needs Java 17 or later"),
        (JAVA, "the reason"),
        ("A column `a` cannot be resolved. SQLSTATE: 42703; line 1", "A column `a` cannot be resolved."),
        ("something else", "something else"),
    ],
)  # fmt: skip
def test_the_sentence_that_helps_is_found(message: str, sentence: str) -> None:
    assert in_words(ValueError(message)) == in_words(ValueError(FAILED + message)) == sentence


@pytest.mark.spark
def test_what_spark_raises_becomes_ours(spark: SparkSession) -> None:
    with pytest.raises(QueryFailed, match=r"^Path does not exist: file:/no/such\.$"), in_one_sentence():
        spark.read.parquet("/no/such")


def test_what_is_not_sparks_stays_what_it_is() -> None:
    with pytest.raises(KeyError), in_one_sentence():
        raise KeyError("mine")
