"""A user's monoid: a plain class whose functions have no `self`.

    identity() → e        lift(column, …) → e        combine(older, newer) → e        lower(e) → value
    inverse(total, oldest) → e, with invertible=True       encode(e) → bytes, decode(bytes) → e, for objects

The class is only a place to write the functions in: `@monoid` reads them and puts a callable in its stead,
from column names to a `Monoid`. What can be wrong in a definition is found when it is defined, by name.

>>> @monoid(commutative=True)
... class Vwap:
...     def identity(): return (0.0, 0.0)
...     def lift(price, size): return (price * size, size)
...     def combine(a, b): return (a[0] + b[0], a[1] + b[1])
...     def lower(s): return s[0] / s[1] if s[1] else None
>>> Vwap("price", "size").columns
('price', 'size')
>>> Vwap("price")
Traceback (most recent call last):
    ...
sash.errors.ArgumentError: columns of Vwap must be 2 names, one for each of (price, size); got ('price',)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import pyarrow as pa

from sash.aggregation.interpreted import VARYING
from sash.aggregation.kernels.compiler.function_source import remember
from sash.aggregation.monoid import Monoid, ResultType
from sash.aggregation.result_types import inferred_result
from sash.aggregation.sql_form import SqlForm
from sash.errors import ArgumentError, did_you_mean
from sash.semantics.condition import RowCondition, condition

_ARITIES: dict[str, int | None] = {
    "identity": 0,
    "lift": None,
    "combine": 2,
    "lower": 1,
    "inverse": 2,
    "encode": 1,
    "decode": 1,
}
_SCALARS = (bool, int, float, np.bool_, np.integer, np.floating)


@dataclass(frozen=True)
class Definition:
    """A monoid without its columns: `Vwap("price", "size")` gives the `Monoid` over these."""

    name: str
    functions: Mapping[str, Any]
    parameters: tuple[str, ...] | None
    """Names of lift's parameters, one for each input column; None when it takes any number of them."""
    properties: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"<sash monoid {self.name}({', '.join(self.parameters or ('…',))}), without its columns>"

    def __call__(self, *columns: str, where: RowCondition | None = None) -> Monoid:
        expected = self.parameters
        if not all(isinstance(column, str) for column in columns):
            raise ArgumentError(f"columns of {self.name}", columns, "column names, as strings")
        if expected is not None and len(columns) != len(expected):
            names = f"{len(expected)} name{'s' * (len(expected) != 1)}"
            each = f"one for each of ({', '.join(expected)})"
            raise ArgumentError(f"columns of {self.name}", columns, f"{names}, {each}")
        # The text of the functions travels with them, so that executors can keep their machine code.
        made = Monoid(
            name=self.name, columns=columns, where=condition(where), **self.functions, **self.properties
        )
        return remember(made)


@overload
def monoid(cls: type, /) -> Definition: ...
@overload
def monoid(
    *,
    commutative: bool = ...,
    invertible: bool = ...,
    idempotent: bool = ...,
    nothing: Any = ...,
    result: pa.DataType | ResultType | None = ...,
    sql: tuple[str, ...] | None = ...,
) -> Callable[[type], Definition]: ...


def monoid(
    cls: type | None = None,
    /,
    *,
    commutative: bool = False,
    invertible: bool = False,
    idempotent: bool = False,
    nothing: Any = None,
    result: pa.DataType | ResultType | None = None,
    sql: tuple[str, ...] | None = None,
) -> Definition | Callable[[type], Definition]:
    """Class decorator: read a monoid's functions from a class, check them, and declare its algebra.

    `identity` and `combine` are needed. `lift` is by default the value of one column, `lower` the element.
    `nothing` is the value of a window without events; `result` is the Arrow type of the values (or a
    function from the columns' types to it), found from a sample event when it is not given. `sql` is how
    Spark folds rows into an element by itself: an expression for each field, in which {0}, {1} … are the
    columns, null in rows that do not count: `sql=("sum({0} * {1})", "sum({1})")`.
    """

    def define(body: type) -> Definition:
        functions = _functions(body)
        _check_arities(body.__name__, functions)
        _check_inverse(body.__name__, functions, invertible)
        functions.setdefault("lift", _value_of_one_column)
        functions.setdefault("lower", _element)
        _check_element(body.__name__, functions)
        form = _sql_form(body.__name__, functions, sql, commutative=commutative)
        definition = Definition(
            name=body.__name__,
            functions=functions,
            parameters=_columns_of(functions["lift"]),
            properties={
                "commutative": commutative,
                "idempotent": idempotent,
                "nothing": nothing,
                "result": _result(body.__name__, functions, result),
                "sql": form,
            },
        )
        # Frozen for its users; this is still construction.
        object.__setattr__(definition, "__doc__", body.__doc__)
        return definition

    return define if cls is None else define(cls)


