"""From a kernel template and a monoid to the text of one self-contained module.

    template            total = combine(total, load(columns, i))
    text                the template, the definitions of `combine` and `load` for this monoid, and every
                        function and constant that they use, each under a name of its own

Constants from closures and modules are written as literals, functions of `math` and numpy by name, other
Python functions with their text. What cannot be written down raises `NoSource`, and the caller compiles in
memory instead. The text is a pure function of the code: equal code gives equal text in every process, which
is what lets machine code be found again on disk. `numba_compilation` compiles it, with Numba's settings.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from sash import errors
from sash.aggregation.kernels.compiler import prefetching, template_words
from sash.aggregation.kernels.compiler.function_source import (
    NoSource,
    outside_names,
    plain_function,
    source_of,
)
from sash.aggregation.kernels.compiler.shape import Shape
from sash.aggregation.monoid import Monoid

WORDS = (
    "identity",
    "combine",
    "commutes",
    "inverse",
    "lift",
    "lower",
    "load",
    "store",
    "scratch",
    "put_result",
    "push",
    "peek",
    "shown",
    "leaves",
    "lifted",
    "joined",
)
MADE_OF = {"lifted": ("combine", "lift"), "joined": ("combine", "load")}
"""Words that are made of others."""
LIBRARIES = {"math": math, "np": np}
ENTRY = "kernel"
"""The name of the specialised template in the text; all other names end in a number or are words."""


class KernelSource(Protocol):
    """Gives the words of templates their meaning, for one monoid or (`SideBySideSource`) for several."""

    @property
    def calls_python(self) -> bool:
        """Whether some words call Python, also from machine code."""

    def outside(self) -> dict[str, Callable[..., Any] | None]: ...
    def functions(self, word: str) -> dict[str, Callable[..., Any]]: ...
    def definitions(self, word: str) -> list[str]: ...
    def as_(self, *, plain: bool, embedded: bool) -> KernelSource: ...


@dataclass(frozen=True)
class MonoidSource:
    """Gives the words of the vocabulary their meaning for one monoid.

    A `plain` source is for the interpreter: elements are Python scalars, checked when they are stored
    (Numba checks types when it compiles). With `embedded` the monoid's functions are written into the text,
    otherwise the text expects them under the names of `outside`.
    """

    monoid: Monoid
    shape: Shape
    plain: bool = False
    embedded: bool = True

    @property
    def calls_python(self) -> bool:
        return False

    def as_(self, *, plain: bool, embedded: bool) -> MonoidSource:
        return replace(self, plain=plain, embedded=embedded)

    def outside(self) -> dict[str, Callable[..., Any] | None]:
        m = self.monoid
        shaped: Callable[..., Any] = getattr(type(m.identity()), "_make", tuple)
        return {
            "user_identity": m.identity,
            "user_combine": m.combine,
            "user_inverse": m.inverse,
            "user_lift": m.lift,
            "user_lower": m.lower,
            "shaped": shaped,
        }

    @property
    def lower(self) -> Callable[[Any], Any]:
        """The monoid's own, for elements as machine code has them: flat tuples without names."""
        lower, shaped = self.monoid.lower, self.outside()["shaped"]
        if shaped is tuple or self.shape.scalar:
            return lower
        assert shaped is not None
        return lambda element: lower(shaped(element))

    def functions(self, word: str) -> dict[str, Callable[..., Any]]:
        """The monoid's own functions that must be written before a word, under these names."""
        user = self.outside().get(f"user_{word}") if self.embedded and word != "identity" else None
        return {} if user is None else {f"user_{word}": user}

    def definitions(self, word: str) -> list[str]:
        """The `def` of a word, after those that it needs."""
        return [self.definition(word)]

    def definition(self, word: str) -> str:
        """The `def` of one word; it may call the monoid's own function as user_<word>."""
        fields = range(len(self.shape.fields))
        match word:
            case "identity" if self.plain:
                return "def identity():\n    return user_identity()"
            case "identity":
                return f"def identity():\n    return {self._element(map(_literal, self.shape.identity))}"
            case "commutes":
                return f"def commutes():\n    return {self.monoid.commutative}"
            case "combine" | "inverse":
                return f"def {word}(a, b):\n" + self._checked(f"user_{word}(a, b)")
            case "lift":
                return "def lift(inputs, i):\n" + self._lifted("inputs")
            case "lower":
                return "def lower(element):\n    return user_lower(element)"
            case "load" | "peek":
                cells = [self._read("columns", k) for k in fields]
                element = cells[0] if self.shape.scalar else f"({', '.join(cells)},)"
                shaped = self.plain and not self.shape.scalar
                return f"def {word}(columns, i):\n    return {f'shaped({element})' if shaped else element}"
            case "store" | "push":
                parts = ["element"] if self.shape.scalar else [f"element[{k}]" for k in fields]
                stored = [self._cast(k, part) if self.plain else part for k, part in enumerate(parts)]
                lines = [
                    f"    columns[{k}][{'i' if self.plain else 'np.uintp(i)'}] = {value}"
                    for k, value in enumerate(stored)
                ]
                return "\n".join([f"def {word}(columns, i, element):", *lines])
            case _:
                arrays = ", ".join(f"np.empty(n, {_DTYPE_NAMES[kind]})" for kind in self.shape.fields)
                return f"def scratch(n):\n    return ({arrays},)"

    def _lifted(self, columns: str) -> str:
        values = ", ".join(self._read(columns, k) for k in range(len(self.monoid.columns)))
        return self._checked(f"user_lift({values})")

    def _read(self, columns: str, k: int) -> str:
        # An unsigned index cannot mean 'from the end': the test for that is a tenth of a short loop.
        return f"{columns}[{k}].item(i)" if self.plain else f"{columns}[{k}][np.uintp(i)]"

    def _cast(self, k: int, value: str) -> str:
        kind = self.shape.fields[k]
        return value if kind == "object" else f"as_{kind}({value})"

    def _element(self, values: Any) -> str:
        cast = [self._cast(k, value) for k, value in enumerate(values)]
        return cast[0] if self.shape.scalar else f"({', '.join(cast)},)"

    def _checked(self, call: str) -> str:
        if self.plain:
            return f"    return {call}"
        if self.shape.scalar:
            return f"    return {self._cast(0, call)}"
        parts = [f"element[{k}]" for k in range(len(self.shape.fields))]
        return f"    element = {call}\n    return {self._element(parts)}"


