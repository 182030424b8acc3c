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

from sash import errors
from sash.disk_space import REASONS, free_bytes
from sash.errors import QueryFailed
from sash.runtimes.connector_packages import POSTGRESQL

_DISK = "the disk, or what may be written of it, is full: {0}"
_FULL = re.compile(f"({'|'.join(REASONS)})")
_NO_SASH = (
    "the Python that Spark starts its workers with does not have sash: set PYSPARK_PYTHON to one that has, "
    "or ship it with --py-files or --archives"
)
_NOBODY = "nothing listens at {0}:{1}"
_NO_DRIVER = (
    "Spark has no JDBC driver for this URL: add it with the setting spark.jars.packages, such as "
    f"{POSTGRESQL}, or spark.jars, and name its class with driver=… if it is not found"
)
_OTHER_HEADER = (
    "the columns of a csv file must be those of the schema, in their order; those that are read are {0} in "
    "the header of {2}, and {1} in the schema"
)
_CSV_HEADER = re.compile(
    r"CSV header [^\n]*\n\s*Header[^:]*: (.+?)(?:\n\s*S|, s)chema[^:]*: (.+)\n[\s\S]*?file: (\S+)"
)
"""By name or by number."""
_OURS = re.compile(r"sash\.errors\.(\w+): (.+)")
_CAUSES = (
    (re.compile(r"ModuleNotFoundError: No module named 'sash'()"), _NO_SASH),
    (_OURS, "{1}"),
    (_FULL, _DISK),
    (re.compile(r"JAVA_GATEWAY_EXITED()"), "Java did not start Spark, which needs Java 17 or later"),
    (re.compile(r"Connection refused[\s\S]*?host: ([^,\]]+), port: (\d+)"), _NOBODY),
    (re.compile(r"connecting to ([^\s:]+):(\d+)\. Connection refused"), _NOBODY),  # redis
    (re.compile(r"Connection to ([^\s:]+):(\d+) refused"), _NOBODY),  # PostgreSQL
    (re.compile(r"SQLException: No suitable driver()"), _NO_DRIVER),
    (_CSV_HEADER, _OTHER_HEADER),
    (re.compile(r"java\.net\.(?:UnknownHost|Connect)Exception: (.+)"), "no connection: {0}"),
    (re.compile(r"Mkdirs failed to create (?:file:)?(\S+?)(?:/_temporary\S*)? "), "{0} cannot be created"),
    (re.compile(r"\S+ \((Permission denied)\)"), "{0}"),
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n|\n)+(\S.*)")
_CALLED_JAVA = re.compile(r"(?:py4j|pyspark\.errors)\.")
"""How the last line of a traceback begins if the cause is Java's, whose stack may follow."""
_JAVA = re.compile(r"^(?:: |Caused by: )(?:([\w$.]+): )?(.+)", re.MULTILINE)
_WRAPPINGS = (
    re.compile(r"^pyspark\.errors\.[\w.]+: "),
    re.compile(r"^Job aborted due to stage failure: .*: Lost task .*?\): (?:[\w$.]+: )?"),
    re.compile(r"^\s*\[[A-Z_0-9.]+\]\s*"),
    re.compile(r"^Query \[[^\]]*\] terminated with exception: "),
    re.compile(r"\s*SQLSTATE: \w+.*"),
)


def sentence_of(error: BaseException, *, named: bool = False, places: Iterable[str] = ()) -> str:
    """The sentence that helps; `named`: with the name of the error, where it is one of ours. `places`:
    folders that are written; Java does not name which of them is on a full disk."""
    text = f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
    for pattern, words in _CAUSES:
        found = pattern.search(text)
        if found:
            name = f"{found[1]}: " if named and pattern is _OURS else ""
            room = _least_room(places) if pattern is _FULL else ""
            return name + _plain(words.format(*found.groups())) + room
    innermost = _innermost(text)
    if innermost:
        return _plain(innermost)
    return _plain(next((line for line in text.splitlines() if line.strip()), type(error).__name__))


@contextmanager
def in_one_sentence() -> Iterator[None]:
    """QueryFailed, with the sentence that helps, for whatever Spark raises in the block."""
    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise QueryFailed(sentence_of(error)) from error


@contextmanager
def java_in_one_sentence() -> Iterator[None]:
    """The same for errors that are only a stack of Java's; those of PySpark stay what they are."""
    try:
        yield
    except Py4JError as error:
        raise QueryFailed(sentence_of(error)) from None


@contextmanager
def errors_of_workers() -> Iterator[None]:
    """What Sash raised in a worker because of the data, by the type that it has in this process."""
    try:
        yield
    except PySparkException as error:
        found = _OURS.search(str(error))
        kind = getattr(errors, found[1], None) if found else None
        if found is None or kind is None or not issubclass(kind, errors.DataError):
            raise
        raise kind(_plain(found[2])) from None  # it has the line of the user's function


def require_well(queries: Iterable[Any]) -> None:
    """QueryFailed once one of these streaming queries has ended with an error."""
    for query in queries:
        error = query.exception()
        if error is not None:
            words = sentence_of(error, places=getattr(query, "places", ()))
            raise QueryFailed(words) from error


def _innermost(text: str) -> str:
    """The last line of the last Python traceback; where that called Java, or there is none, the last of
    Java's causes. Empty without either.

    >>> _innermost("An error occurred while calling o1.save.\\n: x.A: a\\nCaused by: x.B: b c\\n\\tat y")
    'b c'
    """
    tracebacks = list(_TRACEBACK.finditer(text))
    line = ""
    if tracebacks:
        line, text = tracebacks[-1][1], text[tracebacks[-1].end() :]
        if not _CALLED_JAVA.match(line):
            return line
    causes = list(_JAVA.finditer(text))
    if not causes:
        return line
    kind, message = causes[-1].groups()
    # One word alone, such as the name of a class, means nothing without the kind of the error.
    return message if kind is None or " " in message.strip() else f"{kind.rpartition('.')[2]}: {message}"


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
