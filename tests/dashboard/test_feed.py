"""What is kept of what queries say, and how it gets from one process to another."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from sash.dashboard import Feed, MessageFolder, message_folder as folders
from sash.dashboard.feed import HISTORY, KEYS, QUERIES, WINDOWS
from sash.dashboard.live_page_messages import frames_of
from sash.dashboard.message_folder import FolderReader
from sash.dashboard.open_windows import open_windows
from sash.errors import ArgumentError
from sash.semantics import windows
from sash.semantics.event import sequence
from sash.semantics.window import Window


def frame(batch: int, **counts: int) -> dict[str, object]:
    return {"kind": "frame", "query": "q", "batch": batch, "at": batch * 1000, **counts}


def row(key: str, id: int, **more: object) -> dict[str, object]:
    return {"key": key, "id": id, "start": id, "end": id + 1, "values": {"n": id}, **more}


def reports(*rows: dict[str, object]) -> dict[str, object]:
    return {"kind": "reports", "query": "q", "rows": list(rows), "hottest": [], "measure": "windows"}


def eventually(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 5
    while not true():
        assert time.monotonic() < end, "it did not happen within 5 seconds"
        time.sleep(0.02)


def test_a_reader_sees_every_message_once_and_in_order() -> None:
    feed = Feed()
    feed.take(frame(0))
    feed.take({"kind": "about", "query": "q"})
    seen, first = feed.since(0)
    feed.take(frame(1))
    assert [message["kind"] for message in first] == ["frame", "about"]
    latest, second = feed.since(seen)
    assert [message["batch"] for message in second] == [1]
    assert feed.since(latest) == (latest, [])


def test_counts_are_added_up_from_the_first_frame_on() -> None:
    feed = Feed()
    for batch in range(HISTORY + 5):
        feed.take(frame(batch, events=2, late=1))
    _, messages = feed.since(0)
    assert len(messages) == HISTORY
    assert messages[-1]["totals"] == {"events": 2 * (HISTORY + 5), "late": HISTORY + 5}


def test_what_is_kept_is_bounded_in_queries_keys_and_windows() -> None:
    feed = Feed()
    for number in range(KEYS + 10):
        feed.take(reports(*(row(f"k{number}", id) for id in range(3))))
    _, (message,) = feed.since(0)
    assert len(message["keys"]) == KEYS
    assert feed.windows("q", "k0") == []
    feed.take(reports(*(row("busy", id) for id in range(WINDOWS + 7))))
    assert [window["id"] for window in feed.windows("q", "busy")] == list(range(7, WINDOWS + 7))
    for number in range(QUERIES):
        feed.take({"kind": "about", "query": f"another {number}"})
    assert "q" not in feed.queries


def test_a_corrected_window_takes_the_place_of_the_earlier_report() -> None:
    feed = Feed()
    feed.take(reports(row("a", 1), row("a", 2)))
    feed.take(reports(row("a", 1, values={"n": 99})))
    assert [(window["id"], window["values"]["n"]) for window in feed.windows("q", "a")] == [(2, 2), (1, 99)]


def test_windows_of_two_names_are_kept_apart() -> None:
    feed = Feed()
    feed.take(reports(row("a", 1, name="short"), row("a", 1, name="long")))
    assert [window["name"] for window in feed.windows("q", "a")] == ["short", "long"]


def test_a_query_that_starts_again_has_not_ended() -> None:
    feed = Feed()
    feed.take({"kind": "ended", "query": "q", "error": None})
    feed.take({"kind": "started", "query": "q"})
    assert [message["kind"] for message in feed.since(0)[1]] == ["started"]


@pytest.mark.parametrize("message", [{"kind": "wish", "query": "q"}, {"kind": "frame"}, {"query": "q"}])
def test_what_is_no_message_is_refused(message: dict[str, str]) -> None:
    with pytest.raises(ArgumentError):
        Feed().take(message)


def test_many_threads_can_talk_at_once() -> None:
    feed = Feed()
    talkers = [
        threading.Thread(target=lambda: [feed.frame("q", {"batch": n, "events": 1}) for n in range(200)])
        for _ in range(4)
    ]
    for talker in talkers:
        talker.start()
    for talker in talkers:
        talker.join()
    assert feed.since(0)[1][-1]["totals"] == {"events": 800}


def test_what_is_written_to_a_folder_is_heard_by_whoever_follows_it(tmp_path: Path) -> None:
    folder, feed = MessageFolder(tmp_path / "frames"), Feed()
    folder.take(frame(0, events=3))
    following = FolderReader(tmp_path / "frames", feed)
    try:
        folder.take({"kind": "about", "query": "../other name", "explain": "τ ≤ 5"})
        eventually(lambda: set(feed.queries) == {"q", "../other name"})
        folder.take(frame(1, events=4))
        eventually(lambda: len(feed.since(0)[1]) == 3)
    finally:
        following.stop()
    assert feed.since(0)[1][-1]["totals"] == {"events": 7}
    assert {path.parent for path in (tmp_path / "frames").iterdir()} == {tmp_path / "frames"}


def test_a_line_that_is_still_being_written_is_waited_for(tmp_path: Path) -> None:
    line = json.dumps(frame(0))
    path = tmp_path / "q.jsonl"
    path.write_text("not ours\n[1]\n" + line[:10])
    feed = Feed()
    following = FolderReader(tmp_path, feed)
    try:
        time.sleep(3 * folders.EVERY)
        assert feed.since(0)[1] == []
        with path.open("a") as file:
            file.write(line[10:] + "\n")
        eventually(lambda: len(feed.since(0)[1]) == 1)
    finally:
        following.stop()


def test_a_file_that_has_grown_large_is_begun_again_with_the_last_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "LARGEST", 500)
    folder = MessageFolder(tmp_path)
    folder.take({"kind": "about", "query": "q", "explain": "what it is"})
    for batch in range(20):
        folder.take(frame(batch))
    (path,) = tmp_path.iterdir()
    messages = [json.loads(line) for line in path.read_text().splitlines()]
    assert messages[0]["explain"] == "what it is"
    assert messages[-1]["batch"] == 19
    assert path.stat().st_size < 1000


def test_a_folder_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match="a folder that can be written to"):
        MessageFolder(tmp_path / "file" / "frames")
    with pytest.raises(ArgumentError, match="watch must be a folder that exists"):
        FolderReader(tmp_path / "absent", Feed())


def test_what_was_not_measured_is_none_in_a_frame() -> None:
    frame = frames_of({"batchId": 0, "timestamp": "2026-01-05T10:30:00.000Z"}, stream="q")[""]
    unknown = {name for name, value in frame.items() if value is None}
    assert unknown >= {"late", "reports", "rate", "watermark", "open", "state_bytes", "degree"}


def test_decisions_in_a_frame_are_those_of_sash_and_not_a_column_of_an_observation() -> None:
    report = {"batchId": 0, "observedMetrics": {"theirs": {"decisions": 3}, "sash 1f3a09bc": {"events": 1}}}
    assert frames_of(report, stream="q")[""]["decisions"] == []
    report["observedMetrics"] = {
        "theirs 1f3a09bc": {"decisions": 3},
        "sash 1f3a09bc": {"events": 1, "decisions": ["one task: few events"]},
    }
    assert frames_of(report, stream="q")[""]["decisions"] == ["one task: few events"]


clock_windows = st.one_of(
    st.builds(windows.time, st.integers(1, 12), st.integers(1, 12), origin=st.integers(0, 5)),
    st.builds(
        lambda step, times: windows.cumulate(step * times, step), st.integers(1, 4), st.integers(1, 4)
    ),
    st.builds(windows.slide_by_time, st.integers(1, 3), st.integers(1, 9), origin=st.integers(0, 5)),
)


@given(clock_windows, st.integers(1, 60), st.integers(0, 30))
def test_oracle_open_windows_are_those_of_a_key_with_an_event_at_every_instant(
    window: Window, watermark: int, ahead: int
) -> None:
    newest = watermark + ahead
    busy = sequence(range(newest + 1))
    waiting = [
        extent.id
        for extent in window.extents(busy)
        if extent.closes_at is not None and extent.closes_at > watermark
    ]
    assert open_windows([window], watermark=watermark, newest=newest) == len(waiting)
