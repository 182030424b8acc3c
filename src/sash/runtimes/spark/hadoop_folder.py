"""Small files wherever Spark keeps files: manifests and journals in a folder that every driver can open.

The classes of Hadoop are public; how the session's JVM is reached is in `compat.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

from pyspark.sql import SparkSession

from sash.disk_space import REASONS, no_space
from sash.errors import CorruptValue
from sash.runtimes.folder_paths import resolved
from sash.runtimes.spark.compat import hadoop_settings, jvm_of


class HadoopFolder:
    """A folder on a file system that Spark reaches: this machine's, HDFS, an object store."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        jvm = jvm_of(spark)
        self._path_of, self._bytes_of = jvm.org.apache.hadoop.fs.Path, jvm.org.apache.commons.io.IOUtils
        self._path = self._path_of(path)
        self._files = self._path.getFileSystem(hadoop_settings(spark))

    @property
    def url(self) -> str:
        """Where it is, whatever file system Spark takes for its own: hdfs://…/out, file:/home/…/out."""
        return str(self._files.makeQualified(self._path).toString())

    def within(self, path: str) -> HadoopFolder:
        """A folder below this one, on the same file system."""
        other = copy(self)
        other._path = self._path_of(self._path, path)
        return other

    def read(self, name: str) -> bytes | None:
        """The content of a file; None when there is none of this name, CorruptValue when it does not
        fit the checksum that Hadoop keeps of it."""
        from py4j.protocol import Py4JJavaError

        path = self._path_of(self._path, name)
        if not self._files.exists(path):
            return None  # to catch an exception of the JVM takes a hundred times as long
        try:
            stream = self._files.open(path)
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "FileNotFoundException":
                raise
            return None
        try:
            return bytes(self._bytes_of.toByteArray(stream))
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "ChecksumException":
                raise
            raise CorruptValue(f"the file {path.toString()} is damaged") from error
        finally:
            stream.close()

    def write(self, name: str, data: bytes) -> None:
        """A file, in place of one that may be there; NoSpace when the disk has no room for it."""
        with self._room_for(name):
            self._fill(self._files.create(self._path_of(self._path, name), True), data)

    def create(self, name: str, data: bytes) -> bool:
        """A file, unless there is one of this name: then nothing changes, and False is returned."""
        from py4j.protocol import Py4JJavaError

        with self._room_for(name):
            try:
                stream = self._files.create(self._path_of(self._path, name), False)
            except Py4JJavaError as error:
                if error.java_exception.getClass().getSimpleName() != "FileAlreadyExistsException":
                    raise
                return False
            self._fill(stream, data)
        return True

    def rename(self, name: str, other: str) -> bool:
        """Give a file another name in one step; False when it has not got it: the name may be taken, or the
        file be gone."""
        from py4j.protocol import Py4JJavaError

        try:
            return bool(
                self._files.rename(self._path_of(self._path, name), self._path_of(self._path, other))
            )
        except Py4JJavaError as error:
            if error.java_exception.getClass().getSimpleName() != "FileNotFoundException":
                raise
            return False

    def _fill(self, stream: Any, data: bytes) -> None:
        try:
            stream.write(bytearray(data))
        finally:
            stream.close()

    @contextmanager
    def _room_for(self, name: str) -> Iterator[None]:
        from py4j.protocol import Py4JJavaError

        try:
            yield
        except Py4JJavaError as error:
            reason = next((each for each in REASONS if each in str(error)), None)
            if reason is None:
                raise
            raise no_space(f"the file {name}", resolved(self._path.toString()), reason) from error

    def names(self) -> list[str]:
        """Of the files and folders in it, without those that are hidden; none when there is no folder."""
        if not self._files.exists(self._path):
            return []
        every = (one.getPath().getName() for one in self._files.listStatus(self._path))
        return [name for name in every if not name.startswith(".")]

    def make(self) -> bool:
        """Whether the folder is there now."""
        from py4j.protocol import Py4JError

        try:
            return bool(self._files.mkdirs(self._path))
        except Py4JError:
            return False

    def exists(self) -> bool:
        return bool(self._files.exists(self._path))

    def sizes(self) -> dict[str, int]:
        """The files in the folder, by name; none when there is no folder."""
        if not self._files.exists(self._path):
            return {}
        every = self._files.listStatus(self._path)
        return {one.getPath().getName(): int(one.getLen()) for one in every if one.isFile()}

    def remove(self, name: str | None = None) -> None:
        """A file or a folder in it; without a name, the folder itself. What is in a folder goes with it."""
        self._files.delete(self._path if name is None else self._path_of(self._path, name), True)
