"""A real browser, and pages of recorded queries for it to look at."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, Page, sync_playwright

from sash.dashboard import Feed

RECORDED = Path(__file__).parent / "recorded"
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
Scheme = Literal["light", "dark"]


@contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine, without a window. `make chromium` installs it."""
    program = next((found for name in PROGRAMS if (found := shutil.which(name))), None)
    assert program, "no Chromium on this machine: run `make chromium`"
    with sync_playwright() as playwright:
        # Containers run tests as root, whom Chromium gives no sandbox.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


def opened(browser: Browser, url: str, *, scheme: Scheme = "light", height: int = 1000) -> Page:
    page = browser.new_page(color_scheme=scheme, viewport={"width": 1400, "height": height})
    page.goto(url)
    return page


def recorded(*, ended: bool = False) -> Feed:
    """What two real queries reported (see `record`); as if they were running still, unless `ended`."""
    feed = Feed()
    for path in sorted(RECORDED.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            message = json.loads(line)
            if ended or message["kind"] != "ended":
                feed.take(message)
    return feed


def settled(page: Page) -> None:
    """The lab shows the answer to the last request."""
    page.wait_for_selector(".results[aria-busy=false]", state="attached")


def windows_shown(page: Page) -> dict[int, list[int]]:
    """The windows that are drawn, with the events that each holds."""
    settled(page)
    drawn = page.locator(".timeline .window").evaluate_all(
        "all => all.map(one => [one.dataset.window, one.dataset.holds])"
    )
    return {int(id): [int(number) for number in holds.split()] for id, holds in drawn}


def events_shown(page: Page) -> list[dict[str, Any]]:
    """The events of the lab that have arrived, in that order."""
    settled(page)
    labels = page.locator(".arrival:not(.future)").evaluate_all("all => all.map(one => one.ariaLabel)")
    numbers = (re.findall(r"\d+", label.partition(",")[2]) for label in labels)
    return [{"time": int(time), "x": int(x)} for time, x, *_ in numbers]
