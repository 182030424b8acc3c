"""`call_python`: machine code calls a function of Python with an element, and goes on with its answer.

    machine code    call_python(function, (3, (2.5, True)))
    Python          function((3, (2.5, True)))  →  True or False

For what cannot be compiled in the middle of what can: a call takes no longer than one from Python. Such a
kernel keeps the interpreter's lock (`numba_compilation.OPTIONS`). To let go of it and to wait for it again
with each call could take milliseconds, where other threads compute.

What the function raises, the kernel raises. But Numba never lets go of the arrays of a call that is left
from within a function that it has called: what may raise often should keep its error until the kernel has
returned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)


class PythonFunction:
    """A function of one argument as kernels get it: to machine code a pointer, valid during the call."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function


def call_python(function: PythonFunction, element: Any) -> bool:
    """Whether the function answers with something true."""
    return bool(function.function(element))


class _FunctionType(types.Type):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__(name="sash.PythonFunction")


_FUNCTION = _FunctionType()


@typeof_impl.register(PythonFunction)  # type: ignore[untyped-decorator]
def _typeof(value: PythonFunction, context: Any) -> Any:
    return _FUNCTION


@register_model(_FunctionType)
class _FunctionModel(models.OpaqueModel):  # type: ignore[misc]
    pass


@unbox(_FunctionType)  # type: ignore[untyped-decorator]
def _unbox(type_: Any, value: Any, context: Any) -> Any:
    # The caller's reference to what holds the function keeps it alive for as long as the kernel runs.
    function = context.pyapi.object_getattr_string(value, "function")
    context.pyapi.decref(function)
    return NativeValue(function, is_error=cgutils.is_null(context.builder, function))


@intrinsic  # type: ignore[untyped-decorator]
def _call(typing_context: Any, function: Any, element: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        python = context.get_python_api(builder)
        truth = cgutils.alloca_once_value(builder, ir.Constant(ir.IntType(32), -1))
        argument = python.from_native_value(element, arguments[1])
        with cgutils.if_likely(builder, cgutils.is_not_null(builder, argument)):
            answer = python.call_function_objargs(arguments[0], (argument,))
            python.decref(argument)
            with cgutils.if_likely(builder, cgutils.is_not_null(builder, answer)):
                builder.store(python.object_istrue(answer), truth)
                python.decref(answer)
        found = builder.load(truth)
        with cgutils.if_unlikely(builder, builder.icmp_signed("<", found, found.type(0))):
            context.call_conv.return_exc(builder)  # Python knows what was raised
        return builder.trunc(found, ir.IntType(1))

    return types.boolean(function, element), generate


@overload(call_python)  # type: ignore[untyped-decorator]
def _compiled(function: Any, element: Any) -> Any:
    def called(function: Any, element: Any) -> Any:
        return _call(function, element)

    return called
