"""A damaged LMDB file: what can be known of it before its pages are read, and what to do about it.

LMDB maps its file, and checks little of what it finds there. A page behind the end of the file ends the
process by SIGBUS, and a wrong number in a page may end it by SIGSEGV or SIGABRT, where no error can be
caught.

    file     │ meta │ meta │ page │ page │ page │            ┊
             └──────────────── on the disk ─────┘── missing ─┘ last page that the newest meta page knows

A file that is shorter than its meta page has it need not be damaged: LMDB does not write a page that a
transaction has taken and given back, and 3 of 100 commits end so. So the end is put back as a hole: zeros,
which LMDB refuses as a page of the wrong type. Whoever must not write to the file reads it in a process of
its own first.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lmdb

from sash.errors import StoreError

DATA = "data.mdb"
"""The file that makes a folder an LMDB environment."""

WHAT_TO_DO = (
    "the file is damaged: put a copy of the folder in its place, or delete the folder and start with a new "
    "checkpoint"
)
SIGNS = (lmdb.CorruptedError, lmdb.PageNotFoundError, lmdb.BadTxnError, lmdb.PanicError)

SPARE = 64 << 20
"""Bytes that may be missing in a small file; in a larger one, as much as is there."""

_READ_ALL = """
import sys, lmdb
path, *names = sys.argv[1:]
with lmdb.open(path, readonly=True, create=False, max_dbs=len(names)) as environment:
    with environment.begin(buffers=True) as transaction:
        for name in names:
            try:
                database = environment.open_db(name.encode(), transaction, create=False)
            except (lmdb.NotFoundError, lmdb.IncompatibleError):
                continue
            for key, value in transaction.cursor(db=database):
                bytes(value)
"""


def damage_words(error: Exception) -> str:
    """What is added to an error of LMDB."""
    return f"; {WHAT_TO_DO}" if isinstance(error, SIGNS) else ""


def missing_bytes(environment: Any, folder: Path) -> int:
    """How much shorter the file is than its newest meta page has it."""
    size = (int(environment.info()["last_pgno"]) + 1) * int(environment.stat()["psize"])
    return max(0, size - (folder / DATA).stat().st_size)


def complete(environment: Any, folder: Path) -> None:
    """Put a missing end back as a hole; StoreError when too much is missing."""
    if not missing_bytes(environment, folder):
        return
    # Nobody else writes during a transaction that does, and so the file does not grow.
    with environment.begin(write=True):
        missing, size = missing_bytes(environment, folder), (folder / DATA).stat().st_size
        if missing > max(size, SPARE):
            raise StoreError(
                f"the LMDB store at {folder} has {size:,} bytes and lacks {missing:,} more; {WHAT_TO_DO}"
            )
        if missing:
            os.truncate(folder / DATA, size + missing)


def require_readable(folder: Path, *, databases: Sequence[bytes]) -> None:
    """StoreError unless another process can read all that is there, and lives."""
    # -P: a file lmdb.py in the working directory is not LMDB.
    ended = subprocess.run(
        [sys.executable, "-P", "-c", _READ_ALL, str(folder), *(name.decode() for name in databases)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if ended.returncode < 0:
        by = signal.Signals(-ended.returncode).name
        raise StoreError(f"the LMDB store at {folder} ends a process that reads it by {by}; {WHAT_TO_DO}")
    if ended.returncode:
        last = ended.stderr.strip().rpartition("\n")[2]
        raise StoreError(f"the LMDB store at {folder} cannot be read: {last}; {WHAT_TO_DO}")
