"""The simulator against the definition, a literal retelling of the model, and brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, groupby, pairwise

import pytest
from hypothesis import given, settings, strategies as st

from sash.semantics.secret import (
    ORIGINS,
    Axis,
    Pick,
    Profile,
    Report,
    Scope,
    Tick,
    model,
    profile,
    simulate,
    trace,
)
from sash.semantics.secret.arrivals import arrivals
from sash.semantics.secret.scope import ScopeWindows
from sash.semantics.secret.simulator import next_due

ENGINES = (
    "coral8",
    "dataflow",
    "flink",
    "kafka_streams",
    "oracle_cep",
    "spark_dstream",
    "storm",
    "stream",
    "streambase",
)
COUNTING = ("coral8", "flink", "oracle_cep", "storm", "stream", "streambase")
LENGTHS = st.integers(1, 8)


@st.composite
def inputs(draw, *, least_step=0, earliest=-12, batched=True):
    """Times with ties and jumps, and batch numbers that may span several times."""
    count = draw(st.integers(0, 10))
    step = st.just(least_step) | st.integers(least_step, 6)  # ties are what engines disagree on
    steps = draw(st.lists(step, min_size=count, max_size=count))
    times = list(accumulate(steps, initial=draw(st.integers(earliest, 25)))) if count else []
    growth = st.lists(st.integers(0, 2), min_size=len(times), max_size=len(times))
    batches = draw(st.none() | growth.map(lambda grow: list(accumulate(grow)))) if batched else None
    return times, batches


@st.composite
def profiles(draw):
    report = draw(st.sets(st.sampled_from(list(Report)), min_size=1))
    return Profile(
        scope=Scope(time=draw(st.sampled_from(ORIGINS)), count=draw(st.sampled_from(ORIGINS))),
        report=report,
        period=draw(st.integers(1, 5)) if Report.PERIODIC in report else None,
        tick=draw(st.sampled_from(list(Tick))),
        count_tick=draw(st.none() | st.sampled_from(list(Tick))),
        pick=draw(st.sampled_from(list(Pick))),
    )


def literal(engine: Profile, times, batches, size, slide, kind):
    """The model once more, sentence by sentence, sharing no line with the implementation."""
    reported = []
    place = dict(enumerate(times if kind == "time" else range(1, len(times) + 1)))
    batches = list(range(len(times))) if batches is None else batches
    origin = engine.scope.time if kind == "time" else engine.scope.count
    tick = engine.tick if kind == "time" else (engine.count_tick or engine.tick)
    ticked = None
    for i in place:
        start = origin.function(place[0], size, slide)
        if i > 0 and tick == "time" and times[i] == times[i - 1]:
            continue
        if i > 0 and tick == "batch" and batches[i] == batches[i - 1]:
            continue
        begin = start if ticked is None else place[ticked]
        evaluated = list(range(begin, place[i]))
        if ticked is not None and place[ticked] == place[i]:
            evaluated = [place[i]]
        ticked = i
        evaluated = [t for t in evaluated if t >= start]

        def held_at(t, i=i, start=start):
            n = 0
            while start + n * slide + size < t:
                n += 1
            return start + n * slide, {j for j in place if j < i and start + n * slide < place[j] <= t}

        def chosen(some):
            return some[0 if engine.pick == "earliest" else -1]

        together = kind == "count" and engine.pick != "all"
        for looked_at in [evaluated] if together else [[t] for t in evaluated]:
            if not looked_at:
                continue
            before = set(reported[-1]) if reported else set()
            _, seen = held_at(chosen(looked_at))
            if "non-empty" in engine.report and not seen:
                continue
            if "content-change" in engine.report and seen == before:
                continue
            if "window-close" in engine.report:
                looked_at = [t for t in looked_at if t == held_at(t)[0] + size and t < place[i]]
            if "periodic" in engine.report:
                looked_at = [t for t in looked_at if t % engine.period == 0]
            if looked_at:
                reported.append(sorted(held_at(chosen(looked_at))[1]))
    return reported


@settings(max_examples=300, deadline=None)
@given(profiles(), inputs(), LENGTHS, LENGTHS, st.sampled_from(["time", "count"]))
def test_oracle_any_profile_reports_what_the_model_says_word_by_word(
    engine, given_input, size, slide, kind
):
    times, batches = given_input
    expected = literal(engine, times, batches, size, slide, kind)
    assert simulate(engine, times, size, slide, kind=kind, batches=batches) == expected


@settings(max_examples=300, deadline=None)
@given(profiles(), inputs(), LENGTHS, LENGTHS, st.sampled_from(["time", "count"]))
def test_differential_leaping_and_looking_at_every_instant_agree(engine, given_input, size, slide, kind):
    times, batches = given_input
    events = arrivals(times, batches=batches)
    expected = list(model.evaluate(engine, Axis(kind), events, size, slide))
    assert trace(engine, times, size, slide, kind=kind, batches=batches) == expected


def closed_windows(name, positions, size, slide):
    """All windows that end before the last position, enumerated from the origin."""
    scope = profile(name).scope
    origin = scope.count if isinstance(positions, range) else scope.time
    start = origin(positions[0], size, slide)
    windows = []
    while start + size < positions[-1]:
        windows.append([i for i, place in enumerate(positions) if start < place <= start + size])
        start += slide
    return windows


@pytest.mark.parametrize("name", ["dataflow", "flink", "spark_dstream", "storm", "streambase"])
@settings(deadline=None)
@given(given_input=inputs(), size=LENGTHS, slide=LENGTHS)
def test_oracle_window_close_engines_report_the_windows_that_ended(name, given_input, size, slide):
    times, _ = given_input
    windows = closed_windows(name, times, size, slide) if times else []
    expected = windows if name == "spark_dstream" else [window for window in windows if window]
    assert simulate(name, times, size, slide) == expected


@pytest.mark.parametrize("name", ["oracle_cep", "stream"])
@settings(deadline=None)
@given(given_input=inputs(), size=LENGTHS, slide=LENGTHS)
def test_oracle_engines_that_wait_for_a_change_leave_out_repeated_windows(name, given_input, size, slide):
    times, _ = given_input
    windows = [[], *closed_windows(name, times, size, slide)] if times else [[]]
    if name == "stream":
        windows = [[], *(window for window in windows if window)]
    assert simulate(name, times, size, slide) == [window for window, _ in groupby(windows)][1:]


@pytest.mark.parametrize("name", ["flink", "storm", "streambase"])
@settings(deadline=None)
@given(given_input=inputs(), size=LENGTHS, slide=LENGTHS)
def test_oracle_count_windows_close_one_by_one_when_every_event_ticks(name, given_input, size, slide):
    times, _ = given_input
    windows = closed_windows(name, range(1, len(times) + 1), size, slide) if times else []
    assert simulate(name, times, size, slide, kind="count") == windows


@settings(deadline=None)
@given(profiles(), inputs(), LENGTHS, LENGTHS, st.sampled_from(["time", "count"]))
def test_every_report_is_a_run_of_neighbours_that_arrived_before_its_tick(
    engine, given_input, size, slide, kind
):
    times, batches = given_input
    for report in trace(engine, times, size, slide, kind=kind, batches=batches):
        assert report.content.step == 1
        assert not report.content or report.content[-1] < report.arrival


@settings(deadline=None)
@given(profiles(), inputs(), LENGTHS, LENGTHS, st.sampled_from(["time", "count"]))
def test_reports_never_go_back_in_time_and_their_ends_never_decrease(
    engine, given_input, size, slide, kind
):
    times, batches = given_input
    reports = trace(engine, times, size, slide, kind=kind, batches=batches)
    order = [(report.arrival, report.instant) for report in reports]
    assert order == sorted(order)
    held = [report.content for report in reports if report.content]
    assert [content[0] for content in held] == sorted(content[0] for content in held)
    assert [content[-1] for content in held] == sorted(content[-1] for content in held)


@settings(deadline=None)
@given(
    profiles(), inputs(least_step=1, batched=False), LENGTHS, LENGTHS, st.sampled_from(["time", "count"])
)
def test_all_ticks_agree_when_every_event_has_its_own_time_and_batch(
    engine, given_input, size, slide, kind
):
    times, _ = given_input
    ways = [
        simulate(replace(engine, tick=tick, count_tick=None), times, size, slide, kind=kind)
        for tick in Tick
    ]
    assert ways[0] == ways[1] == ways[2]


@settings(deadline=None)
@given(profiles(), inputs(batched=False), LENGTHS, LENGTHS, st.sampled_from(["time", "count"]))
def test_batch_ticks_lie_between_time_ticks_and_tuple_ticks(engine, given_input, size, slide, kind):
    times, _ = given_input

    def ticking(tick, **options):
        return simulate(
            replace(engine, tick=tick, count_tick=None), times, size, slide, kind=kind, **options
        )

    assert ticking(Tick.BATCH) == ticking(Tick.TUPLE)
    assert ticking(Tick.BATCH, batches=times) == ticking(Tick.TIME)


@pytest.mark.parametrize("name", sorted(set(ENGINES) - {"spark_dstream"}))
@settings(deadline=None)
@given(given_input=inputs(earliest=8), size=LENGTHS, slide=LENGTHS, shift=st.integers(0, 5))
def test_moving_all_times_by_slides_changes_no_report(name, given_input, size, slide, shift):
    # From 8 on no time lies before an origin that is fixed by start-up, whatever size and slide up to 8.
    times, batches = given_input
    moved = [time + shift * slide for time in times]
    assert simulate(name, moved, size, slide, batches=batches) == simulate(
        name, times, size, slide, batches=batches
    )


@settings(deadline=None)
@given(inputs(), LENGTHS, LENGTHS, st.integers(-50, 50))
def test_stream_follows_the_first_event_wherever_it_is(given_input, size, slide, shift):
    times, _ = given_input
    assert simulate("stream", [time + shift for time in times], size, slide) == simulate(
        "stream", times, size, slide
    )


@pytest.mark.parametrize("name", COUNTING)
@settings(deadline=None)
@given(given_input=inputs(least_step=1, batched=False), size=LENGTHS, slide=LENGTHS)
def test_count_windows_see_times_only_through_their_ties(name, given_input, size, slide):
    times, _ = given_input
    numbers = range(len(times))
    assert simulate(name, times, size, slide, kind="count") == simulate(
        name, numbers, size, slide, kind="count"
    )


@settings(deadline=None)
@given(inputs(), LENGTHS, LENGTHS)
def test_pick_reports_one_of_what_all_would_report(given_input, size, slide):
    times, _ = given_input
    engine = profile("stream")
    everything = trace(replace(engine, pick=Pick.ALL), times, size, slide, kind="count")
    by_tick = [list(group) for _, group in groupby(everything, key=lambda report: report.arrival)]
    latest = trace(engine, times, size, slide, kind="count")
    earliest = trace(replace(engine, pick=Pick.EARLIEST), times, size, slide, kind="count")
    if slide <= size:
        assert latest == [group[-1] for group in by_tick]
        assert earliest == [group[0] for group in by_tick]
    else:
        # STREAM asks for a content: the number that Pick takes of a tick must not lie in a gap.
        windows = ScopeWindows(-size, size, slide)
        ticking = model.ticks(Tick.TIME, arrivals(times))
        previous = {now: before for before, now in pairwise(ticking)}
        assert latest == [group[-1] for group in by_tick if holds(windows, group[0].arrival)]
        assert earliest == [group[0] for group in by_tick if holds(windows, previous[group[0].arrival] + 1)]


def holds(windows: ScopeWindows, number: int) -> bool:
    """Whether the scope at the number holds the event of that number."""
    return windows.scope(number)[0] < number


def test_a_content_that_was_not_reported_is_not_what_a_change_is_compared_with():
    engine = Profile(
        scope=profile("streambase").scope,
        report={Report.CONTENT_CHANGE},
        tick=Tick.TIME,
        pick=Pick.EARLIEST,
    )
    #   ω = 1, β = 3, i0 = 0: windows (0, 1], (3, 4]; the tick at 11 passes numbers 1, 2, 3: t1, ∅, ∅.
    assert simulate(engine, [10, 10, 10, 11], 1, 3, kind="count") == [[0]]
    assert simulate(replace(engine, pick=Pick.ALL), [10, 10, 10, 11], 1, 3, kind="count") == [[0], []]
    #   The latest number is seen: ∅, and nothing has been reported, so ∅ is no change.
    assert simulate(replace(engine, pick=Pick.LATEST), [10, 10, 10, 11], 1, 3, kind="count") == []


# The rule for β > ω, worked out by hand: the content conditions see the latest number of a tick.


def test_coral8_does_not_report_a_window_when_its_batch_goes_on_into_the_gap():
    #   number   1   2 | 3   4 | 5   6      windows (0, 2], (4, 6]; 3 and 4 lie in the gap
    #   batch    1   2   2   3   4   5      the tick of batch 3 passes 2, 3 and sees ∅ at 3
    reports = simulate("coral8", [1, 2, 2, 4, 5, 8], 2, 4, kind="count", batches=[1, 2, 2, 3, 4, 5])
    assert reports == [[0], [4]]
    alone = simulate("coral8", [1, 2, 2, 4, 5, 8], 2, 4, kind="count")
    assert alone == [[0], [0, 1], [4]]


def test_stream_does_not_report_a_window_that_closes_before_the_gap_of_its_tick():
    #   windows (−4, 0], (1, 5], (6, 10]; the tick at 33 passes 4, 5, 6: (1, 5] ends at 5, and 6 holds ∅
    assert simulate("stream", [17, 19, 19, 24, 24, 24, 33], 4, 5, kind="count") == []
    #   With another event at 24 the tick passes 4 … 7 and sees t7, so that (1, 5] is reported.
    assert simulate("stream", [17, 19, 19, 24, 24, 24, 24, 33], 4, 5, kind="count") == [[1, 2, 3, 4]]


def test_oracle_cep_reports_a_window_before_a_gap_only_after_another_report():
    #   i0 = 3, windows (3, 5], (8, 10]; the tick at 32 passes 5, 6 and sees ∅: as nothing is reported yet,
    #   that is no change
    assert simulate("oracle_cep", [16, 25, 25, 28, 29, 29, 32, 34], 2, 5, kind="count") == []
    #   the tick of number 11 at 40 passes 9, 10 and sees t9t10; that of 17 at 52 passes 15, 16 and sees ∅:
    #   a change
    times = [16, 25, 25, 28, 29, 29, 32, 34, 39, 39, 40, 41, 42, 43, 51, 51, 52]
    assert simulate("oracle_cep", times, 2, 5, kind="count") == [[8, 9], [13, 14]]


@settings(deadline=None)
@given(st.integers(-30, 30), LENGTHS, LENGTHS, st.integers(-30, 60))
def test_the_closed_forms_of_a_scope_agree_with_a_search(start, size, slide, t):
    windows = ScopeWindows(start, size, slide)
    ends = [start + n * slide + size for n in range(100)]
    assert windows.ends_at(t) == (t in ends)
    assert windows.next_end(t) == next(end for end in ends if end >= t)
    position = max(t, start + 1)
    leaves = windows.leaves_at(position)
    assert windows.scope(leaves)[0] >= position > windows.scope(leaves - 1)[0]


@settings(deadline=None)
@given(profiles(), LENGTHS, LENGTHS, st.integers(-30, 30), st.integers(0, 60))
def test_the_next_due_instant_is_the_first_that_is_due(engine, size, slide, start, ahead):
    windows, never = ScopeWindows(start, size, slide), 10**6
    t = start + ahead
    # Ends repeat modulo the period within slide · period instants.
    due = (u for u in range(t, t + size + slide * 5 + 60) if model.is_due(engine, windows, u, never))
    assert next_due(engine, windows, t, never) == next(due, never)


@pytest.mark.parametrize("name", ENGINES)
def test_a_jump_in_time_costs_as_many_looks_as_there_are_events_and_reports(name, monkeypatch):
    looks = 0
    look = model.content

    def counted(*arguments):
        nonlocal looks
        looks += 1
        return look(*arguments)

    monkeypatch.setattr(model, "content", counted)
    far = 10**15
    size, slide = (far // 8, far // 16) if name == "spark_dstream" else (6, 2)
    times = [0, 1, 1, 5, far, far + 1, 2 * far]
    reports = simulate(name, times, size, slide)
    assert any(reports)
    assert looks <= 3 * len(times) + len(reports)


def test_conditions_that_never_meet_are_not_waited_for():
    even = replace(profile("spark_dstream"), report={Report.WINDOW_CLOSE, Report.PERIODIC}, period=2)
    # ω = β = 2: the windows of spark_dstream end at 1, 3, 5, … and those of storm at 2, 4, 6, …
    assert simulate(even, [0, 10**15], 2, 2) == []
    assert simulate(replace(even, scope=profile("storm").scope), [0, 9], 2, 2) == [[], [], [], []]
