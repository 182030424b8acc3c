"""Every published result, every engine's parameters, and what the formulas say beyond what is published.

Events are written t1, t2, … in input order, as in the papers; ∅ is an empty report.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor

import pytest
from hypothesis import given, settings, strategies as st

from sash.semantics.secret import ORIGINS, PROFILES, Origin, Pick, Report, Tick, names, profile, simulate

TEN = tuple(range(10, 20))
SIMULTANEOUS = (10, 10, 11, 12, 12, 12, 12, 13, 14, 15)

PUBLISHED = [
    (TEN, 3, 3, "time", "oracle_cep storm", "t1t2t3 t4t5t6 t7t8t9"),
    (TEN, 3, 3, "time", "streambase flink dataflow", "t1t2 t3t4t5 t6t7t8"),
    (TEN, 3, 3, "time", "kafka_streams", "t1 t1t2 t3 t3t4 t3t4t5 t6 t6t7 t6t7t8 t9"),
    (TEN, 3, 3, "time", "spark_dstream", "∅ ∅ ∅ t1t2 t3t4t5 t6t7t8"),
    ((30, 31, 36), 5, 1, "time", "coral8 oracle_cep stream", "t1 t1t2 t2"),
    (
        (30, 31, 36),
        5,
        1,
        "time",
        "streambase flink dataflow storm kafka_streams",
        "t1 t1t2 t1t2 t1t2 t1t2 t2",
    ),
    ((3, 5, 5, 5, 5, 7), 4, 1, "time", "oracle_cep stream", "t1 t1..t5"),
    ((3, 5, 5, 5, 5, 7), 4, 1, "time", "streambase flink dataflow storm", "t1 t1 t1..t5 t1..t5"),
    ((3, 5, 5, 5, 5, 7), 4, 1, "time", "coral8", "t1 t1t2 t1..t3 t1..t4 t1..t5"),
    (TEN, 3, 2, "count", "oracle_cep flink storm", "t1t2 t2t3t4 t4t5t6 t6t7t8"),
    (TEN, 3, 2, "count", "streambase", "t1t2t3 t3t4t5 t5t6t7 t7t8t9"),
    (SIMULTANEOUS, 1, 1, "count", "coral8 streambase flink storm", "t1 t2 t3 t4 t5 t6 t7 t8 t9"),
    (SIMULTANEOUS, 1, 1, "count", "oracle_cep stream", "t2 t3 t7 t8 t9"),
]


def reports(text: str) -> list[list[int]]:
    """Indexes from the papers' notation: 't1t2 t3..t5 ∅' is [[0, 1], [2, 3, 4], []]."""
    parsed = []
    for word in text.split():
        numbers = [int(number) for number in re.findall(r"\d+", word)]
        parsed.append(
            list(range(numbers[0] - 1, numbers[-1])) if ".." in word else [number - 1 for number in numbers]
        )
    return parsed


@pytest.mark.parametrize(
    ("times", "size", "slide", "kind", "engine", "expected"),
    [
        (times, size, slide, kind, engine, expected)
        for times, size, slide, kind, engines, expected in PUBLISHED
        for engine in engines.split()
    ],
)
def test_oracle_a_published_experiment_comes_out(times, size, slide, kind, engine, expected):
    assert simulate(engine, times, size, slide, kind=kind) == reports(expected)


PARAMETERS = [
    # engine, t0, i0, report, tick of time windows, tick of count windows
    ("coral8", "⌈(ts1 − ω)/β⌉·β − 1", "0", "content-change non-empty", "batch", "batch"),
    ("oracle_cep", "⌈ts1/β⌉·β − ω", "β − ω", "content-change window-close", "time", "time"),
    ("streambase", "⌈(ts1 − ω)/β⌉·β − 1", "0", "window-close non-empty", "tuple", "tuple"),
    ("stream", "ts1 − ω", "−ω", "window-close non-empty content-change", "time", "time"),
    ("flink", "β − ω − 1", "β − ω", "window-close non-empty", "time", "tuple"),
    ("dataflow", "β − ω − 1", None, "window-close non-empty", "time", None),
    ("storm", "β − ω", "β − ω", "window-close non-empty", "time", "tuple"),
    ("spark_dstream", "β − ω − 1", None, "window-close", "time", None),
    ("kafka_streams", "⌊max(0, ts1 − ω + β)/β⌋·β − 1", None, "non-empty periodic", "tuple", None),
    ("azure", "unknown", None, "window-close non-empty", "time", None),
    ("beam", "⌈(ts1 − ω)/β⌉·β − 1", None, "window-close non-empty", "time", None),
    ("bytewax", "⌈(ts1 − ω)/β⌉·β − 1", None, "window-close non-empty", "tuple", None),
    ("flink_java", "⌈(ts1 − ω)/β⌉·β − 1", "β − ω", "window-close non-empty", "time", "tuple"),
    ("pyflink", "⌈(ts1 − ω)/β⌉·β − 1", "0", "window-close non-empty", "time", "tuple"),
    ("spark_structured", "⌈(ts1 − ω)/β⌉·β − 1", None, "window-close non-empty", "time", None),
]


def text(origin: Origin | None) -> str | None:
    return None if origin is None else origin.formula


@pytest.mark.parametrize(("engine", "t0", "i0", "report", "tick", "count_tick"), PARAMETERS)
def test_a_profile_has_the_parameters_of_its_engine(engine, t0, i0, report, tick, count_tick):
    found = profile(engine)
    assert (text(found.scope.time), text(found.scope.count)) == (t0, i0)
    assert found.report == set(report.split())
    assert found.period == (1 if "periodic" in report else None)
    assert found.tick == tick
    assert (found.count_tick or found.tick) == (count_tick or tick)
    assert found.pick is Pick.LATEST


