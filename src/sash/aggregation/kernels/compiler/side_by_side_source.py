"""Several monoids at once: an element is a tuple of their elements, and so are its columns.

    combine(a, b)                        =  (m0_combine(a[0], b[0]), m1_combine(a[1], b[1]), …)
    lifted(total, inputs, i, known, …)   =  (m0_combine(total[0], m0_lift(inputs[0], i)) if known, …)

Each monoid keeps its own words, under names of its own; the words of the template are made of them. What a
template needs of a slide policy is words, too: of a condition over results, which is compiled with the
monoids (`SideBySideSource`), or of functions of Python that come with the call (`CallingSource`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sash.aggregation.kernels.compiler.specialise import MonoidSource, Renamed

_PARAMETERS = {
    "identity": "", "combine": "a, b", "lift": "inputs, i", "lower": "element", "load": "columns, i",
    "store": "columns, i, element", "scratch": "n", "push": "columns, i, element", "peek": "columns, i",
    "lifted": "total, inputs, i, known, bits", "joined": "total, columns, i, known, bits",
}  # fmt: skip
_WHOLE = ("i", "n", "known")
"""The parameters that all monoids share; of the others each has its own part."""
_PARTS = {"lifted": ("inputs", "lift"), "joined": ("columns", "load")}
"""Words over what is known: the parameter that they read, and the word that reads it."""
_LISTS = {"scratch": "return [None] * n", "push": "columns[i] = element", "peek": "return columns[i]"}
"""To the interpreter a stack is a list of elements."""


@dataclass(frozen=True)
class SideBySideSource:
    """The sources of some monoids, and the body of `leaves`. See `specialise.KernelSource`."""

    sources: tuple[MonoidSource, ...]
    leaves: str = ""
    plain: bool = False

    @property
    def calls_python(self) -> bool:
        return False

    def as_(self, *, plain: bool, embedded: bool) -> SideBySideSource:
        sources = tuple(source.as_(plain=plain, embedded=embedded) for source in self.sources)
        return replace(self, sources=sources, plain=plain)

    def outside(self) -> dict[str, Callable[..., Any] | None]:
        return {
            _own(name, k): function
            for k, source in enumerate(self.sources)
            for name, function in source.outside().items()
        }

    def functions(self, word: str) -> dict[str, Callable[..., Any]]:
        return {
            _own(name, k): function
            for k, source in enumerate(self.sources)
            for name, function in source.functions(word).items()
        }

    def definitions(self, word: str) -> list[str]:
        if word == "shown":
            return ["def shown(total, policy):\n    return total"]
        if word == "leaves":
            return [f"def leaves(total, old, policy):\n{self.leaves}"]
        if self.plain and word in _LISTS:
            return [f"def {word}({_PARAMETERS[word]}):\n    {_LISTS[word]}"]
        own = [self._own_definition(word, k) for k in range(len(self.sources))]
        names = [name for name in _PARAMETERS[word].split(", ") if name]
        calls = []
        for k in range(len(self.sources)):
            given = ", ".join(name if name in _WHOLE else f"{name}[{k}]" for name in names)
            calls.append(f"{_own(word, k)}({given})")
        if word in ("store", "push"):
            body = "\n".join(f"    {call}" for call in calls)
        else:
            body = f"    return ({', '.join(calls)},)"
        return [*own, f"def {word}({_PARAMETERS[word]}):\n{body}"]

    def _own_definition(self, word: str, k: int) -> str:
        if word in _PARTS:
            read, part = _PARTS[word]
            grown = f"{_own('combine', k)}(total, {_own(part, k)}({read}, i))"
            return (
                f"def {_own(word, k)}({_PARAMETERS[word]}):\n    return {grown} if known & bits else total"
            )
        node = ast.parse(self.sources[k].definition(word)).body[0]
        assert isinstance(node, ast.FunctionDef)
        node.name = _own(word, k)
        return ast.unparse(Renamed({name: _own(name, k) for name in self.sources[k].outside()}).visit(node))


@dataclass(frozen=True)
class CallingSource(SideBySideSource):
    """A policy is two functions of Python: the first gets the whole window, the second answers for a
    prefix. Both get elements and lower them by themselves: only lift and combine are machine code."""

    @property
    def calls_python(self) -> bool:
        return True

    def functions(self, word: str) -> dict[str, Callable[..., Any]]:
        return {} if word in _CALLS else super().functions(word)

    def definitions(self, word: str) -> list[str]:
        return [_CALLS[word]] if word in _CALLS else super().definitions(word)


_CALLS = {
    "lower": "def lower(element):\n    return element",
    "shown": "def shown(total, policy):\n    return call_python(policy[0], total)",
    "leaves": "def leaves(total, old, policy):\n    return call_python(policy[1], old)",
}


def _own(name: str, k: int) -> str:
    """A name that no other monoid has; those that `specialise` makes up end in a number."""
    return f"m{k}_{name}"
