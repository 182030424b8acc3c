"""Broken monoids are caught, with the elements that show it."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from sash.aggregation import built_in
from sash.aggregation.monoid import Monoid
from sash.errors import AlgebraError, ArgumentError, LawViolation
from sash.testing import laws


def broken(name, combine, *, zero=0, **fields):
    """A monoid over one column of numbers that does what `combine` does."""
    plain = {"lift": lambda x: x, "lower": lambda e: e}
    return Monoid(name, ("x",), lambda: zero, combine=combine, **(plain | fields))


def violation(monoid, samples, **options):
    with pytest.raises(LawViolation) as caught:
        laws(monoid, samples, **options)
    return str(caught.value)


def halfway(a, b):
    return b if a == 0 else a if b == 0 else (a + b) / 2


def test_a_mean_of_means_is_not_associative_and_the_counterexample_is_shown():
    assert violation(broken("halfway", halfway, zero=0.0), [1.0, 2.0]).splitlines() == [
        "halfway is not associative: (a ⊕ b) ⊕ c ≠ a ⊕ (b ⊕ c)",
        "  a           = 1.0",
        "  b           = 1.0",
        "  c           = 2.0",
        "  (a ⊕ b) ⊕ c = 1.5",
        "  a ⊕ (b ⊕ c) = 1.25",
    ]


def test_an_identity_that_changes_something_is_caught_on_either_side():
    assert violation(broken("sum", lambda a, b: a + b, zero=1), [5]).splitlines() == [
        "sum breaks the identity law: 0 ⊕ a ≠ a",
        "  a     = 5",
        "  0 ⊕ a = 6",
    ]
    assert "a ⊕ 0 ≠ a" in violation(broken("right", lambda a, b: b), [5])


def test_a_promise_of_commutativity_is_tried():
    message = violation(replace(built_in.last("x").bind(("int",)), commutative=True), [1, 2])
    assert message.startswith(
        "last is not commutative: a ⊕ b ≠ b ⊕ a\n  a     = (True, 1)\n  b     = (True, 2)"
    )


def test_a_promise_of_idempotence_is_tried():
    message = violation(replace(built_in.count("x"), idempotent=True), ["p"])
    assert message == "count is not idempotent: a ⊕ a ≠ a\n  a ⊕ a = 2\n  a     = 1"


def test_an_inverse_that_takes_out_the_wrong_part_is_caught():
    wrong = broken("sum", lambda a, b: a + b, inverse=lambda total, oldest: total - 2 * oldest)
    assert "sum has a wrong inverse: inverse(a ⊕ b, a) ≠ b" in violation(wrong, [1, 2])


def test_a_float_inverse_that_loses_what_it_keeps_is_caught():
    drifting = broken("sum", lambda a, b: a + b, zero=0.0, inverse=lambda total, oldest: total - oldest)
    assert "wrong inverse" in violation(drifting, [1e17, 1e-3], relative=1e-30)


def test_a_codec_that_forgets_is_caught():
    forgetful = replace(built_in.collect("x"), decode=lambda data: built_in.collect("x").decode(data)[:1])
    message = violation(forgetful, [1, 2])
    assert message.startswith("collect does not survive its codec: decode(encode(a)) ≠ a")
    assert "(1, 2)" in message


def test_a_codec_that_does_not_write_bytes_is_caught():
    assert "which is not bytes" in violation(replace(built_in.collect("x"), encode=str), [1])


def test_a_combine_that_changes_its_argument_is_caught():
    def extend(a, b):
        a.extend(b)
        return list(a)

    collect = built_in.collect("x")
    greedy = Monoid(
        "greedy", ("x",), list, lambda x: [x], extend, list, encode=collect.encode, decode=collect.decode
    )
    # The laws of two and three elements may stumble over it first: any of them names the culprit.
    assert "greedy" in violation(greedy, [1, 2])


def test_a_combine_that_keeps_its_results_right_but_still_changes_its_argument_is_caught():
    def tally(a, b):
        a["calls"] += 1
        return {"n": a["n"] + b["n"], "calls": 0}

    collect = built_in.collect("x")
    counting = Monoid(
        "tally",
        ("x",),
        lambda: {"n": 0, "calls": 0},
        lambda x: {"n": x, "calls": 0},
        tally,
        lambda e: e["n"],
        encode=collect.encode,
        decode=collect.decode,
    )
    assert "tally.combine changes its arguments" in violation(counting, [1, 2])


def test_a_lift_that_changes_the_event_is_caught():
    def consume(values):
        return float(values.pop())

    message = violation(broken("eater", lambda a, b: a + b, zero=0.0, lift=consume), [[1, 2], [3]])
    assert message == "eater.lift changes its arguments\n  before = ([1, 2],)\n  after  = ([1],)"


def test_elements_that_cannot_share_columns_are_caught():
    ragged = broken("ragged", lambda a, b: a + b, zero=(0, 0), lift=lambda x: (x, 1, 2))
    assert "ragged has elements of different shapes" in violation(ragged, [1])


def test_an_opaque_element_is_shown_by_its_result():
    summed = replace(built_in.frequent_items("x"), idempotent=True)
    assert "<element with result [('p', 2)]>" in violation(summed, ["p"])


def test_equal_elements_that_look_different_are_not_a_violation():
    unordered = Monoid(
        "set",
        ("x",),
        list,
        lambda x: [x],
        lambda a, b: a + [x for x in b if x not in a],
        sorted,
        commutative=True,
        idempotent=True,
        encode=built_in.collect("x").encode,
        decode=built_in.collect("x").decode,
    )
    assert laws(unordered, [3, 1, 2]) > 0


def test_elements_that_look_alike_through_lower_but_combine_differently_are_told_apart():
    # lower shows the length only; the content decides how elements combine later.
    hidden = broken(
        "hidden",
        lambda a, b: (a[0] + b[0], b[1] or a[1]) if a[1] != b[1] else (a[0] + b[0] + 1, a[1]),
        zero=(0, 0),
        lift=lambda x: (1, x),
        lower=lambda e: e[0],
        commutative=True,
    )
    assert "hidden" in violation(hidden, [1, 2])


def test_nan_equals_nan_and_rounding_is_forgiven():
    assert laws(built_in.sum("x").bind(("float",)), [math.nan, 1.0]) > 0
    assert laws(broken("sum", lambda a, b: a + b, zero=0.0), [0.1, 0.2, 0.3, 1e9]) > 0
    assert "not associative" in violation(
        broken("sum", lambda a, b: a + b, zero=0.0), [0.1, 0.2, 0.3], relative=0.0, absolute=0.0
    )


def test_samples_may_be_rows_mappings_or_bare_values():
    n = laws(built_in.argmax("v", "by"), [(1, 2.0), (3, 4.0)])
    assert n == laws(built_in.argmax("v", "by"), [{"v": 1, "by": 2.0}, {"by": 4.0, "v": 3}])
    assert laws(built_in.count(), [1, 2]) > 0


def test_every_sample_takes_part_also_when_there_are_many():
    allergic = broken("allergic", lambda a, b: 0 if 99 in (a, b) and a and b else a + b)
    assert "allergic is not associative" in violation(allergic, [*range(1, 20), 99, 1])


def test_samples_are_needed_and_have_to_fit():
    with pytest.raises(ArgumentError, match="samples must be at least one row"):
        laws(built_in.sum("x"), [])
    with pytest.raises(ArgumentError, match=r"samples must be rows of 2 values: \('v', 'by'\)"):
        laws(built_in.argmax("v", "by"), [1])


def test_a_violation_is_an_assertion_and_an_algebra_error():
    assert issubclass(LawViolation, AssertionError)
    assert issubclass(LawViolation, AlgebraError)


def test_a_lift_that_raises_is_named_with_the_sample_that_it_was_given() -> None:
    def lift(x: float) -> float:
        return 1 / (x - 2.0)

    failing = replace(built_in.sum("x"), lift=lift)
    with pytest.raises(
        LawViolation, match=r"sum\.lift\(2\.0\) raised ZeroDivisionError: float division by"
    ):
        laws(failing, [1.0, 2.0])
