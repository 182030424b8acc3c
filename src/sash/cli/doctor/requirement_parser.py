"""A requirement as a distribution's metadata states it, and whether a version fulfils it.

    name [extras] bounds ; extra == "e"         pandas>=2.2,<3

A version is compared by its leading numbers: 4.3.0rc1 counts as 4.3.0.

>>> requirement = Requirement.parse("pandas>=2.2,<3")
>>> requirement.allows("2.3.1"), requirement.allows("3.0.0")
(True, False)
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile
from typing import Self

_REQUIREMENT = re.compile(r"([\w.-]+)\s*(?:\[([^\]]*)\])?\s*\(?([^;)]*)\)?\s*(?:;\s*(.*))?")
_BOUND = re.compile(r"(>=|<=|==|!=|>|<)\s*([\w.]+)")
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_COMPARE: dict[str, Callable[[tuple[int, ...], tuple[int, ...]], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True)
class Requirement:
    """A distribution, the versions that will do, and the extra that needs it."""

    name: str
    bounds: tuple[tuple[str, str], ...]
    extra: str | None = None
    extras: tuple[str, ...] = ()
    """Its own extras that are needed."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """
        >>> requirement = Requirement.parse("pyspark[connect]<4.4,>=4.3; extra == 'connect'")
        >>> requirement.name, requirement.versions, requirement.extra, requirement.extras
        ('pyspark', '<4.4,>=4.3', 'connect', ('connect',))
        """
        found = _REQUIREMENT.fullmatch(text.strip())
        assert found is not None, f"not a requirement: {text!r}"
        name, extras, bounds, marker = found.groups()
        extra = _EXTRA.search(marker or "")
        wanted = tuple(word.strip() for word in (extras or "").split(",") if word.strip())
        return cls(name, tuple(_BOUND.findall(bounds)), extra[1] if extra else None, wanted)

    def allows(self, version: str) -> bool:
        return all(_COMPARE[sign](*_aligned(version, bound)) for sign, bound in self.bounds)

    @property
    def versions(self) -> str:
        """The bounds in words; empty when any version will do."""
        return ",".join(sign + bound for sign, bound in self.bounds)

    def __str__(self) -> str:
        return self.name + self.versions


def _aligned(*versions: str) -> tuple[tuple[int, ...], ...]:
    """Their numbers, all of one length: 4.3 is 4.3.0.

    >>> _aligned("4.3", "4.3.0rc1")
    ((4, 3, 0), (4, 3, 0))
    """
    numbers = [_numbers(version) for version in versions]
    longest = max(map(len, numbers))
    return tuple((*each, *[0] * (longest - len(each))) for each in numbers)


def _numbers(version: str) -> tuple[int, ...]:
    parts = [re.match(r"\d+", part) for part in version.split(".")]
    return tuple(int(part[0]) for part in takewhile(lambda part: part is not None, parts) if part)
