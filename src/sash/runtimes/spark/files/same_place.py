"""Whether Python finds a folder where Spark does: each has settings of its own for what is far away."""

from __future__ import annotations

from contextlib import suppress
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs

from sash.errors import Unsupported
from sash.runtimes.spark.files.open_files import located
from sash.runtimes.spark.hadoop_folder import HadoopFolder


def same_place(folder: HadoopFolder) -> bool:
    """A local path is the same to both. Elsewhere Spark writes a file that Python must be able to read."""
    try:
        system, path = located(folder.url)
        if isinstance(system, fs.LocalFileSystem):
            return True
        name, token = f"_sash_probe_{uuid4().hex}", uuid4().bytes
        folder.write(name, token)
        try:
            with system.open_input_file(f"{path}/{name}") as file:
                return bytes(file.read()) == token
        finally:
            with suppress(Exception):
                folder.remove(name)
    except (OSError, Unsupported, pa.ArrowException):
        return False
