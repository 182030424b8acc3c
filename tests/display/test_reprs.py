"""What people read when they look at an object: a sentence in a terminal, a little HTML in a notebook."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

import sash
from sash.display import tables

HOSTILE = '<script>alert("x")</script> & more'
EVENTS = pa.table(
    {"t": [0, 20, 50, 70], "card": ["x", HOSTILE, None, "x"], "amount": [9.0, 25.0, None, 3.0]}
)
WINDOWS = {
    "sliding": sash.sliding("1 hour", every="1 second"),
    "tumbling": sash.tumbling(5),
    "hopping": sash.hopping(2, every=5),
    "rows": sash.rows(100, every=10),
    "session": sash.session("10 minutes"),
    "slide_by_tuple": sash.slide_by_tuple("1 hour", 3),
    "slide_by_time": sash.slide_by_time(10, "1 minute"),
    "lifetime": sash.lifetime(),
    "delta": sash.delta("km", 5, 4),
    "policy": sash.policy(lambda total, old: total.n > 3, track={"n": sash.count()}),
    "cumulate": sash.cumulate("1 day", "1 hour"),
    "threshold": sash.threshold(lambda row: row.x > 1),
    "punctuated": sash.punctuated(lambda row: row.end),
}


def stream() -> Any:
    return sash.stream(EVENTS, time="t", key="card", delay=5)


def query() -> Any:
    return stream().window(sash.tumbling(60).named(HOSTILE)).agg(n=sash.count(), total=sash.sum("amount"))


def join() -> Any:
    return stream().join(stream(), within=30, where=lambda one, other: one.amount < other.amount)


SHOWN = {
    "query": query,
    "join": join,
    "plan": lambda: query().plan(),
    "head": lambda: query().head(),
}


def parsed(html: str) -> ElementTree.Element:
    """The element, if it is well-formed: one root, all tags closed, everything else escaped."""
    return ElementTree.fromstring(html)


def words(html: str) -> str:
    return " ".join("".join(parsed(html).itertext()).split())


def test_every_window_kind_is_looked_at_here() -> None:
    from sash.semantics import windows

    kinds = {name for name in windows.__all__ if not name.endswith("Window")} - {"time"}
    assert kinds <= WINDOWS.keys()


@pytest.mark.parametrize("window", WINDOWS.values(), ids=WINDOWS)
def test_a_window_shows_its_formula_and_its_class(window: Any) -> None:
    for text in (repr(window), window._repr_markdown_()):
        assert window.written in text
        assert " ".join(window.formula.split()) in " ".join(text.split())
        assert window.context.value in text


def test_a_window_is_told_in_one_sentence() -> None:
    assert repr(sash.rows(4, every=2).named("short")) == (
        "<sash window 'short', rows(4, every=2): E(w) = { i : w·2 ≤ i < w·2 + 4 }, w ≥ 0, context-free>"
    )


def test_an_aggregate_is_told_with_its_algebra() -> None:
    assert repr(sash.max("price")) == "<sash aggregate max(price): commutative, idempotent>"
    assert repr(sash.collect("x")) == "<sash aggregate collect(x)>"


@pytest.mark.parametrize(
    ("aggregate", "shown"),
    [
        (sash.ewm("x", half_life=3), "ewm(x, half_life=3)"),
        (sash.histogram("x", edges=[0, 1]), "histogram(x, edges=[0, 1])"),
        (sash.last("x", 3, distinct=True, where="x > 1"), "last(x, 3, distinct=True, where=x > 1)"),
        (sash.quantile("x", 0.5, sketch="tdigest"), "quantile(x, 0.5, sketch='tdigest')"),
        (sash.sum(column="x"), "sum(x)"),
        (sash.count(), "count()"),
    ],
)
def test_an_aggregate_and_explain_show_its_arguments(aggregate: sash.Monoid, shown: str) -> None:
    assert str(aggregate) == shown
    times = pa.array([0], pa.timestamp("us", "UTC"))
    stream = sash.stream(pa.table({"ts": times, "x": [1.0]}), time="ts")
    assert f"v = {shown}\n" in stream.window(sash.rows(3)).agg(v=aggregate).explain()


def test_a_stream_and_its_windows_do_not_spill_their_data() -> None:
    assert repr(stream()) == "<sash stream over t by card in event-time order, delay 5: t, card, amount>"
    assert repr(stream().window(sash.rows(2))).startswith(
        "<sash windows: rows(2, every=2) of <sash stream over t"
    )


def test_a_query_is_told_as_windows_keys_and_aggregates() -> None:
    made = stream().window(sash.tumbling(60)).agg(n=sash.count(), total=sash.sum("amount"))
    assert repr(made) == "<sash query: tumbling(60) over t by card → n = count(), total = sum(amount)>"
    rolling, latest = stream().rolling(60, 3600), stream().latest(60)
    assert (
        repr(rolling.agg(n=sash.count())) == "<sash query: rolling 60, 3600 over t by card → n = count()>"
    )
    assert repr(latest.agg(n=sash.count())) == "<sash query: latest 60 over t by card → n = count()>"
    whole = stream().window(sash.rows(2)).apply(lambda events: {"n": 1}, schema="n int")
    assert repr(whole) == "<sash query: rows(2, every=2) over t by card → n>"
    assert repr(whole.late()).startswith("<sash late output: events that rows(2, every=2) cannot place")


def test_a_query_shows_formula_algorithm_and_pattern_in_a_notebook() -> None:
    text, explanation = words(query()._repr_html_()), query().plan().explanation
    assert "E(w) = { τ : w·(60) ≤ τ < w·(60) + 60 }" in text
    assert "context-free" in text
    assert "n = count(), total = sum(amount)" in text
    assert f"{explanation.algorithm.name}: {explanation.algorithm.how}" in text
    assert f"{explanation.pattern.name}: {explanation.pattern.why}" in text


def test_a_plan_shows_its_candidates_with_the_chosen_one_marked() -> None:
    plan = query().plan()
    rows = [["".join(cell.itertext()) for cell in row] for row in parsed(plan._repr_html_()).iter("tr")]
    candidates = [row for row in rows if len(row) == 4 and row[1] != "pattern"]
    assert [row[1] for row in candidates if row[0] == "→"] == [plan.explanation.pattern.name]
    assert len(candidates) == len(plan.explanation.pattern.candidates)
    algorithm, pattern = plan.explanation.algorithm.name, plan.explanation.pattern
    assert repr(plan) == f"<sash plan: {algorithm} by {pattern.name}, because {pattern.why}>"


def test_the_plan_as_text_is_what_explain_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert str(query().plan()) == query().explain("plan")
    assert capsys.readouterr().out.strip() == str(query().plan())


def test_a_join_shows_its_pairs_and_how_they_are_found() -> None:
    text = words(join()._repr_html_())
    assert "|τ_l − τ_r| ≤ 30" in text
    assert "hash" in text
    assert repr(join()).startswith("<sash join within 30")
    assert repr(join().late("left")) == (
        "<sash late output of the left: events that came too late for any pair>"
    )


def test_the_head_of_an_answer_is_a_table_of_rows() -> None:
    made = (
        sash.stream(EVENTS, time="t")
        .window(sash.tumbling(60))
        .agg(n=sash.count(), mean=sash.mean("amount"))
    )
    assert repr(made.head(1)).splitlines() == [
        "window     n  mean",
        "0: 0 – 60  3    17",
        "1 of 2 rows",
    ]
    assert "null" in repr(stream().window(sash.rows(1)).agg(s=sash.sum("amount")).head())
    assert repr(join().head()).endswith("rows")
    assert repr(made.late().head()).endswith("0 of 0 rows")
    with pytest.raises(sash.errors.ArgumentError, match="rows must be a positive number of rows"):
        made.head(0)


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
def test_html_is_well_formed_and_nothing_in_it_is_taken_for_markup(make: Any) -> None:
    html = make()._repr_html_()
    assert "<script>" not in html
    parsed(html)


def test_names_and_values_are_shown_as_they_are() -> None:
    assert HOSTILE in words(query()._repr_html_())
    assert HOSTILE in words(query().head()._repr_html_())
    assert HOSTILE in sash.tumbling(2).named(HOSTILE)._repr_markdown_()


@pytest.mark.parametrize("make", SHOWN.values(), ids=SHOWN)
def test_html_takes_its_colours_from_the_page_it_is_shown_on(make: Any) -> None:
    styles = [element.get("style", "") for element in parsed(make()._repr_html_()).iter()]
    named = [style for style in styles if "color" in style]
    assert named == ["color:inherit"]
    assert not any("background" in style for style in styles)


def test_numbers_stand_in_columns() -> None:
    assert tables.as_text(("name", "bytes"), [("a", "1,024"), ("long name", "7")]) == [
        "name       bytes",
        "a          1,024",
        "long name      7",
    ]
    assert tables.as_text(("name",), []) == ["name"]


def test_a_name_cannot_bring_markup_into_a_notebook() -> None:
    lines = sash.tumbling(5).named(f"{HOSTILE}\n\n{HOSTILE}")._repr_markdown_().splitlines()
    assert lines[0] == "**context-free window**"
    assert all(line.startswith("    ") for line in lines[2:])