@dataclass(frozen=True)
class ValuesSource(MonoidSource):
    """Templates read events and write results: the words that read and write elements lift and lower them.
    After the inputs comes which events count, if they are `masked`; after the results, which are known."""

    masked: bool = False

    def functions(self, word: str) -> dict[str, Callable[..., Any]]:
        return super().functions({"load": "lift", "store": "lower"}.get(word, word))

    def definition(self, word: str) -> str:
        match word:
            case "load":
                blank = self._element(map(_literal, self.shape.identity))
                mask = f"columns[{len(self.monoid.columns)}][np.uintp(i)]"
                lines = [
                    "def load(columns, i):",
                    *([f"    if not {mask}:\n        return {blank}"] * self.masked),
                ]
                return "\n".join([*lines, self._lifted("columns")])
            case "store":
                return STORE_RESULT
            case _:
                return super().definition(word)


STORE_RESULT = """\
def store(columns, i, element):
    if columns[-1][i]:
        result = user_lower(element)
        if result is None:
            columns[-1][i] = False
        else:
            put_result(columns, i, result)"""


def specialise(template: Callable[..., Any], source: KernelSource | None) -> str:
    """The definitions that `template` needs, ending with itself, each decorated with its role:
    `@entry` or `@calling`, `@part` (a template's helper), `@word`, `@maker` (the word that allocates),
    `@user`."""
    writer = _Writer(source)
    role = "calling" if source is not None and source.calls_python else "entry"
    writer.function(template, role, symbol=ENTRY)
    return "\n\n\n".join(writer.blocks) + "\n"


