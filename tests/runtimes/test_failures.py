"""What Spark says went wrong, in one sentence: recorded messages, and one that Spark raises here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PythonException

import sash
from sash.errors import PredicateError, QueryFailed
from sash.runtimes.spark.failures import in_one_sentence, sentence_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@sash.monoid(commutative=True)
class Inverse:
    def identity():
        return 0.0

    def lift(price):  # noqa: N805
        return 1.0 / price

    def combine(a, b):  # noqa: N805
        return a + b


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

PROXY = (
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in foreach batch "
    """sink. Reason: An exception was raised by the Python Proxy. Return Message: Traceback \
(most recent call last):
  File "clientserver.py", line 644, in _call_proxy
    return_value = getattr(self.pool[obj_id], method)(*params)
                   ^^^^^^^^^^^
  File "captured.py", line 262, in deco
    raise converted from None
{0}
=== Streaming Query ===
Identifier: [id = 9067, runId = 22ef]
"""
)
WORKER = PROXY.format("""  File "connection.py", line 1601, in _connect
    sock.connect(socket_address)
    ^^^^^^^^^^^^
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "connection.py", line 1055, in connect_check_health
    sock = self._connect()
ConnectionRefusedError: [Errno 111] Connection refused

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "worker.py", line 4327, in invoke_udf
    run_process()
{0}
 SQLSTATE: 39000 SQLSTATE: XXKST""")
"""What a worker raised, below what the driver raised, in the function of a batch."""
BATCH_CALLED_JAVA = PROXY.format("""py4j.protocol.Py4JJavaError: An error occurred while calling o787.save.
: {0}
\tat java.sql/java.sql.DriverManager.getDriver(DriverManager.java:299)
{1}\tat java.base/java.lang.Thread.run(Thread.java:840)
""")
ABORTED = PROXY.format("""pyspark.errors.exceptions.captured.SparkException: Job aborted due to stage \
failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage 3.0 (TID 3) \
(host executor driver): java.sql.BatchUpdateException: Batch entry 0 was aborted
\tat x
Caused by: org.z.Inner: the value is too long
\t... 4 more
""")


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
        (
            WORKER.format(
                "redis.ConnectionError: Error 111 connecting to localhost:6379. Connection refused."
            ),
            "nothing listens at localhost:6379",
        ),
        (WORKER.format("redis.AuthenticationError: no"), "redis.AuthenticationError: no"),
        (
            BATCH_CALLED_JAVA.format("java.sql.SQLException: No suitable driver", ""),
            "Spark has no JDBC driver for this URL: add it with the setting spark.jars.packages, such as "
            "org.postgresql:postgresql:42.7.4, or spark.jars, and name its class with driver=… if it is "
            "not found",
        ),
        (
            BATCH_CALLED_JAVA.format(
                "org.postgresql.util.PSQLException: Connection to localhost:5432 refused. Check it.",
                "Caused by: java.net.ConnectException: Connection refused\n",
            ),
            "nothing listens at localhost:5432",
        ),
        (
            BATCH_CALLED_JAVA.format("x.A: outer", "Caused by: java.lang.ClassNotFoundException: x.Y\n"),
            "ClassNotFoundException: x.Y",
        ),
        (ABORTED, "the value is too long"),
        (
            PROXY.format("pyspark.errors.exceptions.captured.IllegalArgument: Can't get JDBC type."),
            "Can't get JDBC type.",
        ),
        ("[JAVA_GATEWAY_EXITED] Gone", "Java did not start Spark, which needs Java 17 or later"),
        (JAVA, "the reason"),
        ("A column `a` cannot be resolved. SQLSTATE: 42703; line 1", "A column `a` cannot be resolved."),
        ("something else", "something else"),
    ],
)  # fmt: skip
def test_the_sentence_that_helps_is_found(message: str, sentence: str) -> None:
    assert sentence_of(ValueError(message)) == sentence_of(ValueError(FAILED + message)) == sentence


@pytest.mark.spark
def test_what_spark_raises_becomes_ours(spark: SparkSession) -> None:
    with pytest.raises(QueryFailed, match=r"^Path does not exist: file:/no/such\.$"), in_one_sentence():
        spark.read.parquet("/no/such")


@pytest.mark.spark
def test_a_failing_lift_on_spark_is_the_error_that_it_is_in_process(spark: SparkSession) -> None:
    rows = spark.range(4).selectExpr("id AS t", "cast(id AS double) AS price")
    query = sash.stream(rows, time="t").window(sash.tumbling(2)).agg(total=Inverse("price"))
    for answer in (query.collect, query.head):
        with pytest.raises(PredicateError, match=r"^Inverse\.lift raised ZeroDivisionError: ") as caught:
            answer()
        assert "test_failures.py" in str(caught.value)
        assert caught.value.__suppress_context__


@pytest.mark.spark
def test_a_failing_lift_in_a_dataframe_has_none_of_our_stack(spark: SparkSession) -> None:
    rows = spark.range(4).selectExpr("id AS t", "cast(id AS double) AS price")
    query = sash.stream(rows, time="t").window(sash.tumbling(2)).agg(total=Inverse("price"))
    with pytest.raises(PythonException) as caught:
        query.dataframe().collect()
    lines = str(caught.value).strip().splitlines()
    assert lines[-1].startswith("sash.errors.PredicateError: Inverse.lift raised ZeroDivisionError: ")
    assert len(lines) <= 6, lines


def test_what_is_not_sparks_stays_what_it_is() -> None:
    with pytest.raises(KeyError), in_one_sentence():
        raise KeyError("mine")
