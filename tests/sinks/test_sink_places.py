"""Two outputs never go to one place, where each would replace what the other has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sash import sinks
from sash.errors import ArgumentError
from sash.runtimes.spark.packing.outputs import LATE, REPORTS
from sash.runtimes.spark.sinks.sink_of_argument import sinks_for
from sash.runtimes.spark.sinks.wrapped_sinks import ShapedSink


def chosen(sink: Any, late: Any) -> dict[str, Any]:
    return sinks_for({REPORTS: ("sink", sink), LATE: ("late", late)})


def shaped(sink: Any) -> ShapedSink:
    return ShapedSink(sink, lambda rows: rows)


DATABASE = "jdbc:derby:memory:x"


@pytest.mark.parametrize(
    ("sink", "late"),
    [
        ("out", "out"),
        ("out", Path("out")),
        ("out", "./out/"),
        ("out", str(Path("out").absolute())),
        ("/data/out", "file:///data/out"),
        ("/data/out", "file:/data/out"),
        ("s3a://bucket/out", "s3a://bucket/a/../out/"),
        ("out", sinks.folder("out", format="csv")),
        ("out", shaped(sinks.folder("out"))),
        (sinks.table("db.t", writer="me"), sinks.table("db.T", writer="me", mergeSchema="true")),
        (sinks.jdbc(DATABASE, "T"), sinks.jdbc(DATABASE, "t", keys=["k"])),
    ],
)
def test_two_outputs_to_one_place_are_refused(sink: Any, late: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^late must have a place of its own: sink is written there"):
        chosen(sink, late)


@pytest.mark.parametrize(
    ("sink", "late"),
    [
        ("out", "late"),
        ("s3a://one/out", "s3a://other/out"),
        ("/data/out", "hdfs://data/out"),
        ("s3a://bucket/out#1", "s3a://bucket/out#2"),
        (sinks.table("t", writer="me"), sinks.table("t", writer="me late")),
        (sinks.jdbc(DATABASE, "T"), sinks.jdbc(DATABASE, "LATE")),
        (sinks.kafka("topic", servers="s"), sinks.kafka("topic", servers="s")),
        (print, print),
        ("out", None),
    ],
)
def test_outputs_with_places_of_their_own_are_taken(sink: Any, late: Any) -> None:
    assert len(chosen(sink, late)) == (1 if late is None else 2)


def test_a_link_is_the_place_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(ArgumentError, match="place of its own"):
        chosen(tmp_path / "out", tmp_path / "link")
