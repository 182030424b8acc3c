"""The transcripts, run in micro-batches: all of them in process, through packer, processor, state and
unpacker; all of them on Spark, in streams that they share; a few as a query of their own there, and in a
long test every one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest

import sash
from sash.operators.engine import WindowOperator
from sash.operators.protocol import StreamOperator
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.streaming.streaming_source import StreamingSource
from tests.conformance import stanza as stanza_module
from tests.conformance.shared_streams import Rows, SharedStream, shared_streams
from tests.conformance.stanza import Stanza, a_few
from tests.conformance.streamed import (
    batches_of,
    bound_query,
    expected_missed,
    expected_reports,
    first_of_each_file,
    missed_of,
    reports_in,
    streamed_stanzas,
)
from tests.runtimes.micro_batches import Delivered, DryStream, Ran, stream_batches
from tests.runtimes.naive_operator import NaiveOperator

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("operator", [NaiveOperator, WindowOperator], ids=["naive", "real"])
@pytest.mark.parametrize("stanza", streamed_stanzas(), ids=str)
def test_micro_batches_in_process_give_what_the_transcript_says(
    stanza: Stanza, operator: type[StreamOperator]
) -> None:
    bound, batches = bound_query(stanza), batches_of(stanza)
    dry = DryStream(bound, operator, outputs=(REPORTS, LATE))
    assert reports_in(stanza, dry.run(batches)) == expected_reports(stanza)
    assert missed_of(stanza, dry.late) == expected_missed(stanza)


@pytest.fixture(scope="module")
def one_partition(spark: SparkSession) -> Iterator[SparkSession]:
    """A stanza has a handful of events; every further partition would only add to the time of a batch."""
    from pyspark.cloudpickle import register_pickle_by_value

    register_pickle_by_value(stanza_module)
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


def check_on_spark(spark: SparkSession, stanza: Stanza) -> None:
    source = StreamingSource(stream_batches(spark, batches_of(stanza)))
    ran = Ran(sash.WindowQuery(source, bound_query(stanza)).dataframe())
    assert reports_in(stanza, ran.rows) == expected_reports(stanza)


@pytest.fixture(scope="module")
def shared(one_partition: SparkSession) -> Callable[[SharedStream], dict[str, tuple[Rows, ...]]]:
    """What a shared stream has emitted; each runs once."""
    return cache(lambda stream: stream.run(one_partition))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("stream", "stanza"),
    [pytest.param(each, stanza, id=str(stanza)) for each in shared_streams() for stanza in each.stanzas],
)
def test_streams_on_spark_give_what_every_transcript_says(
    shared: Callable[[SharedStream], dict[str, tuple[Rows, ...]]], stream: SharedStream, stanza: Stanza
) -> None:
    reports, late = shared(stream)[stanza.title]
    assert reports_in(stanza, reports) == expected_reports(stanza)
    assert missed_of(stanza, late) == expected_missed(stanza)


def test_every_transcript_is_in_a_stream_that_is_shared() -> None:
    titles = [stanza.title for each in shared_streams() for stanza in each.stanzas]
    assert sorted(titles) == sorted(stanza.title for stanza in streamed_stanzas())


@pytest.mark.spark
@pytest.mark.quick
@pytest.mark.parametrize("stanza", a_few(first_of_each_file()), ids=str)
def test_a_streaming_query_gives_what_the_transcript_says(
    one_partition: SparkSession, stanza: Stanza
) -> None:
    check_on_spark(one_partition, stanza)


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.parametrize("stanza", streamed_stanzas(), ids=str)
def test_a_streaming_query_gives_what_every_transcript_says(
    one_partition: SparkSession, stanza: Stanza
) -> None:
    check_on_spark(one_partition, stanza)


@pytest.mark.spark
def test_the_late_output_of_a_streaming_query_is_what_the_transcript_says(
    one_partition: SparkSession,
) -> None:
    (stanza,) = [s for s in first_of_each_file() if s.title.startswith("lateness")]
    source = StreamingSource(stream_batches(one_partition, batches_of(stanza)))
    ran = Delivered(sash.WindowQuery(source, bound_query(stanza)), "late")
    assert reports_in(stanza, ran.rows()) == expected_reports(stanza)
    assert missed_of(stanza, ran.rows("late")) == expected_missed(stanza) != {}
