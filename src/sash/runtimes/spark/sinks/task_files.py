"""Files of a folder that the tasks of a step write themselves, while they have the rows at hand.

    <path>/batch=7/3f2a…/part-00001-812.parquet     of task 1, in its attempt 812

So the rows of any number of folders leave in the job of the step, where Spark needs a job for each. Nothing
of it counts before the driver has written the manifest (see `manifests`): what an attempt has left that
failed is removed by the driver when it lists the folder.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from sash.disk_space import room_for
from sash.runtimes.spark.files.open_files import located

CODECS = {"snappy", "gzip", "zstd", "none"}


def codec_of(setting: str) -> str | None:
    """Spark's word for a compression as pyarrow's; None where that has none."""
    name = {"uncompressed": "none"}.get(setting.lower(), setting.lower())
    return name if name in CODECS else None


def as_spark_writes(schema: pa.Schema) -> bool:
    """Whether Spark reads all columns with the types that it would have written."""
    return not any(_needs_spark(field.type) for field in schema)


def _needs_spark(type_: pa.DataType) -> bool:
    if pa.types.is_duration(type_) or pa.types.is_time(type_):
        return True
    return any(_needs_spark(type_.field(number).type) for number in range(type_.num_fields))


@dataclass(frozen=True)
class WrittenFile:
    """A file that a task has written."""

    name: str
    size: int
    rows: int


@dataclass(frozen=True)
class TaskFiles:
    """Where one execution of a batch writes the rows of an output. Travels to executors."""

    path: str
    folder: str
    execution: str
    codec: str = "snappy"

    @property
    def place(self) -> str:
        """Below the path."""
        return f"{self.folder}/{self.execution}"

    def begin(self, name: str, schema: pa.Schema) -> TaskFile:
        return TaskFile(
            f"{self.path}/{self.place}", f"part-{name}.{self.codec}.parquet", schema, self.codec
        )


@dataclass
class TaskFile:
    """The file of one task, which is there once there are rows."""

    place: str
    name: str
    schema: pa.Schema
    codec: str
    _stream: pa.NativeFile | None = field(default=None, init=False)
    _writer: pq.ParquetWriter | None = field(default=None, init=False)
    _rows: int = field(default=0, init=False)

    def write(self, rows: pa.Table) -> None:
        with room_for(f"the file {self.name}", self.place):
            if self._writer is None:
                self._begin()
            assert self._writer is not None
            self._writer.write_table(rows)
        self._rows += rows.num_rows

    def _begin(self) -> None:
        system, folder = located(self.place)
        if isinstance(system, fs.LocalFileSystem) or system.type_name not in ("s3", "gcs", "abfs"):
            system.create_dir(folder, recursive=True)  # an object store has no folders
        self._stream = system.open_output_stream(f"{folder}/{self.name}")
        self._writer = pq.ParquetWriter(self._stream, self.schema, compression=self.codec)

    def close(self) -> WrittenFile | None:
        """What was written; None where there were no rows."""
        if self._writer is None or self._stream is None:
            return None
        with room_for(f"the file {self.name}", self.place):
            self._writer.close()
            size = self._stream.tell()
            self._stream.close()
        return WrittenFile(self.name, size, self._rows)
