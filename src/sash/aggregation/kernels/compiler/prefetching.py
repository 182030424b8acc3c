"""`prefetch`: the processor begins to read a cell of a table, and goes on without waiting for it.

What a batch touches lies all over tables of hundreds of megabytes, so that most of its time would be spent
waiting for one cell after the other. A kernel that knows some cells ahead begins to read them first.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from sash.arrays import Numbers

AHEAD = 12
"""How many rounds of a loop before it needs a cell it begins to read it, unless it knows better."""


def prefetch(table: Numbers, row: int, word: int) -> None:
    """Begin to read a cell of a table of words (or of one column, without `word`). It need not exist, so
    that nobody has to test whether it does. Interpreted: nothing."""


@intrinsic  # type: ignore[untyped-decorator]
def _prefetch(typing_context: Any, table: Any, row: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(table)(context, builder, arguments[0])
        indexes = [
            context.cast(builder, value, type_, types.intp)
            for value, type_ in zip(arguments[1:], (row, word), strict=True)
        ][: table.ndim]
        sizes = [cgutils.unpack_tuple(builder, part, table.ndim) for part in (array.shape, array.strides)]
        cell = cgutils.get_item_pointer2(context, builder, array.data, *sizes, table.layout, indexes)
        bits = ir.IntType(32)
        byte = builder.bitcast(cell, ir.IntType(8).as_pointer())
        callee = builder.module.declare_intrinsic(
            "llvm.prefetch",
            [byte.type],
            ir.FunctionType(ir.VoidType(), [byte.type, bits, bits, bits]),
        )
        # For reading (0), into all levels of the cache (3), data and not instructions (1).
        builder.call(callee, [byte, bits(0), bits(3), bits(1)])
        return context.get_dummy_value()

    return types.void(table, row, word), generate


@overload(prefetch)  # type: ignore[untyped-decorator]
def _compiled(table: Any, row: Any, word: Any) -> Any:
    def ahead(table: Any, row: Any, word: Any) -> None:
        _prefetch(table, row, word)

    return ahead
