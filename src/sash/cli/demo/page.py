"""The live page of the demo, where it can be had."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from sash.errors import ArgumentError, MissingDependency

if TYPE_CHECKING:
    from sash.dashboard.feed import Feed
    from sash.dashboard.server import Server


def served(feed: Feed) -> tuple[Server | None, str]:
    """The page, and the line about it. A demo needs no particular port, and runs without a page too."""
    from sash.dashboard.server import serve

    try:
        with suppress(ArgumentError):  # the usual port is in use
            page = serve(feed)
            return page, f"live page: {page.url}"
        page = serve(feed, port=0)
    except MissingDependency as missing:
        return None, f"no live page: {missing}"
    return page, f"live page: {page.url}"
