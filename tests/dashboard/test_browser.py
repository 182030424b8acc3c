"""The page in a real browser: what is drawn is what was reported, and everybody can use it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import combinations, pairwise
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from sash.dashboard import Feed, Server, serve
from sash.dashboard.lab import answer
from tests.dashboard.browsing import (
    Scheme,
    chromium,
    events_shown,
    opened,
    recorded,
    settled,
    windows_shown,
)

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as one:
        yield one


@pytest.fixture
def feed() -> Feed:
    return recorded()


@pytest.fixture
def server(feed: Feed) -> Iterator[Server]:
    with serve(feed, port=0) as served:
        yield served


@pytest.fixture
def queries(browser: Browser, server: Server) -> Iterator[Page]:
    page = opened(browser, f"{server.url}#queries")
    expect(page.locator(".query")).to_have_count(2)
    yield page
    page.close()


@pytest.fixture
def lab(browser: Browser, server: Server) -> Iterator[Page]:
    page = opened(browser, f"{server.url}#lab")
    settled(page)
    yield page
    page.close()


def frames(feed: Feed, query: str) -> list[dict[str, Any]]:
    return [one for one in feed.since(0)[1] if one["kind"] == "frame" and one["query"] == query]


def metric(page: Page, label: str) -> Locator:
    return page.locator(f".metric[aria-label='{label}'] .value")


def agrees(page: Page, **options: Any) -> None:
    """The lab draws what the definitions say of the events that it has."""
    answered = answer({"delay": 2, "events": events_shown(page), **options})
    assert windows_shown(page) == {extent["id"]: extent["holds"] for extent in answered["extents"]}


def test_queries_are_listed_and_their_numbers_are_those_that_were_said(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="bars").click()
    last = frames(feed, "bars")[-1]
    expect(metric(queries, "Late events")).to_have_text(f"{last['totals']['late']:,}")
    expect(metric(queries, "Degree")).to_have_text(str(last["degree"]))
    expect(metric(queries, "Open windows")).to_have_text(str(last["open"]))


def test_of_a_large_batch_the_part_that_was_read_is_named(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="bars").click()
    heading = queries.locator("h3", has=queries.locator("#hottest"))
    expect(heading).to_have_text("Hottest keysby events in the latest window")
    (latest,) = [one for one in feed.since(0)[1] if one["kind"] == "reports" and one["query"] == "bars"]
    feed.take({**latest, "read": 500_000, "seen": 5_000_000})
    expect(heading).to_contain_text("of the last 500,000 of 5,000,000 rows")


def test_what_was_not_measured_is_shown_as_such(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="bars").click()
    feed.frame("bars", {**frames(feed, "bars")[-1], "state_bytes": None, "written": None})
    expect(metric(queries, "State")).to_have_text("not measured")


def test_a_query_is_never_busier_than_all_of_the_time(queries: Page) -> None:
    queries.get_by_role("button", name="vwap").click()
    note = queries.locator(".metric[aria-label=Rate] .note").inner_text()
    (share,) = re.findall(r"busy (\d+)%", note)
    assert 0 < int(share) <= 100


def test_nothing_is_claimed_before_the_first_answer(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    page.route("**/api/**", lambda route: None)  # no answer at all
    for view in ("queries", "lab"):
        page.goto(f"{server.url}#{view}")
        expect(page.get_by_text("loading…").locator("visible=true").first).to_be_visible()
        expect(page.get_by_text("No query is running here")).to_be_hidden()
    page.close()


def test_the_latest_windows_fit_on_a_narrow_page(browser: Browser, server: Server) -> None:
    page = browser.new_page(viewport={"width": 400, "height": 900})
    page.goto(f"{server.url}#queries")
    page.get_by_role("button", name="vwap").click()
    table = page.locator(".numbered")
    table.wait_for()
    assert table.evaluate("one => one.scrollWidth <= one.clientWidth")


@pytest.mark.parametrize("width", [400, 1200])
def test_what_stands_under_a_number_can_be_read_and_labels_do_not_touch(
    browser: Browser, server: Server, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{server.url}#queries")
    page.get_by_role("button", name="bars").click()
    notes = page.locator(".metric .note")
    notes.first.wait_for()
    assert all(notes.evaluate_all("all => all.map(one => one.scrollWidth <= one.clientWidth)"))
    labels = page.locator(".marks span").evaluate_all(
        "all => all.map(one => [one.getBoundingClientRect().left, one.getBoundingClientRect().right])"
    )
    assert all(before[1] <= after[0] for before, after in pairwise(labels))
    page.close()


@pytest.mark.parametrize("width", [400, 1280])
def test_no_event_of_the_lab_lies_on_another_and_the_drawing_comes_first(
    browser: Browser, server: Server, width: int
) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(f"{server.url}#lab")
    settled(page)
    circles = page.locator(".event circle")
    boxes = [box for index in range(circles.count()) if (box := circles.nth(index).bounding_box())]
    for one, other in combinations(boxes, 2):
        apart = max(abs(one["x"] - other["x"]), abs(one["y"] - other["y"]))
        assert apart >= one["width"], (one, other)
    drawing, form = (
        page.locator(part).bounding_box() for part in ("svg.timeline >> nth=0", ".window-form")
    )
    assert drawing
    assert form
    assert drawing["y"] < form["y"] if width < 1080 else drawing["x"] > form["x"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()


def test_a_bar_of_the_lab_ends_where_its_window_ends(lab: Page) -> None:
    for window in lab.locator(".timeline .window").all():
        box = window.locator("rect").bounding_box()
        assert box
        ends = [int(window.get_attribute(name) or 0) for name in ("data-from", "data-to")]
        assert [box["x"], box["x"] + box["width"]] == pytest.approx([tick(lab, end) for end in ends], abs=3)


def test_every_reconfiguration_is_marked(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="bars").click()
    degrees = [frame["degree"] for frame in frames(feed, "bars")]
    changes = sum(before != after for before, after in pairwise(degrees))
    assert changes > 1
    expect(queries.locator(".metric[aria-label=Degree] .mark")).to_have_count(changes)


def test_a_new_frame_is_seen_without_a_reload(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="vwap").click()
    feed.frame("vwap", {**frames(feed, "vwap")[-1], "rate": 98_765.0})
    expect(metric(queries, "Rate")).to_have_text("98,765/s")


def test_a_query_that_fails_says_why(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="vwap").click()
    feed.take({"kind": "ended", "query": "vwap", "error": "the disk is full", "at": 0})
    expect(queries.get_by_role("alert").first).to_have_text("the disk is full")


def test_the_latest_windows_of_a_chosen_key_are_drawn(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="vwap").click()
    key = "SYM03"
    queries.get_by_label("of key").select_option(key)
    latest = feed.windows("vwap", key)
    drawing = queries.locator(f".keyline[aria-label*='{key}']")
    expect(drawing.locator("rect")).to_have_count(min(12, len(latest)))
    shown = queries.locator(".pair tbody tr").first.locator("td").all_inner_texts()
    assert shown[0] == str(latest[-1]["id"])
    assert shown[3] == f"{latest[-1]['values']['n']:,}"


def test_the_plan_is_drawn_beside_its_explanation(queries: Page, feed: Feed) -> None:
    queries.get_by_role("button", name="vwap").click()
    (about,) = [one for one in feed.since(0)[1] if one["kind"] == "about" and one["query"] == "vwap"]
    expect(queries.locator(".graph g")).to_have_count(len(about["plan"]["stages"]) + 2)
    expect(queries.locator(".explain")).to_have_text(about["explain"])


def test_without_queries_the_page_opens_the_lab(browser: Browser) -> None:
    with serve(Feed(), port=0) as server:
        page = opened(browser, server.url)
        expect(page.get_by_role("heading", name="Window", exact=True)).to_be_visible()
        page.get_by_role("link", name="Queries").click()
        expect(page.get_by_text("No query is running here")).to_be_visible()
        page.close()


def test_the_lab_draws_the_extents_of_the_definition_for_every_kind(lab: Page) -> None:
    kinds = lab.get_by_label("Kind").locator("option").evaluate_all("all => all.map(one => one.value)")
    assert len(kinds) == 11
    for kind in kinds:
        lab.get_by_label("Kind").select_option(kind)
        settled(lab)
        agrees(lab, kind=kind, delay=int(lab.get_by_label("Delay").input_value()))


def test_changing_a_number_changes_the_windows(lab: Page) -> None:
    before = windows_shown(lab)
    lab.get_by_label("Size").fill("6")
    lab.get_by_label("Every").fill("3")
    agrees(lab, kind="sliding", numbers={"size": 6, "every": 3})
    assert windows_shown(lab) != before
    expect(lab.locator("pre").last).to_contain_text("sash.sliding(6, every=3)")


def test_a_number_that_cannot_be_is_told_in_a_sentence(lab: Page) -> None:
    lab.get_by_label("Size").fill("0")
    expect(lab.locator(".refused")).to_have_text("size must be a whole number from 1 to 500; got 0")


def test_a_click_on_the_line_adds_an_event_there(lab: Page) -> None:
    before = events_shown(lab)
    lab.mouse.click(tick(lab, 24), line(lab))
    assert events_shown(lab)[len(before)]["time"] == 24
    agrees(lab, kind="sliding")
    expect(lab.locator("#mapping")).to_contain_text("t12 at 24 is in windows 3, 4")
    expect(lab.locator("#mapping")).to_contain_text("M(24) = {3 … 4}")


def test_dragging_an_event_moves_it_in_time(lab: Page) -> None:
    event = lab.locator(".event").nth(3)
    box = event.locator("circle").bounding_box()
    assert box
    lab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    lab.mouse.down()
    lab.mouse.move(tick(lab, 13), box["y"] + 5, steps=4)
    lab.mouse.up()
    assert events_shown(lab)[3]["time"] == 13
    agrees(lab, kind="sliding")


def test_dragging_in_the_row_of_arrivals_changes_who_is_late(lab: Page) -> None:
    before = events_shown(lab)
    late = lab.locator(".arrival").nth(8)
    expect(lab.locator(".arrival.late")).to_have_count(1)
    late.drag_to(lab.locator(".arrival").nth(5))
    after = events_shown(lab)
    assert after[5] == before[8]
    expect(lab.locator(".arrival.late")).to_have_count(0)
    agrees(lab, kind="sliding")


def test_everything_in_the_lab_can_be_done_with_the_keyboard(lab: Page) -> None:
    before = events_shown(lab)
    lab.locator(".event").nth(0).focus()
    lab.keyboard.press("ArrowRight")
    lab.keyboard.press("Shift+ArrowRight")
    assert events_shown(lab)[0]["time"] == before[0]["time"] + 6
    lab.keyboard.press("ArrowDown")  # arrives one later
    assert events_shown(lab)[1]["time"] == before[0]["time"] + 6
    lab.keyboard.press("Delete")
    assert len(events_shown(lab)) == len(before) - 1
    lab.locator(".arrival").nth(2).focus()
    lab.keyboard.press("ArrowLeft")
    assert events_shown(lab)[1] == before[3]
    lab.get_by_role("button", name="Add event").focus()
    lab.keyboard.press("Enter")
    assert events_shown(lab)[-1]["time"] == 23
    agrees(lab, kind="sliding")


def test_events_that_have_not_arrived_yet_are_in_no_window(lab: Page) -> None:
    lab.get_by_label("Arrived so far").fill("4")
    assert len(events_shown(lab)) == 4
    agrees(lab, kind="sliding")
    expect(lab.locator(".event.future")).to_have_count(7)


def test_engines_that_agree_share_a_lane(lab: Page) -> None:
    answered = answer({"kind": "sliding", "delay": 2, "events": events_shown(lab)})
    same = [engine["engine"] for engine in answered["engines"] if engine["same"]]
    expect(lab.locator(".who").filter(has_text="reports what Sash reports").locator("b")).to_have_text(same)


def test_the_page_asks_nobody_else_and_makes_no_errors(browser: Browser, server: Server) -> None:
    page = browser.new_page()
    urls: list[str] = []
    broken: list[str] = []
    page.on("request", lambda request: urls.append(request.url))
    page.on(
        "console",
        lambda message: broken.append(message.text) if message.type in ("error", "warning") else None,
    )
    page.on("pageerror", lambda error: broken.append(str(error)))
    page.goto(f"{server.url}#queries")
    expect(page.locator(".query")).to_have_count(2)
    page.goto(f"{server.url}#lab")
    settled(page)
    assert urls
    assert all(url.startswith(server.url) for url in urls)
    assert broken == []
    page.close()


def test_a_page_with_a_token_opens_with_its_address(browser: Browser, feed: Feed) -> None:
    with serve(feed, host="0.0.0.0", port=0) as server:
        page = browser.new_page()
        page.goto(server.url)
        expect(page.locator(".query")).to_have_count(2)
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["queries", "lab"])
def test_axe_finds_no_serious_barrier(browser: Browser, server: Server, view: str, scheme: Scheme) -> None:
    page = opened(browser, f"{server.url}#{view}", scheme=scheme)
    page.locator(".query, .window").first.wait_for()
    # Not a script of the page, whose policy would not let it in.
    found = page.evaluate(f"{AXE}; axe.run(document, {{resultTypes: ['violations']}})")
    serious = [
        (one["id"], one["nodes"][0]["target"], one["nodes"][0]["failureSummary"])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []
    page.close()


def tick(page: Page, time: int) -> float:
    """Where a time is on the screen, from two events whose times are known."""
    (one, at), (other, to) = (place(page, index) for index in (0, 10))
    return at + (to - at) * (time - one) / (other - one)


def place(page: Page, index: int) -> tuple[int, float]:
    event = page.locator(f"[data-event='{index}']")
    box = event.locator("circle").bounding_box()
    assert box
    return int(event.get_attribute("aria-valuenow") or 0), box["x"] + box["width"] / 2


def line(page: Page) -> float:
    box = page.locator(".timeline .sky").bounding_box()
    assert box
    return box["y"] + 10