class _Writer:
    def __init__(self, source: KernelSource | None) -> None:
        self.source = source
        self.blocks: list[str] = []
        self._symbols: dict[int, str] = {}
        self._words = {id(getattr(template_words, word)): word for word in WORDS}
        self._alive: list[Any] = []

    def function(self, function: Callable[..., Any], decorator: str, *, symbol: str | None = None) -> str:
        plain = plain_function(function)
        if id(plain) in self._symbols and symbol is None:
            return self._symbols[id(plain)]
        node = ast.parse(source_of(plain)).body[0]
        assert isinstance(node, ast.FunctionDef)
        symbol = symbol or self._fresh(node.name)
        self._note(plain, symbol)
        own = _local_names(plain.__code__)
        used = {name: value for name, value in outside_names(plain).items() if name not in own}
        read = {leaf.id for leaf in ast.walk(node) if isinstance(leaf, ast.Name)}
        _refuse_unknown(plain, read - own - used.keys())
        helper = "user" if decorator == "user" else "part"
        names = {name: self._value(name, used[name], helper) for name in sorted(used.keys() & read)}
        node.name = symbol
        self.blocks.append(f"@{decorator}\n{ast.unparse(Renamed(names).visit(node))}")
        return symbol

    def _value(self, name: str, value: Any, helper: str) -> str:
        """The symbol under which the text knows an outside value."""
        if id(value) in self._words:
            return self._word(self._words[id(value)])
        if value is prefetching.prefetch:
            return self._prefetch()
        for symbol, library in LIBRARIES.items():
            if value is library:
                return symbol
            if not isinstance(value, types.FunctionType) and callable(value):
                attribute = getattr(value, "__name__", "")
                if getattr(library, attribute, None) is value:
                    return self._constant(name, f"{symbol}.{attribute}")
        if isinstance(value, type) and value in vars(errors).values():
            return self._constant(name, f"errors.{value.__name__}")
        if isinstance(getattr(value, "py_func", value), types.FunctionType):
            return self.function(value, helper)
        return self._constant(name, _literal(value))

    def _word(self, word: str) -> str:
        if word == "put_result" or word in self._symbols.values():
            return word
        assert self.source is not None, "a template without a monoid has no words"
        for part in MADE_OF.get(word, ()):
            self._word(part)
        for symbol, user in self.source.functions(word).items():
            self.function(user, "user", symbol=symbol)
        self._note(getattr(template_words, word), word)
        decorator = "maker" if word == "scratch" else "word"
        self.blocks += [f"@{decorator}\n{text}" for text in self.source.definitions(word)]
        return word

    def _prefetch(self) -> str:
        if id(prefetching.prefetch) not in self._symbols:
            self._note(prefetching.prefetch, "prefetch")
            # It is imported, not written into the text; its own text therefore joins the key.
            digest = hashlib.sha256(inspect.getsource(prefetching).encode()).hexdigest()[:8]
            self.blocks.append(f"from {prefetching.__name__} import prefetch  # {digest}")
        return "prefetch"

    def _constant(self, name: str, literal: str) -> str:
        symbol = self._fresh(name)
        self.blocks.append(f"{symbol} = {literal}")
        return symbol

    def _fresh(self, name: str) -> str:
        return f"{name}_{len(self.blocks)}"

    def _note(self, value: Any, symbol: str) -> None:
        # Symbols are found by identity; holding the value keeps its id from being used again.
        self._alive.append(value)
        self._symbols[id(value)] = symbol


class Renamed(ast.NodeTransformer):
    """A text with other names for what it takes from outside."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


_DTYPE_NAMES = {"bool": "np.bool_", "int": "np.int64", "float": "np.float64", "object": "object"}


def _literal(value: Any) -> str:
    if isinstance(value, tuple) and type(value) is tuple:
        return "(" + "".join(_literal(part) + ", " for part in value) + ")"
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return f"np.{type(value).__name__}({_literal(value.item())})"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"float({str(value)!r})"
    if value is None or isinstance(value, bool | int | str):
        return repr(value)
    raise NoSource(f"a value of type {type(value).__name__} cannot be written as a literal")


def _local_names(code: types.CodeType) -> set[str]:
    nested = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return {*code.co_varnames, *code.co_cellvars}.union(*map(_local_names, nested))


def _refuse_unknown(function: types.FunctionType, names: set[str]) -> None:
    unknown = sorted(name for name in names if not hasattr(builtins, name))
    if unknown:
        raise NoSource(f"{function.__qualname__} uses names that do not exist (yet): {unknown}")