def _functions(body: type) -> dict[str, Callable[..., Any]]:
    found: dict[str, Callable[..., Any]] = {}
    for name, attribute in vars(body).items():
        function = attribute.__func__ if isinstance(attribute, staticmethod) else attribute
        if name.startswith("_") or not callable(function):
            continue
        if name not in _ARITIES:
            hint = did_you_mean(name, _ARITIES) or "Private functions start with an underscore."
            raise ArgumentError(
                f"a function of {body.__name__}", name, f"one of {', '.join(_ARITIES)}", hint=hint
            )
        found[name] = function
    for name in ("identity", "combine"):
        if name not in found:
            raise ArgumentError(
                f"the functions of {body.__name__}",
                sorted(found),
                f"at least identity and combine; add `{name}`",
            )
    return found


def _check_arities(owner: str, functions: Mapping[str, Callable[..., Any]]) -> None:
    for name, function in functions.items():
        signature, arity = _signature(function), _ARITIES[name]
        if signature is None or arity is None:
            continue
        try:
            signature.bind(*range(arity))
        except TypeError:
            plural = "s" * (arity != 1)
            hint = "There is no `self`." if "self" in signature.parameters else ""
            raise ArgumentError(
                f"{owner}.{name}", str(signature), f"a function of {arity} parameter{plural}", hint=hint
            ) from None


def _check_inverse(owner: str, functions: Mapping[str, Callable[..., Any]], invertible: bool) -> None:
    if invertible and "inverse" not in functions:
        raise ArgumentError(
            f"invertible of {owner}",
            invertible,
            "False, or be accompanied by a function `inverse(total, oldest)`",
        )
    if not invertible and "inverse" in functions:
        raise ArgumentError(
            f"invertible of {owner}", invertible, "True, because there is a function `inverse`"
        )


def _check_element(owner: str, functions: Mapping[str, Callable[..., Any]]) -> None:
    codec = {"encode", "decode"} & functions.keys()
    if len(codec) == 1:
        raise ArgumentError(
            f"the functions of {owner}", sorted(functions), "with both encode and decode, or neither"
        )
    element = functions["identity"]()
    parts = element if isinstance(element, tuple) else (element,)
    if not codec and not parts:
        raise ArgumentError(f"{owner}.identity()", element, "of one field or more", hint=VARYING)
    if not codec and not all(isinstance(part, _SCALARS) for part in parts):
        raise ArgumentError(
            f"{owner}.identity()",
            element,
            "a number, a bool or a flat tuple of them",
            hint="Other elements need encode(e) → bytes and decode(bytes) → e: nothing is ever pickled.",
        )


def _sql_form(
    owner: str, functions: Mapping[str, Callable[..., Any]], sql: Any, *, commutative: bool
) -> SqlForm | None:
    if sql is None:
        return None
    element = functions["identity"]()
    fields = len(element) if isinstance(element, tuple) else 1
    if not isinstance(sql, tuple) or len(sql) != fields or not all(isinstance(one, str) for one in sql):
        expected = f"{fields} expression{'s' * (fields != 1)}, one for each field of an element, in a tuple"
        raise ArgumentError(f"sql of {owner}", sql, expected)
    if not commutative or "encode" in functions:
        needed = "accompanied by commutative=True, and elements that are numbers: SQL folds in any order"
        raise ArgumentError(f"sql of {owner}", sql, needed)
    return SqlForm(sql)


def _result(
    owner: str, functions: Mapping[str, Callable[..., Any]], given: pa.DataType | ResultType | None
) -> ResultType:
    if given is None:
        identity = functions["identity"]()
        fields = len(identity) if isinstance(identity, tuple) and "encode" not in functions else None
        return inferred_result(
            owner, functions["lift"], functions["lower"], combine=functions["combine"], fields=fields
        )
    if isinstance(given, pa.DataType):
        return lambda types: given
    if callable(given):
        return given
    raise ArgumentError(
        f"result of {owner}", given, "an Arrow type such as pa.float64(), or a function to one"
    )


def _signature(function: Callable[..., Any]) -> inspect.Signature | None:
    try:
        return inspect.signature(function)
    except ValueError:  # a builtin without a signature
        return None


def _columns_of(lift: Callable[..., Any]) -> tuple[str, ...] | None:
    signature = _signature(lift)
    parameters = signature.parameters.values() if signature else ()
    if signature is None or any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return None
    return tuple(parameter.name for parameter in parameters if parameter.default is parameter.empty)


def _value_of_one_column(value: Any) -> Any:
    return value


def _element(element: Any) -> Any:
    return element
