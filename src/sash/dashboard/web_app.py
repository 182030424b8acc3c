"""The page as an ASGI application: files, a stream of messages, the windows of a key, and the lab.

    GET  /                       the page; everything else that it needs is below /static
    GET  /api/messages           server-sent events: all that is known, then what comes
    GET  /api/windows?query&key  the latest windows of a key
    GET  /api/lab                which windows the lab knows, and what each needs
    POST /api/lab                an experiment → its windows, reports and Python

A request is data and is never run: the lab reads numbers and words out of fixed lists.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from threading import Event
from uuid import uuid4

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from sash.dashboard.access import Guard
from sash.dashboard.feed import Feed
from sash.dashboard.json_body import json_body, refused
from sash.dashboard.lab import answer, choices
from sash.errors import SashError

STATIC = Path(__file__).parent / "static"
EVERY = 0.2
"""Seconds between two looks at the feed."""
BEAT = 15.0
"""Seconds after which a silent stream sends a comment to stay open."""
LARGEST = 64 * 1024
"""Bytes of a request to the lab."""


def application(feed: Feed, *, token: str | None = None, closing: Event | None = None) -> ASGIApp:
    """The page over a feed; `closing` ends the streams of messages when it is set."""
    page = _Page(feed, closing or Event())
    routes = [
        Route("/", page.index),
        Route("/api/messages", page.messages),
        Route("/api/windows", page.windows),
        Route("/api/lab", page.lab_choices, methods=["GET"]),
        Route("/api/lab", page.lab, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes), token=token)


class _Page:
    def __init__(self, feed: Feed, closing: Event) -> None:
        self._feed, self._closing = feed, closing
        self._name = uuid4().hex[:8]
        """Keeps the numbers of this server's messages apart from an earlier server's on the same port."""

    async def index(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def messages(self, request: Request) -> Response:
        name, _, number = request.headers.get("last-event-id", "").partition("-")
        begin = int(number) if name == self._name and number.isdecimal() else 0
        return StreamingResponse(self._events(request, begin), media_type="text/event-stream")

    async def _events(self, request: Request, number: int) -> AsyncIterator[str]:
        silent = BEAT
        if number == 0:
            yield _event("hello", {"queries": self._feed.queries}, "")
        while not (self._closing.is_set() or await request.is_disconnected()):
            number, messages = self._feed.since(number)
            if messages:
                yield _event("messages", messages, f"{self._name}-{number}")
            elif silent <= 0:
                yield ": still here\n\n"
            silent = silent - EVERY if not messages and silent > 0 else BEAT
            await asyncio.sleep(EVERY)

    async def windows(self, request: Request) -> Response:
        given = request.query_params
        return JSONResponse(self._feed.windows(given.get("query", ""), given.get("key", "")))

    async def lab_choices(self, request: Request) -> Response:
        return JSONResponse(choices())

    async def lab(self, request: Request) -> Response:
        body = await json_body(request, largest=LARGEST, refusal="an experiment has at most 64 kB")
        if isinstance(body, Response):
            return body
        try:
            return JSONResponse(await run_in_threadpool(answer, json.loads(body)))
        except (SashError, RecursionError, UnicodeDecodeError, json.JSONDecodeError) as error:
            return refused(str(error), 422)


def _event(kind: str, data: object, number: str) -> str:
    identified = f"id: {number}\n" if number else ""
    return f"event: {kind}\n{identified}data: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n"
