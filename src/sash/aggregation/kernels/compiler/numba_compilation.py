"""A kernel template made to run: as machine code from the cache, as machine code in memory, or interpreted.

Which of the three is a matter of speed only: all of them execute the same text (`specialise`). With
NUMBA_DISABLE_JIT=1 everything is interpreted, which is how the kernels are debugged and how the tests show
that the two ways agree.
"""

from __future__ import annotations

import gc
import hashlib
import inspect
import math
import re
import threading
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numba
import numpy as np
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from sash import errors
from sash.aggregation.kernels.compiler import casts, machine_code_on_disk, module_cache
from sash.aggregation.kernels.compiler.function_source import NoSource
from sash.aggregation.kernels.compiler.specialise import ENTRY, KernelSource, specialise
from sash.gc_pause import paused_collector

Mode = Literal["cached", "in memory", "interpreted"]

OPTIONS: dict[str, dict[str, bool]] = {
    "entry": {"nogil": True},
    # A kernel that calls Python (`python_calls`) must hold the interpreter's lock.
    "calling": {"nogil": False},
    "maker": {"nogil": True},
    # Helpers never allocate, so they need no reference counts; with counts (atomic ones, for each array of
    # each call) DABA takes 2.5 times as long.
    "part": {"nogil": True, "_nrt": False},
    "word": {"nogil": True, "_nrt": False, "forceinline": True},
    "user": {"nogil": True, "forceinline": True},
}
"""How Numba treats a kernel, one that calls Python, the word that allocates, a kernel's helper, a word, a
monoid's function."""

PYTHON_CALLS = "sash.aggregation.kernels.compiler.python_calls"

HEADER = '''\
"""Written by sash {casts}; kept beside it is the machine code. Safe to delete."""

import math

import numpy as np
from numba import njit

from sash import errors
from sash.aggregation.kernels.compiler.casts import as_bool, as_float, as_int, put_result
from sash.aggregation.kernels.compiler.machine_code_on_disk import kept_on_disk
{more}
{decorators}


'''


def jit_disabled() -> bool:
    return bool(numba.config.DISABLE_JIT)


PARSING = threading.Lock()
"""Python 3.11 counts how deep it is in a syntax tree once for all threads: two that parse at the same time
can end with `SystemError: AST constructor recursion depth mismatch`."""


class Kernel:
    """A callable kernel: `mode` is how it runs, `why` the reason for no better one."""

    def __init__(self, function: Callable[..., Any], mode: Mode, *, why: str = "") -> None:
        self.function, self.mode, self.why = function, mode, why
        self.fallback: Callable[[Exception], Kernel] | None = None
        self._result_type: Any = None
        self._loaded = False

    def __call__(self, *arguments: Any) -> Any:
        if not self._loaded:  # Numba loads machine code from the cache, or compiles it
            self._loaded = True
            with paused_collector():
                result = self(*arguments)
                if self.compilations:
                    # Numba leaves exceptions behind, whose frames hold on to whoever called, and to all
                    # that these hold: an operator with its lock, say.
                    gc.collect(0)
                return result
        try:
            return self.function(*arguments)
        except (NumbaError, UnsupportedBytecodeError) as error:
            # Numba raises these while it compiles, before anything has run: the call can start again.
            if self.fallback is None:
                raise
            slower, self.fallback = self.fallback(error), None
            self.function, self.mode, self.why = slower.function, slower.mode, slower.why
            return self.function(*arguments)

    def result_type(self, *arguments: Any) -> Any:
        """Numba's type of what the kernel gives for these arguments; compiles it or loads it. Arguments are
        of the same types in every call: to find them out takes longer than to lower a thousand elements."""
        if self._result_type is None:
            dispatcher: Any = self.function
            signature = tuple(numba.typeof(argument) for argument in arguments)
            with paused_collector():
                dispatcher.compile(signature)
            self._result_type = dispatcher.overloads[signature].signature.return_type
        return self._result_type

    @property
    def compilations(self) -> int:
        """How often this process compiled the kernel instead of finding its machine code on disk."""
        if self.mode == "interpreted":
            return 0
        dispatcher: Any = self.function
        return len(dispatcher.overloads) - int(sum(dispatcher.stats.cache_hits.values()))


