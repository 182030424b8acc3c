"""A store of a query that runs: what is shown of a namespace is one of its states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sash.errors import CorruptValue, StoreError
from sash.runtimes.spark.inspection.elastic_state import OpenedStores
from sash.stores import Files


def advanced(store: Files, epochs: int = 1) -> None:
    for epoch in range(store.epoch + 1, store.epoch + 1 + epochs):
        store.put_many({b"a": b"%d" % epoch, b"b": b"%d" % epoch})
        store.commit(epoch)


class Watched(Files):
    """A handle of somebody who looks, and sees others at work between listing and reading."""

    meanwhile: Callable[[], None]

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.meanwhile()
        return super().get_many(keys)

    def _read(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._adopt()
        places = dict(self._state.places)
        self.meanwhile()
        return [self._value(key, places[key.hex()]) for key in keys]


def looking(folder: Path, meanwhile: Callable[[], None]) -> OpenedStores:
    def opened(name: str) -> Watched:
        store = Watched(folder, namespace=name)
        store.meanwhile = meanwhile
        return store

    return OpenedStores(["default"], opened)


@pytest.mark.parametrize("calls", [1, 2, 5])
def test_a_namespace_that_moves_on_while_it_is_read_is_read_again(tmp_path: Path, calls: int) -> None:
    store, left = Files(tmp_path), [None] * calls
    advanced(store)

    def commit() -> None:
        if left:
            left.pop()
            advanced(store, 3)

    view = looking(tmp_path, commit)
    last = b"%d" % (3 * calls)
    assert list(view.items("default")) == [(b"a", last), (b"b", last)]
    (namespace,) = view.namespaces()
    assert (namespace.committed, namespace.keys) == (store.committed, 2)


def test_data_that_is_gone_without_a_commit_is_damage(tmp_path: Path) -> None:
    advanced(Files(tmp_path))
    for data in (tmp_path / "default").glob("*.data"):
        data.unlink()
    with pytest.raises(CorruptValue, match="is missing"):
        list(looking(tmp_path, lambda: None).items("default"))


def test_a_namespace_that_never_stands_still_is_given_up_in_a_sentence(tmp_path: Path) -> None:
    store = Files(tmp_path)
    advanced(store)
    with pytest.raises(StoreError, match="default was committed again during each of 20 tries to read it"):
        list(looking(tmp_path, lambda: advanced(store, 3)).items("default"))
