"""Manifests of a folder that are put together, so that a folder of many batches has few of them.

    _sash/runs/1-7      those of batches 7 · 128 … 8 · 128 − 1         (FAN = 128)
    _sash/runs/2-0      those of runs 1-0 … 1-127; there are two LEVELS

A run holds all manifests of its batches, and its name has which these are. It is written under another
name and renamed, so that it is there as a whole or not at all; what it was made of is removed after that.
A crash between any two steps leaves manifests twice, which are the same. A driver that was taken for dead
may do the same work at the same time: it looks whether the run is there after it has read the parts, since
parts are missing only when it is. The last batches are left alone, for those who look at each as it comes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from uuid import uuid4

from sash.aggregation.stores.values import reading, require_layout, seal, unseal
from sash.errors import CorruptValue
from sash.runtimes.spark.hadoop_folder import HadoopFolder
from sash.runtimes.spark.sinks.protocol import BATCH

FAN, LEVELS = 128, 2
LAYOUT = 1
"""Of manifests and of runs of them. The first that were written do not have it."""
AT_ONCE = 2
"""Runs of single manifests that one batch makes: a folder of an older layout may have many."""


@dataclass(frozen=True)
class Manifest:
    """A batch that is done."""

    batch: int
    rows: int
    writer: str
    """Which query."""
    execution: str
    """The folder of its files, below that of the batch."""
    files: dict[str, int]
    """Sizes in bytes by name."""

    @property
    def folder(self) -> str:
        return f"{folder_of(self.batch)}/{self.execution}"


def folder_of(batch: int) -> str:
    """Spark's readers make a column of it."""
    return f"{BATCH}={batch}"


ManifestOfBatch = dict[int, Manifest]
"""By batch."""


class Moved(Exception):
    """What was listed is in a run meanwhile: look again."""


class ManifestRuns:
    """Those of one folder."""

    def __init__(self, files: HadoopFolder) -> None:
        self._files = files

    def find(self, batch: int) -> Manifest | None:
        """By the names of the runs that may have it: a query looks with each batch, in a folder that grows
        as long as it runs, so nothing is listed. The lowest level first: what leaves one is in the next."""
        for level in range(1, LEVELS + 1):
            found = self._read(_run(level, batch // FAN**level))
            if found is not None and batch in found:
                return found[batch]
        return None

    def every(self, since: int = 0) -> ManifestOfBatch:
        """The manifests of this batch and of those after it; Moved when the runs have changed meanwhile."""
        every: ManifestOfBatch = {}
        for level, index in self._listed():
            if _end(level, index) <= since:
                continue
            found = self._read(_run(level, index))
            if found is None:
                raise Moved
            every |= found
        return {batch: one for batch, one in every.items() if batch >= since}

    def newest(self) -> Manifest | None:
        level, index = max(self._listed(), key=lambda run: _end(*run), default=(0, 0))
        found = self._read(_run(level, index)) if level else None
        return found[max(found)] if found else None

    def put_together(
        self, singles: Mapping[int, str], newest: int,
        *, read: Callable[[int], Manifest | None], remove: Callable[[str], None],
    ) -> bool:  # fmt: skip
        """`singles`: the names of manifests by batch, which `read` reads and `remove` removes. Returns
        whether there is nothing left to do."""
        for name in self._files.sizes():
            if name.startswith("."):  # a crash has left it
                self._files.remove(name)
        # Runs below this one have all of their batches, and none of the last FAN.
        end = newest // FAN - 1
        old = sorted({batch // FAN for batch in singles if batch // FAN < end})
        for index in old[:AT_ONCE]:
            batches = [batch for batch in sorted(singles) if batch // FAN == index]
            parts = {singles[batch]: batch for batch in batches}
            self._make(1, index, parts, lambda batch: _of([read(batch)]), remove)
        for level in range(1, LEVELS):
            below = sorted(index for found, index in self._listed() if found == level)
            for index in sorted({each // FAN for each in below if each // FAN < below[-1] // FAN}):
                runs = {_run(level, each): each for each in below if each // FAN == index}
                self._make(level + 1, index, runs, partial(self._read_of, level), self._files.remove)
        return len(old) <= AT_ONCE

    def _make(
        self, level: int, index: int, parts: Mapping[str, int],
        read: Callable[[int], ManifestOfBatch | None], remove: Callable[[str], None],
    ) -> None:  # fmt: skip
        """A run of these parts, unless there is one; then the parts go."""
        name, contents = _run(level, index), dict[str, ManifestOfBatch]()
        for part, number in parts.items():
            try:
                contents[part] = read(number) or {}
            except CorruptValue:
                return  # left as it is, for readers to refuse
        # After the parts were read: if one of them was gone, the run is there.
        made = self._covering(level, index)
        if made is None:
            made = {batch: one for found in contents.values() for batch, one in found.items()}
            temporary = f".{name}-{uuid4().hex}"
            self._files.write(temporary, _sealed(name, made.values()))
            if not self._files.rename(temporary, name):
                self._files.remove(temporary)
                return
        for part, found in contents.items():
            if found and found.keys() <= made.keys():
                remove(part)

    def _covering(self, level: int, index: int) -> ManifestOfBatch | None:
        """What is in the run, or in one of a higher level that has its batches; None when there is none."""
        for higher in range(level, LEVELS + 1):
            found = self._read(_run(higher, index // FAN ** (higher - level)))
            if found is not None:
                return found
        return None

    def _listed(self) -> list[tuple[int, int]]:
        """Level and index, the lowest level first: what leaves one is in the next."""
        pairs = (name.partition("-") for name in self._files.names() if name[:1].isdecimal())
        return sorted((int(level), int(index)) for level, _, index in pairs if index.isdecimal())

    def _read_of(self, level: int, index: int) -> ManifestOfBatch | None:
        return self._read(_run(level, index))

    def _read(self, name: str) -> ManifestOfBatch | None:
        data = self._files.read(name)
        if data is None:
            return None
        return manifests_in(name, data)


def manifests_in(name: str, data: bytes) -> ManifestOfBatch:
    """The manifests of a run; CorruptValue if these bytes are none."""
    what = f"the run of manifests {name}"
    with reading(what):
        content = json.loads(bytes(unseal(name.encode(), data)))
        if isinstance(content, list):
            content = {"layout": 1, "manifests": content}
        require_layout(what, content["layout"], LAYOUT)
        return _of(Manifest(**one) for one in content["manifests"])


def _run(level: int, index: int) -> str:
    return f"{level}-{index}"


def _end(level: int, index: int) -> int:
    """The first batch after those of the run."""
    return int((index + 1) * FAN**level)


def _of(manifests: Iterable[Manifest | None]) -> ManifestOfBatch:
    return {one.batch: one for one in manifests if one is not None}


def _sealed(name: str, manifests: Iterable[Manifest]) -> bytes:
    content = {"layout": LAYOUT, "manifests": [asdict(one) for one in manifests]}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return seal(name.encode(), text.encode())