def build(template: Callable[..., Any], source: KernelSource | None = None) -> Kernel:
    """The fastest way to run a template that can be had here. Numba compiles at the first call."""
    if jit_disabled():
        return interpreted(template, source)
    try:
        with PARSING:
            header = _header(calls_python=source is not None and source.calls_python)
            text = header + specialise(template, source)
        return Kernel(getattr(module_cache.module(text), ENTRY), "cached")
    except (NoSource, OSError) as error:
        return in_memory(template, source, why=str(error))


@cache
def kernel_of(template: Callable[..., Any]) -> Kernel:
    """What `build` makes of a template that stands for no monoid: once for a process."""
    return build(template)


def in_memory(template: Callable[..., Any], source: KernelSource | None, *, why: str) -> Kernel:
    """Machine code that this process keeps for itself: for functions whose text is not to be had."""
    decorators = {name: numba.njit(**options) for name, options in OPTIONS.items()}
    outside: dict[str, Any] = {}
    if source is not None:
        source = source.as_(plain=False, embedded=False)
        functions = {name: f for name, f in source.outside().items() if inspect.isfunction(f)}
        outside = {name: decorators["user"](f) for name, f in functions.items()}
        # Numba's own functions, and those of Python that it knows, such as `max`, are called as they are.
        outside |= {
            name: f for name, f in source.outside().items() if hasattr(f, "py_func") or inspect.isbuiltin(f)
        }
        outside |= _call_of(source)
    with PARSING:
        text = specialise(template, source)
    return Kernel(_executed(text, decorators | outside), "in memory", why=why)


def interpreted(template: Callable[..., Any], source: KernelSource | None, *, why: str = "") -> Kernel:
    """The same loop, run by Python."""
    outside: dict[str, Any] = {}
    if source is not None:
        source = source.as_(plain=True, embedded=False)
        outside = source.outside() | _call_of(source)
    decorators: dict[str, Any] = dict.fromkeys(OPTIONS, lambda function: function)
    with PARSING:
        text = specialise(template, source)
    return Kernel(_executed(text, decorators | outside), "interpreted", why=why)


def short_reason(error: BaseException) -> str:
    """The line of a Numba error with what went wrong, without its pages of context."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # When Numba reports why it rejected a candidate, the cause stands behind the name of its class.
    causes = [line.split("Error: ", 1)[1] for line in lines if re.match(r"\w*Error: (?!Failed in)", line)]
    others = [line for line in lines if not re.match(r"(\w*Error: )?Failed in|During:|File ", line)]
    if not causes and others and others[0].endswith("found for signature:"):
        return " ".join(others[:2])
    return (causes or others or [type(error).__name__])[0]


def _executed(text: str, outside: dict[str, Any]) -> Callable[..., Any]:
    words = {name: getattr(casts, name) for name in ("as_bool", "as_int", "as_float", "put_result")}
    namespace: dict[str, Any] = {"__name__": "sash_kernel", "math": math, "np": np, "errors": errors}
    namespace |= words | outside
    # The text is our own template; the monoid's functions come in as objects, not as text.
    exec(compile(text, "<sash kernel>", "exec"), namespace)
    function: Callable[..., Any] = namespace[ENTRY]
    return function


def _call_of(source: KernelSource) -> dict[str, Callable[..., Any]]:
    return {"call_python": _python_calls().call_python} if source.calls_python else {}


def _python_calls() -> Any:
    """Imported by what needs it: it loads Numba's compiler, a quarter of a second of a first query."""
    return import_module(PYTHON_CALLS)


@cache
def _header(*, calls_python: bool) -> str:
    # The casts are imported, not written into the text; their own text therefore joins the key. So does
    # that of `machine_code_on_disk`: how functions are named is part of what is kept.
    imported = [casts, machine_code_on_disk, *([_python_calls()] if calls_python else [])]
    digest = hashlib.sha256("".join(map(inspect.getsource, imported)).encode()).hexdigest()[:8]
    names = [name for name in OPTIONS if calls_python or name != "calling"]
    makers = dict.fromkeys(names, "njit") | {"calling" if calls_python else "entry": "kept_on_disk"}
    lines = [f"{name} = {makers[name]}(**{OPTIONS[name]!r})" for name in names]
    more = f"from {PYTHON_CALLS} import call_python\n" if calls_python else ""
    return HEADER.format(casts=digest, more=more, decorators="\n".join(lines))


__all__ = ["Kernel", "Mode", "NumbaError", "build", "interpreted", "jit_disabled", "short_reason"]
