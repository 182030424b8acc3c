"""The transcripts, run in process over an Arrow table."""

from __future__ import annotations

import pytest

from tests.conformance.bounded import (
    bounded_stanzas,
    content_of,
    expected_content,
    expected_late,
    query_of,
    table_of,
)
from tests.conformance.stanza import Stanza


@pytest.mark.parametrize("stanza", bounded_stanzas(), ids=str)
def test_a_table_in_process_gives_what_the_transcript_says(stanza: Stanza) -> None:
    query = query_of(stanza, table_of(stanza))
    rows = query.collect().to_pylist()
    assert content_of(stanza, rows) == expected_content(stanza)
    assert len(rows) == len(expected_content(stanza))
    late = {(row["e"], row["late_reason"]) for row in query.late().collect().to_pylist()}
    assert late == expected_late(stanza)
