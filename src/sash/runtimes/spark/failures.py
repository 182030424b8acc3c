"""What went wrong in Spark, in one sentence.

An error of Spark's comes with the plan of the query and the stacks of two languages. Somewhere in it is
the sentence that helps: our own when Sash raised it in a worker, the innermost cause otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from sash.disk_space import REASONS, free_bytes
from sash.errors import QueryFailed

_DISK = "the disk, or what may be written of it, is full: {0}"
_FULL = re.compile(f"({'|'.join(REASONS)})")
_NO_SASH = (
    "the Python that Spark starts its workers with does not have sash: set PYSPARK_PYTHON to one that has, "
    "or ship it with --py-files or --archives"
)
_OURS = re.compile(r"sash\.errors\.(\w+): (.+)")
_CAUSES = (
    (re.compile(r"ModuleNotFoundError: No module named 'sash'()"), _NO_SASH),
    (_OURS, "{1}"),
    (_FULL, _DISK),
    (re.compile(r"JAVA_GATEWAY_EXITED()"), "Java did not start Spark, which needs Java 17 or later"),
    (re.compile(r"Connection refused[\s\S]*?host: ([^,\]]+), port: (\d+)"), "nothing listens at {0}:{1}"),
    (re.compile(r"java\.net\.(?:UnknownHost|Connect)Exception: (.+)"), "no connection: {0}"),
    (re.compile(r"Mkdirs failed to create (?:file:)?(\S+?)(?:/_temporary\S*)? "), "{0} cannot be created"),
    (re.compile(r"\S+ \((Permission denied)\)"), "{0}"),
    # A function of a batch that called Java: its last line has only what was called.
    (re.compile(r"Py4JJavaError: [\s\S]*Caused by: (?:[\w$.]+: )?(.+)(?![\s\S]*Caused by: )"), "{0}"),
    (re.compile(r"Py4JJavaError: An error occurred while calling \S+\s+: (?:[\w$.]+: )?(.+)"), "{0}"),
    (re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(\S.*)"), "{0}"),
    (re.compile(r"Caused by: (?:[\w$.]+: )?(.+)(?![\s\S]*Caused by: )"), "{0}"),
)
_WRAPPINGS = (
    re.compile(r"^\s*\[[A-Z_0-9.]+\]\s*"),
    re.compile(r"^Query \[[^\]]*\] terminated with exception: "),
    re.compile(r"\s*SQLSTATE: \w+.*"),
)


def in_words(error: BaseException, *, named: bool = False, places: Iterable[str] = ()) -> str:
    """The sentence that helps; `named`: with the name of the error, where it is one of ours. `places`:
    folders that are written; Java does not name which of them is on a full disk."""
    text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
    for pattern, words in _CAUSES:
        found = pattern.search(text)
        if found:
            name = f"{found[1]}: " if named and pattern is _OURS else ""
            room = _least_room(places) if pattern is _FULL else ""
            return name + _plain(words.format(*found.groups())) + room
    return _plain(next((line for line in text.splitlines() if line.strip()), type(error).__name__))


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """QueryFailed, with the sentence that helps, for whatever Spark raises in the block."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise QueryFailed(in_words(error)) from error


def require_well(queries: Iterable[Any]) -> None:
    """QueryFailed once one of these streaming queries has ended with an error."""
    for query in queries:
        error = query.exception()
        if error is not None:
            words = in_words(error, places=getattr(query, "places", ()))
            raise QueryFailed(words) from error


def _least_room(places: Iterable[str]) -> str:
    """
    >>> _least_room(["s3a://bucket/out"])
    ''
    """
    room = {place: free for place in places if (free := free_bytes(place)) is not None}
    if not room:
        return ""
    least = min(room, key=room.__getitem__)
    return f"; the least room is in {least}, where {room[least]:,} bytes are free"


def _plain(line: str) -> str:
    """
    >>> _plain("[PATH_NOT_FOUND] Path does not exist: file:/no/such. SQLSTATE: 42K03")
    'Path does not exist: file:/no/such.'
    """
    for wrapping in _WRAPPINGS:
        line = wrapping.sub("", line)
    return line.strip()
