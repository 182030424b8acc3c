"""Modules of generated text, kept on disk so that machine code outlives its process.

Numba finds cached machine code by the file, line and time stamp of a function. So each generated text is a
real file, named by the hash of its text and never written twice: a later process (a Spark worker, the
next run) imports the same file and loads the machine code instead of compiling again. The directory is
`$SASH_CACHE_DIR`, else `$XDG_CACHE_HOME/sash`, else `~/.cache/sash`; deleting it costs a compilation,
nothing more. Any number of processes may start at once: a file appears complete or not at all.

A module stays for as long as its process, also when the query that needed it is gone: Numba never unloads
machine code. To drop modules from `sys.modules` frees nothing (with and without, a kernel takes 135 kB that
was found on disk, and 4.4 MB that the process compiled), and the next query of the same kind would load the
same code once more. So what a process holds grows with how many different kernels it has run.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tempfile
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from types import ModuleType

from sash._version import __version__
from sash.errors import ArgumentError

_importing = Lock()


def directory() -> Path:
    """Where generated modules live; created for this user only."""
    chosen = os.environ.get("SASH_CACHE_DIR")
    if chosen:
        if not Path(chosen).is_absolute():
            raise ArgumentError("SASH_CACHE_DIR", chosen, "an absolute path")
        path = Path(chosen)
    else:
        path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sash"
    if not path.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # of several processes, the first one
            path.mkdir(mode=0o700)
    return path


def _warn_of_compiling(path: Path) -> None:
    """One line before the first compilation of these versions of Sash and Numba, by one process."""
    # Printed before, or a folder that cannot be written: then another place warns.
    with suppress(OSError):
        (path / f"compiled-by-sash-{__version__}-numba-{version('numba')}").touch(exist_ok=False)
        if os.environ.get("SASH_PROGRESS") != "0":
            print(
                f"sash: compiling kernels, once for this version, about 10 s; {path} keeps them",
                file=sys.stderr,
            )


def module(text: str) -> ModuleType:
    """The module that `text` defines, imported from its file; OSError when no file can be written."""
    name = "sash_kernel_" + hashlib.sha256(text.encode()).hexdigest()[:32]
    with _importing:
        if name in sys.modules:
            return sys.modules[name]
        path = directory() / f"{name}.py"
        _publish(path, text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        # Numba looks a cached function's module up by name while it rebuilds it.
        sys.modules[name] = loaded
        try:
            spec.loader.exec_module(loaded)
        except BaseException:
            del sys.modules[name]
            raise
        return loaded


def _publish(path: Path, text: str) -> None:
    """Let the file appear with this text. An intact one stays: its time stamp is part of Numba's key."""
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text(encoding="utf-8") == text:
            return
        # Damaged, for example by a full disk. Nobody imports it any more: replace it.
        path.unlink()
    _warn_of_compiling(path.parent)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # A link fails where a rename would replace: the first of several processes wins, and its time
        # stamp stays valid for the machine code that is stored beside it.
        with suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        Path(temporary).unlink()
