"""Which batches of a folder are published: a manifest for each, written after all of its files.

    <path>/batch=7/part-….parquet     the rows of batch 7
    <path>/_sash/7                    its manifest: their files with sizes, and a checksum

A manifest is one small file. An object store has it as a whole or not at all; elsewhere a crash may cut it
short, which its checksum tells. So a batch is done or not done. One that is not done is written again, over
whatever there is of it. Names that begin with an underscore are hidden from readers of files.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import SparkSession

from sash.aggregation.stores.values import seal, unseal
from sash.errors import CorruptValue
from sash.runtimes.spark.compat import HadoopFolder
from sash.runtimes.spark.sinks.protocol import BATCH

FOLDER = "_sash"


@dataclass(frozen=True)
class Manifest:
    """A batch that is done."""

    batch: int
    rows: int
    files: dict[str, int]
    """Sizes in bytes by name, below the folder of the batch."""

    @property
    def folder(self) -> str:
        return folder_of(self.batch)


def folder_of(batch: int) -> str:
    """Spark's readers make a column of it."""
    return f"{BATCH}={batch}"


class Manifests:
    """Those of one folder."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._files = HadoopFolder(spark, f"{path}/{FOLDER}")

    def read(self, batch: int) -> Manifest | None:
        """None for a batch that is not done."""
        try:
            data = self._files.read(str(batch))
            return None if data is None else Manifest(**_facts(batch, data))
        except CorruptValue:
            return None

    def write(self, manifest: Manifest) -> None:
        data = json.dumps(asdict(manifest), sort_keys=True).encode()
        self._files.write(str(manifest.batch), seal(_name(manifest.batch), data))

    def published(self) -> list[Manifest]:
        """All that are done, in order."""
        numbers = sorted(int(name) for name in self._files.sizes() if name.isdecimal())
        return [found for number in numbers if (found := self.read(number)) is not None]


def _facts(batch: int, data: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bytes(unseal(_name(batch), data)))
    return found


def _name(batch: int) -> bytes:
    return b"batch %d of a folder" % batch
