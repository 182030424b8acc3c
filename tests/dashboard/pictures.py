"""Photograph the live page for the documentation: `make pictures`."""

from __future__ import annotations

from pathlib import Path

from sash.dashboard import serve
from tests.dashboard.browsing import Scheme, chromium, opened, recorded, settled

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def photograph() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with serve(recorded(), port=0) as server, chromium() as browser:
        page = opened(browser, f"{server.url}#queries", scheme=_LIGHT, height=1180)
        page.get_by_role("button", name="bars").click()
        page.locator(".keyline rect").first.wait_for()
        page.screenshot(path=IMAGES / "page-light.png")
        page = opened(browser, f"{server.url}#lab", scheme=_DARK, height=1180)
        settled(page)
        page.screenshot(path=IMAGES / "lab-dark.png")


_LIGHT: Scheme = "light"
_DARK: Scheme = "dark"

if __name__ == "__main__":
    photograph()
