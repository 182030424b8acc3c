"""Pictures: well-formed SVG that holds what it must, and text that can be read."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

import sash
from sash.display.timeline import Picture, picture_of
from sash.display.timeline.window_lanes import run
from sash.errors import ArgumentError, UnknownEngine
from sash.semantics import windows
from sash.semantics.event import sequence
from sash.semantics.secret import PROFILES, simulate
from tests.semantics.strategies import ANY_WINDOW, events_of, streams

SVG = "{http://www.w3.org/2000/svg}"


def parsed(picture: Picture, *, standalone: bool = False) -> ElementTree.Element:
    return ElementTree.fromstring(picture.svg(standalone=standalone))


def words(picture: Picture) -> list[str]:
    return [element.text or "" for element in parsed(picture).iter(f"{SVG}text")]


def test_every_engine_has_a_lane_with_the_contents_that_it_reports() -> None:
    picture = sash.secret.draw(None, range(10, 20), 3, 3)
    assert [lane.title for lane in picture.lanes] == list(PROFILES)
    shown = words(picture)
    for lane in picture.lanes:
        assert lane.title in shown
        if not lane.remark:
            reports = simulate(lane.title, range(10, 20), 3, 3)
            assert [span.content for span in lane.spans] == [run(content) for content in reports]
            assert {span.content for span in lane.spans} <= set(shown)


def test_a_picture_is_accessible_and_takes_the_colours_of_its_page() -> None:
    picture = sash.secret.draw(["flink", "storm"], range(10, 20), 3, 3, title="a < b & c")
    root = parsed(picture)
    assert root.get("role") == "img"
    assert root.findtext(f"{SVG}title") == "a < b & c"
    assert "flink: reports t1 t2, t3…t5, t6…t8." in (root.findtext(f"{SVG}desc") or "")
    assert root.get("fill") == "currentColor"
    assert root.find(f"{SVG}style") is None
    assert picture._repr_svg_() == picture.svg()


def test_a_window_of_time_is_drawn_from_its_start_to_its_end_and_others_around_their_events() -> None:
    picture = picture_of([windows.tumbling(10), windows.rows(2)], sequence([3, 8, 12, 20]))
    drawn = [[(span.start, span.end) for span in lane.spans] for lane in picture.lanes]
    assert drawn == [[(0, 10), (10, 20), (20, 30)], [(2.5, 8.5), (11.5, 20.5)]]


def test_a_saved_picture_brings_colours_for_light_and_dark(tmp_path: Path) -> None:
    file = sash.secret.draw("flink", [1, 2, 9], 3, 3).save(tmp_path / "flink.svg")
    style = ElementTree.parse(file).getroot().findtext(f"{SVG}style") or ""
    assert "prefers-color-scheme:dark" in style


def test_every_report_is_marked_at_the_arrival_that_caused_it() -> None:
    picture = sash.secret.draw("stream", [30, 31, 36], 5, 1)
    (lane,) = picture.lanes
    assert [span.reported_at for span in lane.spans] == [31, 36, 36]
    assert len(list(parsed(picture).iter(f"{SVG}path"))) == len(lane.spans)


def test_an_engine_without_such_windows_does_not_keep_the_others_from_being_drawn() -> None:
    picture = sash.secret.draw(["dataflow", "flink"], range(10, 15), 2, 2, kind="count")
    assert [lane.remark for lane in picture.lanes] == ["no count windows", ""]
    assert "no count windows" in str(picture)


def test_the_text_form_encloses_the_events_that_a_window_holds() -> None:
    """events              t1    t2    t3    t4    t5
    flink      [─────t1 t2──────]   ▲
    """
    lines = str(sash.secret.draw("flink", [10, 11, 12, 13, 14], 3, 3)).splitlines()
    events = next(line for line in lines if line.startswith("events"))
    flink = next(line for line in lines if line.startswith("flink"))
    opening, closing = flink.index("["), flink.index("]")
    assert opening < events.index("t1") < events.index("t2") < closing < events.index("t3")
    assert flink.index("▲") == events.index("t3")


def test_sashs_own_windows_can_stand_below_the_engines() -> None:
    picture = sash.secret.draw("flink", range(10, 20), 3, 3, windows=[sash.tumbling(3), sash.session(1)])
    flink, tumbling, session = picture.lanes
    reported = [span.content for span in tumbling.spans if span.reported_at is not None]
    assert reported == [span.content for span in flink.spans]
    assert [span.content for span in session.spans] == ["t1…t10"]
    with pytest.raises(ArgumentError, match="kind='count'"):
        sash.secret.draw("flink", [1], 1, 1, kind="count", windows=[sash.tumbling(3)])


@settings(max_examples=60, deadline=None)
@given(ANY_WINDOW, streams(nulls=True))
def test_every_window_kind_can_be_drawn(window: windows.TimeWindow, rows: list[dict[str, object]]) -> None:
    picture = picture_of(window, events_of(rows))
    ElementTree.fromstring(picture.svg(standalone=True))
    assert window.shown in str(picture)


def test_a_window_that_waits_is_told_apart_from_one_that_was_reported() -> None:
    picture = picture_of(windows.tumbling(5), sequence([1, 7]))
    (lane,) = picture.lanes
    assert [span.reported_at for span in lane.spans] == [7, None]
    dashed = [rect for rect in parsed(picture).iter(f"{SVG}rect") if rect.get("stroke-dasharray")]
    assert len(dashed) == 1
    assert "}" in str(picture)


def test_a_crowd_of_events_stays_within_its_page() -> None:
    text = str(sash.secret.draw("flink", range(0, 90_000, 100), 3600, 600))
    assert max(map(len, text.splitlines())) < 130
    assert "more reports" in text


def test_an_unknown_engine_is_refused() -> None:
    with pytest.raises(UnknownEngine, match="Did you mean 'flink'"):
        sash.secret.draw("flnk", [1], 1, 1)
