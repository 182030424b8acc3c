"""Batches that come faster than the watcher can follow do not pile up, and none of their counts is lost."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

import sash
from sash.dashboard import Feed
from sash.dashboard.exported_metrics import METRICS, MetricValues
from sash.dashboard.live_page_messages import frames_of
from sash.dashboard.pending_news import PENDING, PendingBatch, PendingNews
from sash.dashboard.query_watcher import Watching
from sash.dashboard.report_folder import ReportFolder
from tests.dashboard.test_watching import messages_of


def report(batch: int, **counts: int) -> dict[str, Any]:
    second = f"2026-01-05T10:{batch // 60 % 60:02}:{batch % 60:02}.000Z"
    counted = {"observedMetrics": {f"sash {batch:08x}": counts}} if counts else {}
    return {"batchId": batch, "timestamp": second, "numInputRows": 5, **counted}


def test_batches_that_a_slow_look_cannot_follow_do_not_pile_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, going, looked = Event(), Event(), []

    def look(self: ReportFolder, batch: int | None = None) -> None:
        looked.append(batch)
        looking.set()
        assert going.wait(60)

    monkeypatch.setattr(ReportFolder, "look", look)
    events = pa.table({"t": [1, 2], "k": ["a", "b"]})
    query = sash.stream(events, time="t", key="k").window(sash.tumbling(10)).agg(n=sash.count())
    feed = Feed()
    watching = Watching(feed)
    watching.add(SimpleNamespace(name="slow", id=1), query=query, reports=tmp_path)
    for batch in range(1_000):
        watching.progress("slow", report(batch, events=2, late=1, reports=3))
        assert looking.wait(60), "the first batch is looked for before others come"
    going.set()
    watching.stop()
    frames = messages_of(feed, "frame")
    assert len(frames) <= PENDING + 1
    assert sum(frame["batches"] for frame in frames) == 1_000
    assert frames[-1]["batch"] == 999
    assert frames[-1]["totals"] == {"events": 2_000, "late": 1_000, "reports": 3_000}
    assert looked[-1] == 999
    assert len(looked) <= 2, "a look finds what those before it would have found"


def test_batches_that_were_added_up_count_as_many() -> None:
    news, metrics = PendingNews(), MetricValues()
    for batch in range(PENDING + 9):
        news.put_batch("s", frames_of(report(batch, events=2, written=7), stream="s"))
    news.put(None)
    while isinstance(one := news.take(), PendingBatch):
        metrics.take(one.frames[""])
    values = {metric.name: value for metric in METRICS for _, value in metrics.of(metric)}
    assert (values["batches"], values["events"]) == (PENDING + 9, 2 * (PENDING + 9))
    assert values["state_written"] == 7 * (PENDING + 9)


@given(st.lists(st.sampled_from(["one", "two", "other"]), max_size=8 * PENDING))
@settings(deadline=None)
def test_oracle_pending_news_keep_their_order_and_lose_no_event(kinds: list[str]) -> None:
    """Nothing is added to a batch before other news, and no stream has more than its share."""
    news = PendingNews()
    events: dict[tuple[str, int], int] = {}
    others = 0
    for number, kind in enumerate(kinds):
        if kind == "other":
            others += 1
            news.put(lambda: None)
        else:
            events[kind, others] = events.get((kind, others), 0) + number
            news.put_batch(kind, frames_of(report(number, events=number), stream=kind))
    news.put(None)
    found: dict[tuple[str, int], list[PendingBatch]] = {}
    passed = 0
    while (one := news.take()) is not None:
        if isinstance(one, PendingBatch):
            found.setdefault((one.stream, passed), []).append(one)
        else:
            passed += 1
    assert passed == others
    sums = {place: sum(one.frames[""]["events"] for one in some) for place, some in found.items()}
    assert sums == events
    for some in found.values():
        assert all(one.frames[""]["batch"] < two.frames[""]["batch"] for one, two in pairwise(some))
    for stream in ("one", "two"):
        waited = sum(len(some) for (name, _), some in found.items() if name == stream)
        assert waited <= PENDING + others
        assert not news.has_later(stream)
