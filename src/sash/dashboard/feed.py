"""The feed: messages about running queries, bounded, and safe to use from any thread.

    feed = Feed()
    feed.take({"kind": "frame", "query": "trades", "batch": 0, …})     by the watcher of a query
    feed.since(0)                                                      by the page

`live_page_messages` lists the kinds of messages. Each gets a number; a reader gets those after
the last that it has seen. Of frames the latest `HISTORY` of a query are kept, of everything else the latest
one. The windows of a key are not sent to every reader: `windows(query, key)` has the latest of them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from sash.dashboard.live_page_messages import KINDS, Message
from sash.errors import ArgumentError

HISTORY = 600
"""Frames of a query: ten minutes at one micro-batch per second."""
QUERIES = 32
"""The query without messages for the longest time is forgotten."""
KEYS, WINDOWS = 500, 40
"""Keys of a query whose windows are at hand, and how many of each."""
TOTALS = ("events", "late", "reports")

Numbered = tuple[int, dict[str, Any]]


@dataclass
class _Query:
    """What is known of one query."""

    last: dict[str, Numbered] = field(default_factory=dict)
    frames: deque[Numbered] = field(default_factory=lambda: deque(maxlen=HISTORY))
    totals: dict[str, int] = field(default_factory=dict)
    windows: OrderedDict[str, deque[dict[str, Any]]] = field(default_factory=OrderedDict)

    def messages(self) -> list[Numbered]:
        return [*self.last.values(), *self.frames]


class Feed:
    """Messages in, numbered messages out."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._queries: OrderedDict[str, _Query] = OrderedDict()
        self._number = 0

    def take(self, message: Message) -> None:
        """One more message; ArgumentError for what is none."""
        kind, name = message.get("kind"), message.get("query")
        if kind not in KINDS:
            raise ArgumentError("kind", kind, f"one of {', '.join(KINDS)}")
        if not isinstance(name, str) or not name:
            raise ArgumentError("query", name, "the name of a query")
        with self._lock:
            query = self._queries.setdefault(name, _Query())
            self._queries.move_to_end(name)
            while len(self._queries) > QUERIES:
                self._queries.popitem(last=False)
            self._number += 1
            self._keep(query, kind, dict(message))

    def frame(self, query: str, frame: Mapping[str, Any]) -> None:
        """One micro-batch of a query: `take`, for those who measure by themselves."""
        self.take({**frame, "kind": "frame", "query": query})

    def since(self, number: int) -> tuple[int, list[dict[str, Any]]]:
        """The number for the next call, and the messages after `number`, in order."""
        with self._lock:
            if number >= self._number:
                return self._number, []
            found = [numbered for query in self._queries.values() for numbered in query.messages()]
            return self._number, [
                message for at, message in sorted(found, key=lambda one: one[0]) if at > number
            ]

    @property
    def queries(self) -> list[str]:
        """The names of those with messages."""
        with self._lock:
            return list(self._queries)

    def windows(self, query: str, key: str) -> list[dict[str, Any]]:
        """The latest windows of a key that were reported, the oldest first."""
        with self._lock:
            known = self._queries.get(query)
            return list(known.windows.get(key, ())) if known else []

    def _keep(self, query: _Query, kind: str, message: dict[str, Any]) -> None:
        if kind == "frame":
            for count in TOTALS:
                if message.get(count) is not None:
                    query.totals[count] = query.totals.get(count, 0) + message[count]
            query.frames.append((self._number, {**message, "totals": dict(query.totals)}))
            return
        if kind == "reports":
            for row in message.pop("rows", ()):
                _remember(query.windows, row)
            message["keys"] = list(query.windows)
        if kind == "started":
            query.last.pop("ended", None)
        query.last[kind] = self._number, message


def _remember(windows: OrderedDict[str, deque[dict[str, Any]]], row: dict[str, Any]) -> None:
    """A report takes the place of an earlier one of the same window: it corrects it. Rows of
    look-backs have no identifier, and each is its own."""
    mine = windows.setdefault(row["key"], deque(maxlen=WINDOWS))
    windows.move_to_end(row["key"])
    same = [known for known in mine if (known["id"], known.get("name")) == (row["id"], row.get("name"))]
    for known in same if row["id"] is not None else ():
        mine.remove(known)
    mine.append(row)
    while len(windows) > KEYS:
        windows.popitem(last=False)
