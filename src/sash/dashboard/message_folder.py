"""A folder of messages: how a page in one process shows the queries of another.

    watch(spark, MessageFolder("frames"))        in the process that runs the queries
    sash ui --watch frames                anywhere that sees the folder

Each query has a file of JSON lines, one message a line, that only grows. A file that has grown beyond
`LARGEST` is begun again, with the latest message of each kind.
"""

from __future__ import annotations

import json
from hashlib import sha256
from os import PathLike
from pathlib import Path
from threading import Event, Lock, Thread

from sash.dashboard.live_page_messages import Message, MessageSink
from sash.errors import ArgumentError

LARGEST = 32 * 1024 * 1024
EVERY = 0.5
"""Seconds between two looks at the folder."""
SUFFIX = ".jsonl"


class MessageFolder:
    """Where messages are written."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ArgumentError(
                "path", str(path), f"a folder that can be written to ({error.strerror})"
            ) from None
        self._lock = Lock()
        self._last: dict[str, dict[str, str]] = {}

    def take(self, message: Message) -> None:
        """Append one message to the file of its query."""
        query, line = str(message["query"]), json.dumps(message, ensure_ascii=False) + "\n"
        with self._lock:
            if message["kind"] != "frame":
                self._last.setdefault(query, {})[message["kind"]] = line
            path = self.path / _file_name(query)
            if path.exists() and path.stat().st_size > LARGEST:
                path.write_text("".join(self._last.get(query, {}).values()), encoding="utf-8")
            with path.open("a", encoding="utf-8") as file:
                file.write(line)


class FolderReader:
    """A thread that hands on what is written to a folder."""

    def __init__(self, path: str | PathLike[str], sink: MessageSink) -> None:
        self.path, self._taker = Path(path), sink
        if not self.path.is_dir():
            raise ArgumentError(
                "watch", str(path), "a folder that exists",
                hint="Queries write to one with sash.dashboard.watch(spark, MessageFolder(path)).",
            )  # fmt: skip
        self._offsets: dict[Path, int] = {}
        self._finished = Event()
        self._thread = Thread(target=self._follow, name="sash follow", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._finished.set()
        self._thread.join()

    def _follow(self) -> None:
        while True:
            for path in sorted(self.path.glob(f"*{SUFFIX}")):
                self._read_new(path)
            if self._finished.wait(EVERY):
                return

    def _read_new(self, path: Path) -> None:
        try:
            size, begin = path.stat().st_size, self._offsets.get(path, 0)
            begin = begin if size >= begin else 0
            with path.open("rb") as file:
                file.seek(begin)
                *lines, _ = file.read().split(b"\n")  # the rest of a line is still being written
        except OSError:
            return  # gone, or not readable now; the next look will find out
        self._offsets[path] = begin + sum(len(line) + 1 for line in lines)
        for line in lines:
            try:
                self._taker.take(json.loads(line))
            except (ValueError, AttributeError, KeyError, TypeError, RecursionError):
                continue  # not one of ours: a page shows what it understands


def _file_name(query: str) -> str:
    """Readable, safe as the name of a file, and different for different queries.

    >>> _file_name("../trades")
    'trades-ddd3f2ad.jsonl'
    """
    words = "".join(letter for letter in query if letter.isalnum() or letter in "-_")[:60]
    return f"{words}-{sha256(query.encode()).hexdigest()[:8]}{SUFFIX}"
