"""The transcripts, run on a static Spark DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conformance.bounded import bounded_stanzas, content_of, expected_content, query_of, table_of
from tests.conformance.stanza import Stanza, with_a_few_quick

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("stanza", with_a_few_quick(bounded_stanzas()), ids=str)
def test_a_spark_dataframe_gives_what_the_transcript_says(spark: SparkSession, stanza: Stanza) -> None:
    query = query_of(stanza, spark.createDataFrame(table_of(stanza)))
    rows = query.collect().to_pylist()
    assert content_of(stanza, rows) == expected_content(stanza)
    assert len(rows) == len(expected_content(stanza))
