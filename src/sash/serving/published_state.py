"""Published features looked into: what a store holds of them, and whether it is whole.

    head, page    has its header; records are in the order of time; bytes of elements lie inside of it
    child         the page of a record is there, and a page that is there has a record
    due entry     is of a key that has a head

Values of aggregates are not looked at. Where an aggregate is a user's own, its records are not either: the
code that would read them is not in the store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from sash.aggregation.stores.lmdb_view import looking
from sash.aggregation.stores.redis_namespaces import RedisNamespaces
from sash.aggregation.stores.values import reading
from sash.errors import CorruptValue, Unsupported
from sash.serving.feature_stores import DUE, FEATURES, RedisPlace
from sash.serving.publisher import PublisherProgress
from sash.serving.query_description import names_in, restored
from sash.serving.record_pages import DROPPED, LEVELS, Page
from sash.serving.records import RecordForm
from sash.serving.store_names import (
    DESCRIPTION,
    LABEL,
    PROGRESS,
    SWEPT,
    due_key,
    head_name,
    page_name,
    time_of,
)

NUMBER = 8
"""Bytes of a page's number, at the end of its name."""


@dataclass
class PublishedSeen:
    """The features of one query in a store."""

    where: str
    aggregates: tuple[str, ...]
    look_backs: tuple[str, ...]
    unread: bool
    """Whether records were not looked at, because an aggregate is code."""
    batch: int | None = None
    keys: int = 0
    pages: int = 0
    due: int = 0
    bytes: int = 0
    wrong: list[str] = field(default_factory=list)


def published_in(folder: str | PathLike[str]) -> PublishedSeen | None:
    """What an LMDB store has; None when nothing was published there."""
    with looking(folder) as look:
        description = look.raw(DESCRIPTION)
        return None if description is None else seen("features in LMDB", description, look.raw_items())


def published_names(url: str) -> list[str]:
    """The names under which a Redis server has features."""
    with closing(RedisNamespaces(url, first=FEATURES)) as server:
        return server.names(having=DESCRIPTION)


def published_on(url: str, *, name: str) -> PublishedSeen | None:
    """What a Redis server has under this name. While a stream publishes, pages may look as if they were
    missing."""
    with closing(RedisPlace(url, name)) as place:
        with place.reading() as read:
            (description,) = read([DESCRIPTION])
        if description is None:
            return None
        return seen(f"features {name} in Redis", description, place.items())


def seen(where: str, description: bytes, items: Iterable[tuple[bytes, Any]]) -> PublishedSeen:
    """CorruptValue where not even the query can be read; all else that is wrong is in the answer."""
    with reading("the query of the published features"):
        aggregates, look_backs = names_in(description)
        form = None
        with suppress(Unsupported):
            form = RecordForm(restored(description, query=None))
    answer = PublishedSeen(where, aggregates, look_backs, unread=form is None)
    needed, there, due = set[bytes](), set[bytes](), list[bytes]()
    for name, value in items:
        answer.bytes += len(value)
        if name.startswith(DUE):
            answer.due += 1
            due.append(head_name(due_key(name[len(DUE) :])))
        elif name == PROGRESS:
            answer.wrong += _wrong_value(lambda value=value: _note(answer, value), "progress")
        elif name == SWEPT:
            answer.wrong += _wrong_value(lambda value=value: time_of(bytes(value)), "swept")
        elif name[:1] in (b"k", b"p"):
            there.add(name)
            key = name[1:] if name[:1] == b"k" else name[1:-NUMBER]
            answer.keys += name[:1] == b"k"
            answer.pages += name[:1] == b"p"
            try:
                with reading(f"the page {name!r}"):
                    page = Page.of(value, form)
                    answer.wrong += (f"the page {name!r} {words}" for words in _wrong(page, form))
                    needed |= {page_name(key, number) for number in _children(page)}
            except CorruptValue as error:
                answer.wrong.append(f"{name!r}: {error}")
        elif name not in (DESCRIPTION, LABEL):
            answer.wrong.append(f"{name!r} is nothing that a publisher writes")
    missing, orphans = needed - there, {name for name in there - needed if name[:1] == b"p"}
    keyless = sum(head not in there for head in due)
    if missing:
        answer.wrong.append(f"{len(missing):,} pages are missing, {min(missing)!r} among them")
    if orphans:
        answer.wrong.append(f"{len(orphans):,} pages belong to no key, {min(orphans)!r} among them")
    if keyless:
        answer.wrong.append(f"{keyless:,} due entries are of keys that are not there")
    return answer


def _note(answer: PublishedSeen, progress: Any) -> None:
    done = PublisherProgress.of(bytes(progress)).done
    answer.batch = int(done) if done >= 0 else None


def _wrong_value(read: Any, what: str) -> list[str]:
    try:
        with reading(f"the value {what!r}"):
            read()
    except CorruptValue as error:
        return [str(error)]
    return []


def _children(page: Page) -> list[int]:
    return [child // LEVELS for child in page.child if child > 0]


def _wrong(page: Page, form: RecordForm | None) -> Iterator[str]:
    newest, oldest, child = (np.asarray(words) for words in (page.newest, page.oldest, page.child))
    if (np.diff(newest) < 0).any() or (oldest > newest).any():
        yield "has records that are not in the order of time"
    if (child < DROPPED).any() or ((child > 0) & (child % LEVELS == 0)).any():
        yield "has records of pages that cannot be"
    if form is not None and form.object_parts:
        words = np.frombuffer(page.records(0, page.size), np.int64).reshape(-1, page.width)
        for part in form.object_parts:
            at, length = words[:, part.first], words[:, part.first + 1]
            if (at < 0).any() or (length < 0).any() or (at > len(page.heap) - length).any():
                yield f"has elements of {part.name} outside of it"
