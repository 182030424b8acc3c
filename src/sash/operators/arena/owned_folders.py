"""Temporary folders that name their process, so that `sash doctor --clean` finds them after a kill."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sash.operators.arena.owners import this_owner

OWNER = "owner"
"""The file with the owner, as `owners.is_gone` reads it."""


@contextmanager
def owned_folder(prefix: str, *, inside: Path | None = None) -> Iterator[Path]:
    """A new folder, which goes at the end; in the temporary one unless told otherwise."""
    with (
        tempfile.TemporaryDirectory(prefix=prefix, dir=inside, ignore_cleanup_errors=True) as name,
        owning(Path(name)),
    ):
        yield Path(name)


@contextmanager
def owning(folder: Path) -> Iterator[None]:
    """Until the end, which takes the owner away: what is there then may stay. Failures leave the owner."""
    file = folder / OWNER
    file.write_text(this_owner())
    yield
    with suppress(OSError):
        file.unlink()
