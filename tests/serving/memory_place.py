"""A store of published features in memory, with a hook between two reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sash.serving.feature_stores import NameAndValue, Read, require_known
from sash.serving.record_pages import LEVELS, Page
from sash.serving.records import RecordForm
from sash.serving.store_names import page_name


@dataclass
class MemoryPlace:
    values: dict[bytes, bytes] = field(default_factory=dict)
    entries: list[bytes] = field(default_factory=list)
    between: Callable[[], None] | None = None
    """Called once, before pages are read."""

    @contextmanager
    def reading(self) -> Iterator[Read]:
        yield self._read

    def _read(self, names: Sequence[bytes]) -> list[bytes | None]:
        hook = self.between
        if hook is not None and all(name.startswith(b"p") for name in names):
            self.between = None
            hook()
        return [self.values.get(name) for name in names]

    def write(
        self, values: Mapping[bytes, bytes], removed: Sequence[bytes],
        *, due: Sequence[bytes] = (), past: Sequence[bytes] = (), expected: NameAndValue | None = None,
    ) -> None:  # fmt: skip
        if expected is not None:
            require_known(expected, self.values.get(expected[0]))
        for name in removed:
            del self.values[name]
        self.values |= values
        self.entries = sorted({*self.entries, *due} - {*past}.difference(due))

    def due(self, before: bytes, limit: int) -> list[bytes]:
        return [entry for entry in self.entries if entry < before][:limit]

    def clear(self) -> None:
        self.values.clear()
        self.entries.clear()

    def close(self) -> None: ...

    def lost_and_leaked(self, form: RecordForm) -> tuple[set[bytes], set[bytes]]:
        """Pages that something names and that are not there, and pages that nothing names."""
        wanted = [
            (name[1:], Page.of(value, form)) for name, value in self.values.items() if name[:1] == b"k"
        ]
        named: set[bytes] = set()
        while wanted:
            key, page = wanted.pop()
            for child in page.child.tolist():
                if child > 0:
                    name = page_name(key, child // LEVELS)
                    named.add(name)
                    if name in self.values:
                        wanted.append((key, Page.of(self.values[name], form)))
        there = {name for name in self.values if name[:2] == b"p("}
        return named - there, there - named
