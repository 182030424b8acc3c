"""Does a monoid keep the laws that it declares? Tried on samples, with the counterexample in the message.

    associative    (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)              always
    identity       0 ⊕ a = a = a ⊕ 0                       always
    commutative    a ⊕ b = b ⊕ a                           if declared
    idempotent     a ⊕ a = a                               if declared
    inverse        inverse(a ⊕ b, a) = b                   if declared
    codec          decode(encode(a)) = a                   if given
    harmless       lift, combine and lower leave their arguments as they were
    shape          elements that are kept in columns look like identity()

a, b and c range over the lifted samples and over sums of them. Two elements count as equal when they look
equal, or when no result distinguishes them: equal lowered values, also after combining with a sample on
either side. So a set may be kept as an unordered list, and a sketch need not define equality. Floats are
compared relative to the largest number around, because a ⊕ b may cancel what a and b are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import deepcopy
from functools import partial, reduce
from itertools import islice, product
from typing import Any

from sash.aggregation.define import Definition
from sash.aggregation.monoid import Monoid
from sash.errors import ArgumentError, LawViolation
from sash.testing.sameness import same, scale_of

_SINGLES, _SUMS = 6, 3
"""How many samples, and sums of them, meet each other in all triples; others meet their neighbours."""


def laws(
    monoid: Monoid | Definition, samples: Iterable[Any], *, relative: float = 1e-9, absolute: float = 1e-12
) -> int:
    """Check the laws on `samples`; raise LawViolation on the first that fails; return how many held.

    Samples are rows: a tuple of one value per column (or a mapping by column name), or the bare value
    when there is a single column. Give a dozen that differ, including the extremes you expect. `relative`
    and `absolute` bound how far apart floats may be that count as equal.

    >>> from sash.aggregation.built_in import max, collect
    >>> laws(max("x"), [3, 1, 2]) > 0
    True
    >>> from dataclasses import replace
    >>> laws(replace(collect("x"), commutative=True), [1, 2])
    Traceback (most recent call last):
        ...
    sash.errors.LawViolation: collect is not commutative: a ⊕ b ≠ b ⊕ a
      a     = (1,)
      b     = (2,)
      a ⊕ b = (1, 2)
      b ⊕ a = (2, 1)
    """
    if isinstance(monoid, Definition):
        monoid = monoid(*(monoid.parameters or ("x",)))
    rows = [_row(monoid, sample) for sample in samples]
    if not rows:
        raise ArgumentError("samples", rows, "at least one row")
    check = _Check(monoid, rows, partial(same, relative=relative, absolute=absolute))
    for law in (_shape, _identity, _codec, _idempotent, _commutative, _inverse, _associative, _harmless):
        law(check)
    return check.held


class _Check:
    """A monoid with the elements that its laws are tried on, and the count of equations that held."""

    def __init__(self, monoid: Monoid, rows: list[tuple[Any, ...]], close: Callable[..., bool]) -> None:
        self.monoid, self.rows, self.close, self.held = monoid, rows, close, 0
        self.lifted = [self._lift(row) for row in rows]
        self.probes = self.lifted[:3]
        # The simple ones first, so that a counterexample is as simple as can be.
        self.elements = self.lifted[:_SINGLES] + list(islice(self._sums(), _SUMS))

    def _lift(self, row: tuple[Any, ...]) -> Any:
        try:
            return self.monoid.lift(*deepcopy(row))
        except Exception as error:
            values = ", ".join(map(repr, row))
            raise LawViolation(
                f"{self.monoid.name}.lift({values}) raised {type(error).__name__}: {error}"
            ) from error

    def _sums(self) -> Iterator[Any]:
        for start in range(len(self.lifted) - 1):
            length = 2 + start % 2
            yield reduce(self.monoid.combine, self.lifted[start : start + length])

    def tuples(self, size: int) -> Iterator[tuple[Any, ...]]:
        """All tuples of the chosen elements, then each run of neighbouring samples."""
        yield from product(self.elements, repeat=size)
        yield from zip(*(self.lifted[start:] for start in range(size)), strict=False)

    def equal(self, law: str, given: dict[str, Any], left: tuple[str, Any], right: tuple[str, Any]) -> None:
        """Count the equation if it holds, or raise with what was given and both of its sides."""
        x, y = left[1], right[1]
        if not (self._look_equal(x, y, given) or self._indistinguishable(x, y, given)):
            lines = {name: self._show(element) for name, element in given.items()}
            lines |= {left[0]: self._show(x), right[0]: self._show(y)}
            width = max(map(len, lines))
            shown = "".join(f"\n  {name:<{width}} = {value}" for name, value in lines.items())
            raise LawViolation(f"{self.monoid.name} {law}: {left[0]} ≠ {right[0]}{shown}")
        self.held += 1

    def _look_equal(self, x: Any, y: Any, given: dict[str, Any]) -> bool:
        return self.close(x, y, scale=scale_of(x, y, *given.values()))

    def _indistinguishable(self, x: Any, y: Any, given: dict[str, Any]) -> bool:
        combine = self.monoid.combine
        return self._same_result(x, y, given) and all(
            self._same_result(combine(probe, x), combine(probe, y), given)
            and self._same_result(combine(x, probe), combine(y, probe), given)
            for probe in self.probes
        )

    def _same_result(self, x: Any, y: Any, given: dict[str, Any]) -> bool:
        left, right = self.result(x), self.result(y)
        scale = scale_of(left, right, *(self.result(element) for element in given.values()))
        return self.close(left, right, scale=scale)

    def result(self, element: Any) -> Any:
        """The lowered value; an error is a result too (an overflow has to be one in every grouping)."""
        try:
            return self.monoid.lower(element)
        except Exception as error:
            return ("raises", type(error).__name__)

    def _show(self, element: Any) -> str:
        opaque = self.monoid.encode is not None and " object at 0x" in repr(element)
        return f"<element with result {self.result(element)!r}>" if opaque else repr(element)

    def fingerprint(self, element: Any) -> Any:
        """Something that changes when the element does, however it is changed in place."""
        return self.monoid.encode(element) if self.monoid.encode else deepcopy(element)


def _shape(check: _Check) -> None:
    if not check.monoid.columnar:
        return
    expected = _width(check.monoid.identity())
    for row, element in zip(check.rows, check.lifted, strict=True):
        if _width(element) != expected:
            raise LawViolation(
                f"{check.monoid.name} has elements of different shapes, which cannot share columns"
                f"\n  identity() = {check.monoid.identity()!r}\n  lift{row!r} = {element!r}"
            )
        check.held += 1


def _identity(check: _Check) -> None:
    zero, combine = check.monoid.identity, check.monoid.combine
    for (a,) in check.tuples(1):
        check.equal("breaks the identity law", {"a": a}, ("0 ⊕ a", combine(zero(), a)), ("a", a))
        check.equal("breaks the identity law", {"a": a}, ("a ⊕ 0", combine(a, zero())), ("a", a))


def _codec(check: _Check) -> None:
    encode, decode = check.monoid.encode, check.monoid.decode
    if encode is None or decode is None:
        return
    for a in (check.monoid.identity(), *check.elements, *check.lifted):
        data = encode(a)
        if not isinstance(data, bytes):
            raise LawViolation(f"{check.monoid.name} encodes {a!r} as {data!r}, which is not bytes")
        check.equal("does not survive its codec", {}, ("decode(encode(a))", decode(data)), ("a", a))


def _idempotent(check: _Check) -> None:
    if check.monoid.idempotent:
        for (a,) in check.tuples(1):
            check.equal("is not idempotent", {}, ("a ⊕ a", check.monoid.combine(a, a)), ("a", a))


def _commutative(check: _Check) -> None:
    combine = check.monoid.combine
    if check.monoid.commutative:
        for a, b in check.tuples(2):
            sides = ("a ⊕ b", combine(a, b)), ("b ⊕ a", combine(b, a))
            check.equal("is not commutative", {"a": a, "b": b}, *sides)


def _inverse(check: _Check) -> None:
    combine, inverse = check.monoid.combine, check.monoid.inverse
    if inverse is not None:
        for a, b in check.tuples(2):
            left = ("inverse(a ⊕ b, a)", inverse(combine(a, b), a))
            check.equal("has a wrong inverse", {"a": a}, left, ("b", b))


def _associative(check: _Check) -> None:
    combine = check.monoid.combine
    for a, b, c in check.tuples(3):
        left = ("(a ⊕ b) ⊕ c", combine(combine(a, b), c))
        right = ("a ⊕ (b ⊕ c)", combine(a, combine(b, c)))
        check.equal("is not associative", {"a": a, "b": b, "c": c}, left, right)


def _harmless(check: _Check) -> None:
    monoid = check.monoid
    for row in check.rows:
        given = deepcopy(row)
        monoid.lift(*given)
        _unchanged(check, "lift", row, given)
    for a, b in check.tuples(2):
        before = check.fingerprint(a), check.fingerprint(b)
        monoid.combine(a, b)
        _unchanged(check, "combine", before, (check.fingerprint(a), check.fingerprint(b)))
    if not monoid.approximate:  # reading an approximate sketch may tidy it up, within its error
        for a in check.elements:
            before = check.fingerprint(a)
            check.result(a)
            _unchanged(check, "lower", before, check.fingerprint(a))


def _unchanged(check: _Check, function: str, before: Any, after: Any) -> None:
    if not same(before, after, relative=0.0, absolute=0.0):
        shown = f"\n  before = {before!r}\n  after  = {after!r}"
        raise LawViolation(f"{check.monoid.name}.{function} changes its arguments{shown}")
    check.held += 1


def _width(element: Any) -> int | None:
    return len(element) if isinstance(element, tuple) else None


def _row(monoid: Monoid, sample: Any) -> tuple[Any, ...]:
    if not monoid.columns:
        return ()
    if isinstance(sample, Mapping):
        return tuple(sample[column] for column in monoid.columns)
    row = sample if isinstance(sample, tuple) else (sample,)
    if len(row) != len(monoid.columns):
        raise ArgumentError("samples", sample, f"rows of {len(monoid.columns)} values: {monoid.columns}")
    return row
