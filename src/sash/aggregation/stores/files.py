"""A store of files on any file system that Arrow opens: a local disk, HDFS, an object store.

    <path>/<namespace>/<epoch>-<random>.data    the values that an epoch has written, one after the other
    <path>/<namespace>/<epoch>.state            its manifest: where the value of every key lies
    <path>/<namespace>/<token>.fence            whoever has a lesser token is too late

A commit writes the data, then the manifest, and renames nothing. An object store has a file as a whole or
not at all; elsewhere a crash may cut a manifest short, which its checksum shows. So an epoch is committed
or it is not. Taking an epoch back removes its manifest and writes nothing: a whole manifest stays as it is.
The manifests that are there are the states to go back to, so a manifest is removed before its data. Data is
removed when neither of the two states that are remembered needs it.

On a local disk this outlives processes, not the power: like Spark's own checkpoints there, files are not
forced to the disk. LMDB's are.

The fence is looked at right before a manifest is written or removed. File systems cannot do both in one
step: an old attempt that stands still just between the two is not stopped.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyarrow import fs

from sash.aggregation.stores.epoch_store import FRESH, Committed, Delta, EpochStore, followed_by
from sash.aggregation.stores.protocol import check_namespace
from sash.aggregation.stores.values import reading, require_frame, require_layout, seal, unseal
from sash.disk_space import room_for
from sash.errors import CorruptValue

_STATE, _DATA, _FENCE = ".state", ".data", ".fence"
LAYOUT = 1
"""Of a manifest; the first ones do not have it."""
_OWN = re.compile(r"\d+(\.state|\.fence|-[0-9a-f]+\.data)")


@dataclass(frozen=True)
class _State:
    """What a manifest has: the committed epoch, and where values lie."""

    epoch: int = FRESH.epoch
    places: Mapping[str, tuple[str, int, int]] = field(default_factory=dict)
    """By key, in hexadecimal: the file, where the value begins, and its length."""

    @property
    def files(self) -> set[str]:
        return {name for name, _, _ in self.places.values()}


class Files(EpochStore):
    """A namespace of the folder `path`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Files(folder) as store:
    ...     store.put_many({b"k": b"1"})
    ...     store.commit(0)
    ...     Files(folder).get_many([b"k"])
    [b'1']
    """

    def __init__(
        self, path: str | os.PathLike[str], *, namespace: str = "default",
        file_system: fs.FileSystem | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        check_namespace(namespace)
        # Absolute, because a handle that travels to another process may find another working directory.
        self.path = str(Path(path).resolve()) if file_system is None else str(path)
        self.namespace, self._given = namespace, file_system
        self._files = fs.LocalFileSystem() if file_system is None else file_system
        self._folder = f"{self.path}/{namespace}"
        self._replaces: int | None = None
        """An epoch that is committed, and that the next commit takes the place of."""
        self._epoch = self._committed().epoch

    def _committed(self) -> Committed:
        epochs = sorted(self._numbers(_STATE))
        for epoch in reversed(epochs):
            found = self._manifest(epoch)
            if found is not None:
                # Kept: this handle may have the first try of an epoch that was executed again elsewhere.
                self._state = found
                # The empty state before epoch 0 needs no manifest.
                return Committed(epoch, epoch - 1 if epoch - 1 in (FRESH.epoch, *epochs) else epoch)
        if epochs != sorted(self._numbers(_STATE)):
            # Others have committed since, and removed what was listed.
            return self._committed()
        if any(epochs) and any(name.endswith(_DATA) for name in self._names()):
            # A commit that was cut short leaves the manifest before it, which only epoch 0 does not have.
            # Without any data it is a `restart` that was cut short, or there was nothing to lose.
            raise CorruptValue(
                f"{self._folder} has no whole manifest: epochs {', '.join(map(str, epochs))} are damaged"
            )
        self._state = _State()
        return FRESH

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._adopt()
        places = self._state.places
        return [self._value(key, places[key.hex()]) if key.hex() in places else None for key in keys]

    def _base_keys(self, prefix: bytes) -> list[bytes]:
        self._adopt()
        return [key for name in self._state.places if (key := bytes.fromhex(name)).startswith(prefix)]

    def _write(self, epoch: int, delta: Delta) -> None:
        replaces = self._replaces == epoch
        if not replaces and not followed_by(self._committed(), epoch):
            return
        before = self._whole(epoch - 1) if replaces else self._state
        places = {name: place for name, place in before.places.items() if bytes.fromhex(name) not in delta}
        name, content, at = f"{epoch}-{uuid4().hex}{_DATA}", [], 0
        for key, value in delta.items():
            if value is not None:
                sealed = seal(key, value)
                content.append(sealed)
                places[key.hex()] = name, at, len(sealed)
                at += len(sealed)
        self._make_folder()
        if content:
            self._put(name, b"".join(content))
        self.on_step("data")
        self._require_inside(self._fence())
        self._state = _State(epoch, places)
        self._put_state(self._state)
        self._replaces = None
        self.on_step("manifest")
        self._clean(before, self._state)

    def _revert(self, epoch: int) -> None:
        before = self._whole(epoch - 1)
        self.on_step("state before read")
        self._require_inside(self._fence())
        # The newest first. Later ones were cut short; they must not be all that is left.
        for later in sorted(self._numbers(_STATE), reverse=True):
            if later >= epoch:
                self._files.delete_file(f"{self._folder}/{later}{_STATE}")
                self.on_step("manifest removed")
        self._state = before

    def rollback(self, epoch: int) -> None:
        self._replaces = None
        super().rollback(epoch)

    def replace_after(self, epoch: int) -> None:
        """The manifest of the epoch after it stays until another one takes its place."""
        self._require_open()
        committed = self._committed()
        if committed.epoch != epoch + 1 or committed.oldest > epoch:
            self.rollback(epoch)
            return
        self._require_inside(self._fence())
        self._state, self._epoch, self._delta = self._whole(epoch), epoch, {}
        self._replaces = epoch + 1

    def restart(self, epoch: int) -> None:
        """Empty, as at the end of this epoch, whatever was there: for a namespace that begins, or begins
        again, while others are at that epoch."""
        self._require_open()
        self._require_inside(self._fence())
        # Manifests first: what is left of a restart that breaks off has all of its data.
        for name in sorted(self._names(), key=lambda name: not name.endswith(_STATE)):
            if not name.endswith(_FENCE):
                self._remove(name)
        self._state, self._epoch, self._delta, self._replaces = _State(), epoch, {}, None
        if epoch != FRESH.epoch:
            self._make_folder()
            self._state = _State(epoch)
            self._put_state(self._state)

    def _put_up(self, token: int | None) -> int:
        fence = self._fence()
        chosen = fence + 1 if token is None else token
        self._require_inside(fence, chosen)
        self._make_folder()
        self._put(f"{chosen}{_FENCE}", b"")
        for older in self._numbers(_FENCE):
            if older < chosen:
                self._remove(f"{older}{_FENCE}")
        return chosen

    def _fence(self) -> int:
        return max(self._numbers(_FENCE), default=0)

    def _release(self) -> None:
        self._state = _State()

    def _reopen(self) -> tuple[Any, ...]:
        return partial(Files, namespace=self.namespace, file_system=self._given), (self.path,)

    # Files

    def _adopt(self) -> None:
        """The manifest of the epoch that this handle is at, if it is still the newest."""
        mine, next_ = (f"{self._folder}/{number}{_STATE}" for number in (self._epoch, self._epoch + 1))
        there, moved_on = (
            info.type != fs.FileType.NotFound for info in self._files.get_file_info([mine, next_])
        )
        if (moved_on or not there) and self._replaces != self._epoch + 1:
            self._require_epoch(self._committed().epoch)
        if self._state.epoch != self._epoch:
            self._state = self._whole(self._epoch)

    def _names(self) -> list[str]:
        """Of our files: backup tools, and NFS for what is removed while it is open, make others."""
        chosen = fs.FileSelector(self._folder, allow_not_found=True)
        found = (info.base_name for info in self._files.get_file_info(chosen))
        return [name for name in found if _OWN.fullmatch(name)]

    def _numbers(self, suffix: str) -> list[int]:
        return [int(name.removesuffix(suffix)) for name in self._names() if name.endswith(suffix)]

    def _whole(self, epoch: int) -> _State:
        """The state of an epoch that was committed, or the empty one before all of them."""
        found = _State() if epoch == FRESH.epoch else self._manifest(epoch)
        if found is None:
            raise CorruptValue(f"{self._folder} has no whole manifest of the state at epoch {epoch}")
        return found

    def _manifest(self, epoch: int) -> _State | None:
        """None where there is none, or only a part of one."""
        try:
            with self._files.open_input_file(f"{self._folder}/{epoch}{_STATE}") as file:
                data = file.read()
            require_frame(f"the manifest of epoch {epoch} in {self._folder}", data)
            sealed = unseal(_name(epoch), data)
        except (FileNotFoundError, CorruptValue):
            return None
        with reading(f"the manifest of epoch {epoch} in {self._folder}"):
            facts = json.loads(bytes(sealed))
            require_layout(
                f"the manifest of epoch {epoch} in {self._folder}", facts.get("layout", 1), LAYOUT
            )
            places = {
                str(key): (_file_name(name), int(at), int(length))
                for key, (name, at, length) in facts["places"].items()
            }
            return _State(int(facts["epoch"]), places)

    def _put_state(self, state: _State) -> None:
        data = json.dumps({"layout": LAYOUT} | asdict(state), separators=(",", ":")).encode()
        self._put(f"{state.epoch}{_STATE}", seal(_name(state.epoch), data))

    def _make_folder(self) -> None:
        with self._room_for("a folder"):
            self._files.create_dir(self._folder, recursive=True)

    def _put(self, name: str, data: bytes) -> None:
        path = f"{self._folder}/{name}"
        with self._room_for(f"the {len(data):,} bytes of {name}"):
            try:
                with self._files.open_output_stream(path) as file:
                    file.write(data)
            except OSError:
                # A part of it takes room from the next try. Other names are not of this try alone.
                if name.endswith(_DATA):
                    with suppress(OSError):
                        self._files.delete_file(path)
                raise

    def _remove(self, name: str) -> None:
        with suppress(FileNotFoundError):  # another attempt has removed it just now
            self._files.delete_file(f"{self._folder}/{name}")

    def _room_for(self, what: str) -> AbstractContextManager[None]:
        scheme = "" if self._given is None else f"{self._given.type_name}://"
        return room_for(what, scheme + self._folder)

    def _value(self, key: bytes, place: tuple[str, int, int]) -> bytes:
        name, at, length = place
        try:
            opened = self._files.open_input_file(f"{self._folder}/{name}")
        except FileNotFoundError:
            raise CorruptValue(f"{name} is missing in {self._folder}") from None
        with opened as file:
            if not 0 <= at <= at + length <= file.size():
                raise CorruptValue(f"{name} in {self._folder} does not have {length} bytes from {at} on")
            return bytes(unseal(key, file.read_at(length, at)))

    def _clean(self, before: _State, after: _State) -> None:
        """Remove what neither state needs. Data of these epochs stays: another try may be writing it."""
        needed = before.files | after.files
        # Manifests first: what a kill leaves of them has all of its data.
        for name in sorted(self._names(), key=lambda name: not name.endswith(_STATE)):
            if name.endswith(_FENCE) or name in needed:
                continue
            if int(name.partition("-")[0].removesuffix(_STATE)) < before.epoch:
                self._remove(name)
                self.on_step("file removed")


def stores_in(path: str, file_system: fs.FileSystem) -> list[str]:
    """The namespaces in a folder; nothing is made there."""

    def inside(folder: str) -> list[fs.FileInfo]:
        found: list[fs.FileInfo] = file_system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return found

    folders = (info for info in inside(path) if info.type == fs.FileType.Directory)
    return sorted(f.base_name for f in folders if any(_OWN.fullmatch(i.base_name) for i in inside(f.path)))


def _file_name(given: str) -> str:
    """A name, and no path to somewhere else."""
    if "/" in given:
        raise ValueError(f"{given!r} is not the name of a file")
    return given


def _name(epoch: int) -> bytes:
    return b"state at epoch %d" % epoch
