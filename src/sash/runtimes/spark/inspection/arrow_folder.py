"""A folder on any file system that Arrow opens, only to be read: checkpoints are where a cluster is."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Self, TypeAlias

from pyarrow import fs

from sash.errors import StoreError, Unsupported
from sash.runtimes.spark.files.open_files import located

SparkPath: TypeAlias = str | PathLike[str]
"""A local path, or what Spark calls a folder elsewhere."""


@dataclass(frozen=True)
class ArrowFolder:
    """A place, and its file system."""

    place: str
    path: str
    """On the file system."""
    system: fs.FileSystem

    @classmethod
    def of(cls, place: SparkPath) -> Self:
        """StoreError where pyarrow does not know the file system, or cannot open it."""
        place = fspath(place)
        try:
            system, path = located(place)
        except Unsupported as error:
            raise StoreError(
                f"{place} cannot be opened from here: {error.__cause__}; copy the folder to this machine "
                "(as `hdfs dfs -get` or `aws s3 cp --recursive` do) and give the copy"
            ) from error
        if isinstance(system, fs.LocalFileSystem):
            place = path = str(Path(path))
        return cls(place.rstrip("/") or place, path.rstrip("/") or path, system)

    @property
    def local(self) -> Path | None:
        """As a path of this machine, if it is one."""
        return Path(self.path) if isinstance(self.system, fs.LocalFileSystem) else None

    def has_file(self, name: str) -> bool:
        return self._is(fs.FileType.File, f"{self.path}/{name}")

    def has_folder(self, name: str) -> bool:
        return self._is(fs.FileType.Directory, f"{self.path}/{name}")

    @property
    def is_there(self) -> bool:
        return self._is(fs.FileType.Directory, self.path)

    def numbers(self, name: str) -> list[int]:
        """The files of a folder below that are called by a number; none where there is no such folder."""
        found = self.system.get_file_info(fs.FileSelector(f"{self.path}/{name}", allow_not_found=True))
        return [int(info.base_name) for info in found if info.base_name.isdecimal()]

    def text(self, name: str) -> str:
        with self.system.open_input_file(f"{self.path}/{name}") as file:
            return bytes(file.read()).decode()

    def _is(self, kind: fs.FileType, path: str) -> bool:
        return bool(self.system.get_file_info(path).type == kind)