def test_every_profile_is_in_the_table_and_the_names_are_sorted():
    assert names() == tuple(PROFILES) == tuple(sorted(row[0] for row in PARAMETERS))


def by_text(formula: str, ts1: int, size: int, slide: int) -> int:
    """The formula as a reader would compute it, with exact fractions."""
    python = formula.replace("·", "*").replace("−", "-").replace("⌈", "ceil(").replace("⌊", "floor(")
    python = python.replace("⌉", ")").replace("⌋", ")")
    names = {"ts1": Fraction(ts1), "ω": Fraction(size), "β": Fraction(slide)}
    return int(eval(python, {"ceil": ceil, "floor": floor, "max": max}, names))


@settings(deadline=None)
@given(st.integers(-100, 100), st.integers(1, 20), st.integers(1, 20))
def test_oracle_an_origin_computes_what_its_formula_says(ts1, size, slide):
    for origin in ORIGINS:
        assert origin(ts1, size, slide) == by_text(origin.formula, ts1, size, slide)


# What follows is worked out by hand from the formulas.


def test_the_last_event_only_closes_what_lies_before_it():
    #   time      0  1  2  3  4  5
    #   windows  [t1    ) [t2    )      flink, ω = β = 3: (−1, 2], (2, 5]
    assert simulate("flink", [0, 4], 3, 3) == [[0]]
    assert simulate("flink", [0, 4, 5], 3, 3) == [[0]]
    assert simulate("flink", [0, 4, 5, 6], 3, 3) == [[0], [1, 2]]


@pytest.mark.parametrize("engine", [name for name in names() if name != "azure"])
def test_no_event_gives_no_report(engine):
    assert simulate(engine, [], 3, 2) == []


@pytest.mark.parametrize("engine", [name for name in names() if name not in ("azure", "spark_dstream")])
def test_a_single_event_is_never_reported(engine):
    assert simulate(engine, [1_000], 3, 2) == []


def test_spark_reports_the_empty_windows_since_start_up():
    #   time     0  1  2  3  4  5  6  7
    #   ends           2        5         windows (−1, 2], (2, 5]; 7 is the first event
    assert simulate("spark_dstream", [7], 3, 3) == [[], []]
    assert simulate("spark_dstream", [7, 12, 12, 30], 3, 3) == [[], [], [0], [], [1, 2], [], [], [], [], []]


def test_oracle_cep_reports_an_empty_window_once_after_one_with_events():
    #   ω = 2, β = 1, t0 = −2:  t=0 (−2, 0] t1,  t=1 same,  t=2 (0, 2] ∅,  …,  t=8 (6, 8] ∅
    assert simulate("oracle_cep", [0, 9], 2, 1) == [[0], []]
    assert simulate("stream", [0, 9], 2, 1) == [[0]]


def test_events_between_windows_belong_to_none():
    #   storm, ω = 2, β = 5: t0 = 3, windows (3, 5], (8, 10], (13, 15]
    assert simulate("storm", range(20), 2, 5) == [[4, 5], [9, 10], [14, 15]]


def test_events_before_the_origin_belong_to_no_window():
    #   flink, ω = β = 4: t0 = −1, windows (−1, 3], (3, 7]
    assert simulate("flink", [-9, -1, 0, 3, 4, 9], 4, 4) == [[2, 3], [4]]


def test_negative_first_times_move_origins_that_follow_the_first_event():
    #   stream, ω = β = 3: t0 = −13, windows (−13, −10], (−10, −7]
    assert simulate("stream", [-10, -9, -8, -7, -6], 3, 3) == [[0], [1, 2, 3]]
    #   oracle_cep: t0 = ⌈−10/3⌉·3 − 3 = −12, windows (−12, −9], (−9, −6]
    assert simulate("oracle_cep", [-10, -9, -8, -7, -6, -5], 3, 3) == [[0, 1], [2, 3, 4]]


def test_coral8_ticks_once_a_batch():
    times = (3, 5, 5, 5, 5, 7)
    pairs = simulate("coral8", times, 4, 1, batches=[1, 2, 2, 3, 3, 4])
    assert pairs == reports("t1 t1..t3 t1..t5")
    together = simulate("coral8", times, 4, 1, batches=[1, 2, 2, 2, 2, 3])
    assert together == reports("t1 t1..t5")


def test_one_batch_for_all_events_never_ticks_again():
    assert simulate("coral8", range(10), 3, 1, batches=[7] * 10) == []


def test_kafka_streams_reports_every_update_of_simultaneous_events():
    #   t0 = −1; t = 3, 4, then 5 at each of the four arrivals at 5 but the first, then 5 and 6
    expected = "t1 t1 t1t2 t1..t3 t1..t4 t1..t5 t1..t5"
    assert simulate("kafka_streams", [3, 5, 5, 5, 5, 7], 4, 1) == reports(expected)


def test_a_time_driven_tick_of_count_windows_reports_the_latest():
    #   ω = 2, β = 1, i0 = −1: windows end at 1, 2, …; the tick at 11 passes 1…4, the one at 12 passes 5
    assert simulate("oracle_cep", [10, 10, 10, 10, 11, 12], 2, 1, kind="count") == [[2, 3], [3, 4]]


def test_a_batch_of_count_windows_reports_the_latest():
    batches = [1, 1, 2, 3, 3, 3, 3, 4, 5, 6]
    assert simulate("coral8", SIMULTANEOUS, 1, 1, kind="count", batches=batches) == reports(
        "t2 t3 t7 t8 t9"
    )


def test_the_enums_print_as_the_papers_write_them():
    assert [str(condition) for condition in Report] == [
        "content-change",
        "window-close",
        "non-empty",
        "periodic",
    ]
    assert [str(tick) for tick in Tick] == ["tuple", "time", "batch"]
