"""The head of an arena: one small file that decides whether the tables next to it can be trusted.

    magic 8 | dirty 8 | digest 16 | layout 8 | identity 32 | boot 16 | version 16 | directory's length 8
    | numbers 2048 | directory (JSON) | zeros up to 8192

The digest covers all that follows it. The dirty flag lies before it, so that `begin` writes one byte. Pages
that were changed but not written are lost when a machine crashes, so a head is trusted only in the boot
that wrote it.
"""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import uuid
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sash.errors import ArgumentError

MAGIC = b"SASHAREN"
LAYOUT = 1
SIZE = 8192
NUMBERS = 256
DIRTY_AT = 8
CLEAN, DIRTY = bytes(8), b"\1"

_START = struct.Struct("<8s8s16s")
_BODY = struct.Struct("<Q32s16s16sQ")
_DIGESTED = _START.size


@dataclass(frozen=True)
class ArenaHead:
    """What a head file holds."""

    identity: bytes
    boot: bytes
    version: bytes
    numbers: bytes
    tables: dict[str, int]
    """The rows of each table."""
    blobs: dict[str, int]
    """The bytes of each blob."""
    owner: str
    dirty: bool

    def pack(self) -> bytes:
        directory = json.dumps([self.tables, self.blobs, self.owner]).encode()
        body = _BODY.pack(LAYOUT, self.identity, self.boot, self.version, len(directory))
        body += self.numbers + directory
        room = SIZE - _DIGESTED - len(body)
        if room < 0:
            raise ArgumentError("tables", len(self.tables), "fewer tables and blobs, or shorter names")
        body += bytes(room)
        return _START.pack(MAGIC, DIRTY if self.dirty else CLEAN, _digest(body)) + body

    @classmethod
    def unpack(cls, data: bytes) -> ArenaHead | None:
        """A head that was written by `pack`, or None if these are other bytes."""
        if len(data) != SIZE:
            return None
        magic, dirty, digest = _START.unpack_from(data)
        body = data[_DIGESTED:]
        if magic != MAGIC or digest != _digest(body):
            return None
        layout, identity, boot, version, length = _BODY.unpack_from(body)
        if layout != LAYOUT:
            return None
        start = _BODY.size + NUMBERS * 8
        tables, blobs, owner = json.loads(body[start : start + length])
        return cls(
            identity=identity,
            boot=boot,
            version=version if any(version) else b"",
            numbers=body[_BODY.size : start],
            tables=tables,
            blobs=blobs,
            owner=owner,
            dirty=dirty != CLEAN,
        )

    def is_usable(self, identity: bytes) -> bool:
        """Whether an arena with this head holds a state of that query that was written to its end."""
        return (
            not self.dirty and bool(self.version) and self.identity == identity and self.boot == this_boot()
        )


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


@cache
def this_boot() -> bytes:
    """16 bytes that are the same in all processes until the machine starts again."""
    try:
        return uuid.UUID(Path("/proc/sys/kernel/random/boot_id").read_text().strip()).bytes
    except (OSError, ValueError):
        pass
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        try:
            found = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout
            return uuid.UUID(found.strip()).bytes
        except (OSError, ValueError, subprocess.SubprocessError):
            pass
    return uuid.uuid4().bytes  # no way to know: what other processes wrote is not trusted
