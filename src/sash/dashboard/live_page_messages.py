"""Messages about running queries: plain JSON, the same in memory, in a file and on the wire. The page shows
the numbers of a frame in `static/js/live-page-numbers.js`. Numbers that need more than one report of
Spark's (`rate`, `open`) are put in by `query_watcher`.

    about     what the query is: explain() as data and as text, its keys, whether it is elastic
    started   a run of it began
    frame     one micro-batch, in numbers; None is 'not measured', and never a guess
    reports   windows that a micro-batch has written, and the hottest keys among them; how many rows it has
              written (`seen`), and how many of them, the last, this is of (`read`)
    ended     the run is over, with the error if there was one

Every message is a dict with `kind` and `query`, the name of the query: that of its stream, and for one of
several that run together 'stream/query'. A frame has

    batch, at           its number, and when it began, in milliseconds since 1970 (so are all instants)
    batches             how many micro-batches it is of: several where the page cannot follow; then the
                        counts are of all of them, and the rest is of the latest
    events, late, reports        counts of this micro-batch
    rate, capacity      events per second: since the micro-batch before began, and while this one worked
    latency             milliseconds from the trigger to the commit
    newest, watermark   the newest event time seen, and the time up to which windows are closed
    open                windows of a busy key that have begun and wait for the watermark
    state_rows, state_bytes      what the state store holds; of all queries that run together, `shared`
    read, written       bytes of state that this micro-batch moved
    degree              the tasks that shared the stateful work
    decisions           how it was computed, and why: a sentence for each thing that was decided between two
                        batches
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeAlias

from sash.runtimes.observed_counts import counts_by_query, decisions_in
from sash.semantics.time_format import EPOCH

Message: TypeAlias = Mapping[str, Any]
Frames: TypeAlias = dict[str, dict[str, Any]]
"""Of a micro-batch: of each query that runs in the stream, by its name."""

KINDS = ("about", "started", "frame", "reports", "ended")
COUNTED = ("events", "late", "reports", "read", "written")
"""Of the counts that Sash adds to Spark's progress reports, those that a frame has."""


class MessageSink(Protocol):
    """Takes messages: a `Feed`, which a page shows, or a `MessageFolder`, which another process reads."""

    def take(self, message: Message) -> None: ...


def name_in(stream: str, query: str) -> str:
    """What one of several queries is called; the empty name is that of a query that runs alone."""
    return f"{stream}/{query}" if query else stream


def frames_of(progress: Mapping[str, Any], *, stream: str, queries: Collection[str] = ()) -> Frames:
    """One of Spark's progress reports (its JSON) as frames: one for each query that runs in it, by name.
    `queries` are those that are known to, for a report that has no counts.

    The rate is left to the caller, who knows the frame before: Spark's own counts from the last time that
    it looked for data, and found none. So is the delay of a query that runs with others, which Spark's
    watermark does not have.

    >>> report = {"batchId": 7, "timestamp": "2026-01-05T10:30:00.000Z", "numInputRows": 100,
    ...     "durationMs": {"triggerExecution": 400}, "eventTime": {}, "stateOperators": [],
    ...     "observedMetrics": {"sash 1f3a09bc": {"events": 200, "late": 3}}}
    >>> frame = frames_of(report, stream="trades")[""]
    >>> frame["events"], frame["capacity"], frame["late"], frame["watermark"]
    (200, 500.0, 3, None)
    """
    counted = counts_by_query(progress.get("observedMetrics") or {}, COUNTED)
    found = counted or {query: {} for query in queries or ("",)}
    return {query: _frame(progress, stream, query, counts) for query, counts in found.items()}


def added_up(earlier: Frames, later: Frames) -> Frames:
    """Frames of two micro-batches as those of one.

    >>> one, two = frames_of({"batchId": 7}, stream="trades"), frames_of({"batchId": 8}, stream="trades")
    >>> one[""]["events"], one[""]["late"], two[""]["events"], two[""]["reports"] = 3, 1, 4, 2
    >>> [added_up(one, two)[""][name] for name in ("batch", "batches", "events", "late", "reports", "read")]
    [8, 2, 7, 1, 2, None]
    """
    both = earlier.keys() & later.keys()
    return earlier | later | {query: _both(earlier[query], later[query]) for query in both}


def _both(earlier: Message, later: Message) -> dict[str, Any]:
    found = dict(later)
    for name in ("batches", *COUNTED, "newest"):
        known = [one[name] for one in (earlier, later) if one[name] is not None]
        if known:
            found[name] = max(known) if name == "newest" else sum(known)
    return found


def _frame(
    progress: Mapping[str, Any], stream: str, query: str, counts: Mapping[str, int]
) -> dict[str, Any]:
    # A file of many events can be one row to Spark, so that its own count is the second best.
    events = counts.get("events", int(progress.get("numInputRows") or 0))
    took = progress.get("durationMs", {}).get("triggerExecution", progress.get("batchDuration"))
    clock, states = progress.get("eventTime") or {}, progress.get("stateOperators") or []
    return {
        "kind": "frame",
        "query": name_in(stream, query),
        "batch": progress["batchId"],
        "batches": 1,
        "at": instant(progress.get("timestamp")),
        "events": events,
        "late": counts.get("late"),
        "reports": counts.get("reports"),
        "rate": None,
        "capacity": 1000 * events / took if took else None,
        "latency": took,
        "newest": instant(clock.get("max")),
        "watermark": instant(clock.get("watermark")),
        "open": None,
        "state_rows": _total(states, "numRowsTotal"),
        "state_bytes": _total(states, "memoryUsedBytes"),
        "shared": query != "",
        "read": counts.get("read"),
        "written": counts.get("written"),
        "degree": states[0].get("numShufflePartitions") if states else None,
        "decisions": decisions_in(progress),
    }


def instant(text: Any) -> int | None:
    """Milliseconds since 1970 of a clock time as Spark writes it; None for 1970 itself, which means that
    nothing is known yet, and for the far years in which Sash counts integer times.

    >>> instant("2026-01-05T10:30:00.250Z"), instant("1970-01-01T00:00:00.000Z"), instant("+144683-01-01")
    (1767609000250, None, None)
    """
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment - EPOCH) // timedelta(milliseconds=1) or None
    except (ValueError, TypeError):
        return None


def _total(states: Iterable[Mapping[str, Any]], name: str) -> int | None:
    known = [state[name] for state in states if name in state]
    return sum(known) if known else None
