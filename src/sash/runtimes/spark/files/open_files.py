"""Files as Spark names them, opened without Spark.

    path  =  [scheme:[//authority]]/folder/…/name=value/…/file               as it is, never percent-encoded

Spark knows file systems through Hadoop and Python through pyarrow; what both know can be read here. A
folder that is called name=value is a partition, as in Hive: its column is in the path, not in the files.
"""

from __future__ import annotations

import re
from functools import cache
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from sash.errors import Unsupported

_PATH = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/]*))?(?P<path>/.*|$)", re.S)
_ALIASES = {"s3a": "s3", "s3n": "s3", "abfss": "abfs"}
"""Schemes that only Hadoop knows, and pyarrow's word for them."""

_NULL = "__HIVE_DEFAULT_PARTITION__"


def open_file(path: str) -> pa.NativeFile:
    """A file, to be read from any position. OSError when it cannot be; Unsupported when nobody could."""
    file_system, inside = located(path)
    return file_system.open_input_file(inside)


def located(path: str) -> tuple[fs.FileSystem, str]:
    """The file system that a path is on, and where it is there.

    >>> located("file:/tmp/a b%20c.parquet")[1]
    '/tmp/a b%20c.parquet'
    """
    parts = _PATH.match(path)
    if parts is None or parts["scheme"].lower() == "file":
        return fs.LocalFileSystem(), path if parts is None else parts["path"]
    try:
        file_system, root = _mounted(parts["scheme"].lower(), parts["authority"] or "")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise Unsupported(
            "path", path, "on a file system that pyarrow can open: local, s3, gs, abfs or hdfs",
            hint=f"pyarrow's error: {error}. Spark itself may be able to: spark.readStream.parquet(path).",
        ) from error  # fmt: skip
    return file_system, root.rstrip("/") + parts["path"]


@cache
def _mounted(scheme: str, authority: str) -> tuple[fs.FileSystem, str]:
    # Without the path: pyarrow wants URIs percent-encoded, Spark gives paths as they are.
    opened: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(
        f"{_ALIASES.get(scheme, scheme)}://{authority}/"
    )
    return opened


def partition_values(path: str) -> dict[str, str | None]:
    """The columns that the folders of a path stand for.

    >>> partition_values("file:/trades/day=2026-01-05/venue=a%2Fb/0.parquet")
    {'day': '2026-01-05', 'venue': 'a/b'}
    """
    folders = (folder.partition("=") for folder in path.split("/")[:-1] if "=" in folder[1:])
    return {unquote(name): None if value == _NULL else unquote(value) for name, _, value in folders}
