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


@pytest.mark.parametrize(
    ("sink", "late", "checkpoint", "message"),
    [
        ("out", None, "out", "sink must be a folder of its own: it is the checkpoint "),
        ("out", None, "./out/", "sink must be a folder of its own: it is the checkpoint "),
        ("c/out", None, "c", "sink must be a folder of its own: it is inside of the checkpoint "),
        ("c/_out", None, "c", "sink must be a folder of its own: it is inside of the checkpoint "),
        ("out", "c/late", "c", "late must be a folder of its own: it is inside of the checkpoint "),
        ("out", None, "out/c", "checkpoint must be a folder of its own: it is inside of sink, "),
        ("out", "out/late", "c", "late must be a folder of its own: it is inside of sink, "),
        (
            "s3a://b/out",
            None,
            "s3a://b/out/c",
            "it is inside of sink, s3a://b/out, which is read as a whole",
        ),
        (sinks.folder("out", format="csv"), None, "out", "sink must be a folder of its own"),
    ],
)
def test_folders_within_each_other_are_refused(sink: Any, late: Any, checkpoint: str, message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        sinks_for({REPORTS: ("sink", sink), LATE: ("late", late)}, checkpoint=checkpoint)
    assert message in str(caught.value)
    assert str(caught.value).endswith(". Name one beside it.")


@pytest.mark.parametrize(
    ("sink", "checkpoint"),
    [
        ("out", "out2"),
        ("out", "out/_checkpoint"),
        ("out", "out/.meta/checkpoint"),
        ("a/out", "a/checkpoint"),
        (print, "out"),
        (sinks.table("out", writer="me"), "out"),
    ],
)
def test_folders_beside_each_other_or_hidden_are_taken(sink: Any, checkpoint: str) -> None:
    assert sinks_for({REPORTS: ("sink", sink)}, checkpoint=checkpoint)
