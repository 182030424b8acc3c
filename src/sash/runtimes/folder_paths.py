"""A folder under one name, however its path is written."""

from __future__ import annotations

from os.path import realpath
from posixpath import normpath


def resolved(path: str) -> str:
    """Without detours and links, absolute on this machine.

    >>> resolved("s3a://bucket/a/../out/"), resolved("file:///no/./where")
    ('s3a://bucket/out', '/no/where')
    """
    scheme, separator, rest = path.partition("://")
    if separator and scheme != "file":
        return f"{scheme}://{normpath(rest)}"
    local = path.removeprefix("file:")
    return realpath(local if local == path else f"/{local.lstrip('/')}")
