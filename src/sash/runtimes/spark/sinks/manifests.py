"""Which batches of a folder are published: a manifest for each, written after all of its files.

    <path>/batch=7/3f2a…/part-….parquet     what one execution of batch 7 has written
    <path>/_sash/7                          its manifest: the query, that execution, its files with sizes
    <path>/_sash/runs/…                     manifests of older batches, put together: see `manifest_runs`
    <path>/_sash/writer                     the query whose batches are in the folder

A manifest is one small file. An object store has it as a whole or not at all; elsewhere a crash may cut it
short, which its checksum shows. So a batch is done or not done, and one that is not done is executed again.

Each execution writes below a name of its own, and the first to write the manifest wins. An old driver that
was taken for dead, and goes on, therefore touches nothing that is published: it finds the manifest, and
removes what it has written. Names that begin with an underscore are hidden from readers of files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict

from pyspark.sql import SparkSession

from sash.aggregation.stores.values import reading, require_layout, seal, unseal
from sash.errors import CorruptValue, DifferentQuery
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.sinks.manifest_runs import LAYOUT, Manifest, ManifestRuns, Moved, folder_of

__all__ = ["Manifest", "Manifests", "folder_of"]

FOLDER, RUNS = "_sash", "runs"
WRITER = "writer"
LOOKS = 100
"""How often a reader begins again when manifests were put together meanwhile."""
LISTED_AT_ONCE = 16
"""Batches whose files are listed at the same time: an object store takes its time for each."""
BEFORE_AN_ERROR = 1_024
"""Batches that are listed in vain at most when one of them is not whole."""


class Manifests:
    """Those of one folder."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._path = path
        self.root = HadoopFolder(spark, path)
        self._files = self.root.within(FOLDER)
        self._runs = ManifestRuns(self._files.within(RUNS))

    def read(self, batch: int, *, strict: bool = False) -> Manifest | None:
        """None for a batch that is not done. `strict`: one that cannot be read is an error."""
        # In this order, because a manifest is removed after it was put into a run. What is in a run wins:
        # it was published before any other of the batch.
        found = self._single(batch, strict=strict)
        return self._runs.find(batch) or found

    def _single(self, batch: int, *, strict: bool) -> Manifest | None:
        try:
            data = self._files.read(str(batch))
            return None if data is None else opened(batch, data)
        except CorruptValue:
            if strict:
                raise
            return None

    def publish(self, manifest: Manifest) -> bool:
        """False when the batch was published meanwhile, by another execution of it."""
        name = str(manifest.batch)
        content = {"layout": LAYOUT, **asdict(manifest)}
        data = seal(_name(manifest.batch), json.dumps(content, sort_keys=True).encode())
        if not self._files.create(name, data):
            if self._single(manifest.batch, strict=False) is not None:
                return False
            self._files.write(name, data)  # in the place of one that was cut short
        if self._runs.find(manifest.batch) is not None:
            self._files.remove(name)  # of an execution that was taken for dead while others have gone on
            return False
        return True

    def put_together(self, newest: int) -> bool:
        """Put manifests that are older than those of the last batches into runs; whether that is all."""
        return self._runs.put_together(
            {number: str(number) for number in self._numbers()}, newest,
            read=lambda batch: self._single(batch, strict=True), remove=self._files.remove,
        )  # fmt: skip

    def published(self, since: int = 0) -> list[Manifest]:
        """All from this batch on that are done, in order. Only the newest can have been cut short by a
        crash."""
        for _ in range(LOOKS):
            numbers = [number for number in self._numbers() if number >= since]
            singles = {number: self._single(number, strict=number != numbers[-1]) for number in numbers}
            with suppress(Moved):
                # Runs last, and against singles they win: what is in a run was there first.
                every = singles | self._runs.every(since)
                if any(every[number] is None for number in numbers[:-1]):
                    raise Moved
                return [found for _, found in sorted(every.items()) if found is not None]
        raise CorruptValue(f"the manifests of {self._path} are being changed all the time")

    def newest(self) -> Manifest | None:
        """The last that is done."""
        every = (self._single(number, strict=False) for number in reversed(self._numbers()))
        found = next((found for found in every if found is not None), None)
        return self._runs.newest() if found is None else found

    def require_whole(self, found: Sequence[Manifest]) -> None:
        """CorruptValue unless the files of all of them are there as they were published."""
        with ThreadPoolExecutor(LISTED_AT_ONCE) as pool:
            for start in range(0, len(found), BEFORE_AN_ERROR):
                for _ in pool.map(self._require_whole, found[start : start + BEFORE_AN_ERROR]):
                    pass

    def _require_whole(self, manifest: Manifest) -> None:
        sizes = self.root.within(manifest.folder).sizes()
        for name, size in manifest.files.items():
            if sizes.get(name) != size:
                found = f"has {sizes[name]} bytes" if name in sizes else "is missing"
                raise CorruptValue(
                    f"batch {manifest.batch} in {self._path} is not as it was published: "
                    f"{manifest.folder}/{name} {found}, it had {size} bytes"
                )

    def take(self, writer: str) -> None:
        """The folder belongs to this query from now on; DifferentQuery if it has batches of another one.
        That is written down once, so that a query that starts again need not list all of its batches."""
        data = seal(WRITER.encode(), writer.encode())
        with suppress(CorruptValue):  # cut short by a crash
            if self._files.read(WRITER) == data:
                return
        self.require_writer(self.newest(), writer)
        self._files.write(WRITER, data)

    def why_nothing(self) -> str:
        """Why there are no published rows, and what may be meant."""
        if not self.root.exists():
            return "There is no such folder: is it the sink of a query whose first batch is done?"
        if WRITER not in self._files.sizes():
            return "No query has written there: what something else has written is read with spark.read."
        return (
            "A query has begun to write there, and no batch had rows so far: no window has closed yet, or, "
            "in a folder of late rows, no event was late. Look again after the next batch."
        )

    def require_writer(self, manifest: Manifest | None, writer: str) -> None:
        """DifferentQuery if another query has published it."""
        if manifest is not None and manifest.writer != writer:
            raise DifferentQuery(
                f"the folder {self._path} has batches of another query, or of this one with another "
                "checkpoint. Give each query a folder of its own; with a new checkpoint it needs a new "
                "folder too"
            )

    def _numbers(self) -> list[int]:
        return sorted(int(name) for name in self._files.sizes() if name.isdecimal())


def opened(batch: int, data: bytes) -> Manifest:
    """The manifest of a batch; CorruptValue if these bytes are none. The first have no layout."""
    with reading(f"the manifest of batch {batch}"):
        content = json.loads(bytes(unseal(_name(batch), data)))
        require_layout(f"the manifest of batch {batch}", content.pop("layout", 1), LAYOUT)
        return Manifest(**content)


def _name(batch: int) -> bytes:
    return b"batch %d of a folder" % batch
