"""A query that is stopped in the middle of a batch: nothing is printed, and no failure is hidden."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from sash.runtimes.spark.streaming.interruption import Interrupted, brief_when_interrupted, interruption
from tests.runtimes.test_console import ran

CALL = "py4j.protocol.Py4JJavaError: An error occurred while calling o7.save.\n"
STACK = "\n\tat java.base/java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire(Unknown)" * 200

STOPPED = """
import os, sys, time
import sash

spark = sash.spark_session(master="local[2]")
work = sys.argv[1]


def slow(batches):
    open(work + "/begun", "w").close()
    time.sleep(60)
    yield from batches


def collected(rows, batch):
    rows.collect()


def stopped(name, sink, **options):
    rows = spark.readStream.format("rate").option("rowsPerSecond", 100).load()
    rows = rows.mapInArrow(slow, rows.schema)
    query = sash.stream(rows, time="timestamp").window(sash.tumbling("1 second")).agg(n=sash.count())
    running = query.start(sink, checkpoint=work + "/" + name, **options)
    while not os.path.exists(work + "/begun"):
        time.sleep(0.1)
    os.remove(work + "/begun")
    running.stop()
    print(name, running.exception(), flush=True)


stopped("folder", work + "/out")
stopped("function", collected)
stopped("elastic", work + "/other", elastic=sash.Elastic(min=1, max=2))
"""


@pytest.mark.spark
@pytest.mark.soak
def test_a_stream_that_is_stopped_in_the_middle_of_a_batch_prints_nothing(tmp_path: Path) -> None:
    done = ran("-c", STOPPED, str(tmp_path), cwd=tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["folder None", "function None", "elastic None"]


@pytest.mark.parametrize(
    "cause",
    [
        "java.lang.InterruptedException",
        "java.nio.channels.ClosedByInterruptException",
        "org.apache.spark.SparkException: [SPARK_JOB_CANCELLED] Job 5 cancelled part of job group 8a",
    ],
)
def test_an_interruption_is_one_line_that_ends_with_its_cause(cause: str) -> None:
    def deliver(rows: object, batch: int) -> None:
        try:
            raise RuntimeError(CALL + ": " + cause + STACK)
        except RuntimeError as error:  # as a function of a user may wrap it
            raise ValueError("not written") from error

    with pytest.raises(Interrupted) as raised:
        brief_when_interrupted(deliver)(None, 0)  # type: ignore[arg-type]
    shown = "".join(traceback.format_exception(raised.value))
    assert shown.endswith(f"{cause}\n")
    assert STACK not in shown


@pytest.mark.parametrize(
    "trace",
    [
        "ValueError: the job was cancelled",
        "InterruptedError: java.lang.InterruptedException in a text",
        CALL + ": java.io.IOException: No space left on device" + STACK,
    ],
)
def test_every_other_failure_is_raised_as_it_is(trace: str) -> None:
    error = RuntimeError(trace)

    def deliver(rows: object, batch: int) -> None:
        raise error

    assert interruption(trace) is None
    with pytest.raises(RuntimeError) as raised:
        brief_when_interrupted(deliver)(None, 0)  # type: ignore[arg-type]
    assert raised.value is error
