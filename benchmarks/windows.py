"""Windows in process against what groups and folds columns in Python: pyarrow, DuckDB, polars.

    python -m benchmarks.windows [--quick] [--json PATH] [--rounds 3]
                                 [--only tumbling sliding rows ysb patterns]

tumbling   10 s, 1,000 keys, count, sum and max: a plain group-by is all that an opponent needs.
sliding    60 s every 1 s, 100 keys, sum. DuckDB folds panes of a second and slides a frame over them, the
           best that SQL has for it; polars has windows that overlap (`group_by_dynamic`).
rows       1,000 events every 10, 100 keys, sum: against polars, by windows that overlap and by a sum for
           each row of which every tenth stays; WindFlow (C++) is quoted.
ysb        Yahoo's benchmark on plain columns of text: filter, join, 10 s count by campaign, in
           this order for all. polars has text in a form of its own: one row has the
           conversion in it, one has not.
patterns   A pattern that is declared, against `auto`, where `auto` would take the same.

Tables of Arrow in, tables of Arrow out, the public API on our side, all cores on both. What they answer is
compared. For windows that do not overlap, polars runs a lazy `group_by` of truncated times on its streaming
engine: its `group_by_dynamic`, and its engine in memory, were slower. Wanted: as fast as they are, and 1.1
times `auto` for a declared pattern.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

import sash
from benchmarks.harness import Opponent, Table, Times, finish, options, turns
from benchmarks.spark.inputs import events
from examples import ysb

Contenders = dict[str, Callable[[], pa.Table]]
SECOND = 1_000_000
WINDFLOW = 13e6
"""Events a second of its Ffat_Windows with two workers and batches of 1,000, on such a machine."""
QUOTED = "WindFlow, Ffat_Windows with two workers (quoted: 13 M events/s)"


def tumbling(rows: int, rounds: int) -> Table:
    table = events(rows, 1_000, 3600)

    def by_sash() -> pa.Table:
        windowed = sash.stream(table, time="ts", key="k").window(sash.tumbling("10 seconds"))
        return windowed.agg(n=sash.count(), s=sash.sum("x"), hi=sash.max("x")).collect()

    def by_pyarrow() -> pa.Table:
        window = pc.floor_temporal(table["ts"], 10, "second")
        grouped = table.append_column("window", window).group_by(["k", "window"])
        return grouped.aggregate([("x", "count"), ("x", "sum"), ("x", "max")])

    query = """
        SELECT k, time_bucket(INTERVAL 10 SECONDS, ts) AS w, count(*) AS n, sum(x) AS s, max(x) AS hi
        FROM events GROUP BY ALL
    """

    def by_polars() -> pa.Table:
        grouped = _lazily(table).group_by("k", pl.col("ts").dt.truncate("10s").alias("w"))
        x = pl.col("x")
        folded = grouped.agg(pl.len().alias("n"), x.sum().alias("s"), x.max().alias("hi"))
        return folded.collect(engine="streaming").to_arrow()

    contenders: Contenders = {
        "sash": by_sash, "pyarrow, group_by": by_pyarrow, "DuckDB, time_bucket": lambda: _sql(query, table),
        "polars, group_by on its streaming engine": by_polars,
    }  # fmt: skip
    renamed = {"x_count": "n", "x_sum": "s", "x_max": "hi"}
    answers = set()
    for run in contenders.values():
        found = run()
        found = found.rename_columns([renamed.get(name, name) for name in found.column_names])
        answers.add((len(found), *(_total(found[name]) for name in ("n", "s", "hi"))))
    assert len(answers) == 1, answers
    title = "in process: tumbling 10 s, 1,000 keys, count, sum and max"
    return _measured(title, contenders, rows=rows, rounds=rounds)


def sliding(rows: int, rounds: int) -> Table:
    table = events(rows, 100, 3600)

    def by_sash() -> pa.Table:
        windowed = sash.stream(table, time="ts", key="k").window(
            sash.sliding("60 seconds", every="1 second")
        )
        return windowed.agg(s=sash.sum("x")).collect()

    query = """
        WITH panes AS (SELECT k, epoch_us(ts) // 1000000 AS pane, sum(x) AS s FROM events GROUP BY ALL)
        SELECT k, pane, sum(s) OVER w AS s FROM panes
        WINDOW w AS (PARTITION BY k ORDER BY pane RANGE BETWEEN 59 PRECEDING AND CURRENT ROW)
    """
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    grouped = frame.sort("k", "ts").set_sorted("ts")

    def by_polars() -> pa.Table:
        windows = grouped.group_by_dynamic("ts", every="1s", period="60s", group_by="k")
        return windows.agg(pl.col("x").sum().alias("s")).to_arrow()

    # SQL has only windows that end with an event.
    ours, theirs = by_sash(), _sql(query, table)
    ends = pc.divide(ours["window"].combine_chunks().field("end").cast(pa.int64()), SECOND)
    named = pa.table([ours["k"], pc.subtract(ends, 1), ours["s"]], ["k", "pane", "ours"])
    both = theirs.join(named, ["k", "pane"], join_type="inner")
    assert both.num_rows == theirs.num_rows
    assert _total(both["ours"]) == _total(both["s"])
    contenders: Contenders = {
        "sash": by_sash, "DuckDB, panes and a RANGE frame": lambda: _sql(query, table),
        "polars, group_by_dynamic of sorted rows": by_polars,
    }  # fmt: skip
    return _measured("in process: 60 s every 1 s, 100 keys, sum", contenders, rows=rows, rounds=rounds)


def by_rows(rows: int, rounds: int) -> Table:
    table = events(rows, 100, 3600)

    def by_sash() -> pa.Table:
        windowed = sash.stream(table, time="ts", key="k").window(sash.rows(1000, every=10))
        return windowed.agg(s=sash.sum("x")).collect()

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)

    def by_polars() -> pa.Table:
        numbered = frame.select("k", "x", pl.int_range(pl.len()).over("k").alias("i"))
        windows = (
            numbered.sort("k", "i")
            .set_sorted("i")
            .group_by_dynamic("i", every="10i", period="1000i", group_by="k")
        )
        return windows.agg(pl.col("x").sum().alias("s")).to_arrow()

    def by_frames() -> pa.Table:
        # From the back, so that the last windows of a key, which are not full, are there too.
        ahead = pl.col("x").reverse().rolling_sum(1000, min_samples=1).reverse()
        number = pl.int_range(pl.len()).over("k")
        sums = frame.select("k", number.alias("i"), ahead.over("k").alias("s"))
        return sums.filter(pl.col("i") % 10 == 0).drop("i").to_arrow()

    contenders: Contenders = {
        "sash": by_sash, "polars, group_by_dynamic of numbered rows": by_polars,
        "polars, rolling_sum, one row of ten": by_frames,
    }  # fmt: skip
    assert len({(len(found), _total(found["s"])) for found in (run() for run in contenders.values())}) == 1
    measured = _measured(
        "in process: 1,000 rows every 10, 100 keys, sum", contenders, rows=rows, rounds=rounds
    )
    ours = next(row.opponent for row in measured.rows if row.opponent is not None).ours
    measured.against(Opponent(QUOTED, rows, ours, Times((rows / WINDFLOW,))), limit=0.5)
    return measured


def yahoo(rows: int, rounds: int) -> Table:
    campaigns = ysb.campaign_table(100)
    plain = ysb.event_table(rows, campaigns)
    columns = [pc.cast(plain[name], pa.string()) for name in ("ad_id", "event_type")]
    table = pa.table([*columns, plain["event_time"]], ["ad_id", "event_type", "event_time"])

    def viewed() -> pa.Table:
        views = table.filter(pc.equal(table["event_type"], "view"))
        campaign = campaigns["campaign_id"].take(pc.index_in(views["ad_id"], campaigns["ad_id"]))
        return pa.table([campaign, views["event_time"]], ["campaign_id", "event_time"])

    def by_sash() -> pa.Table:
        stream = sash.stream(viewed(), time="event_time", key="campaign_id")
        return stream.window(sash.tumbling("10 seconds")).agg(views=sash.count()).collect()

    def by_pyarrow() -> pa.Table:
        views = viewed()
        window = pc.floor_temporal(views["event_time"], 10, "second")
        grouped = views.append_column("window", window).group_by(["campaign_id", "window"])
        return grouped.aggregate([([], "count_all")])

    query = """
        SELECT campaign_id, time_bucket(INTERVAL 10 SECONDS, event_time) AS w, count(*) AS views
        FROM events JOIN campaigns USING (ad_id) WHERE event_type = 'view' GROUP BY ALL
    """
    converted, ads = _lazily(table), _lazily(campaigns)

    def by_polars(events: pl.LazyFrame) -> pa.Table:
        views = events.filter(pl.col("event_type") == "view").join(ads, on="ad_id")
        grouped = views.group_by("campaign_id", pl.col("event_time").dt.truncate("10s").alias("w"))
        return grouped.agg(pl.len().alias("views")).collect(engine="streaming").to_arrow()

    contenders: Contenders = {
        "sash": by_sash, "pyarrow, group_by": by_pyarrow,
        "DuckDB": lambda: _sql(query, table, campaigns),
        "polars, group_by on its streaming engine": lambda: by_polars(_lazily(table)),
        "polars, the same, text converted before": lambda: by_polars(converted),
    }  # fmt: skip
    answers = set()
    for run in contenders.values():
        found = run()
        views = "count_all" if "count_all" in found.column_names else "views"
        answers.add((len(found), _total(found[views]), _total(pc.power(found[views], 2))))
    assert len(answers) == 1, answers
    return _measured("in process: YSB on columns of text", contenders, rows=rows, rounds=rounds)


def patterns(rows: int, rounds: int) -> Table:
    """A declared pattern costs what `auto` costs."""
    table = events(rows, 100, 3600)
    windowed = sash.stream(table, time="ts", key="k").window(sash.tumbling("10 seconds"))
    query = windowed.agg(n=sash.count(), s=sash.sum("x"))
    declared = query.parallel(sash.KeyFarm(2))
    contenders: Contenders = {"sash": declared.collect, "auto": query.collect}
    return _measured(
        "in process: KeyFarm(2), tumbling 10 s", contenders, rows=rows, rounds=rounds, limit=1.1
    )


COMPARISONS = {
    "tumbling": tumbling, "sliding": sliding, "rows": by_rows, "ysb": yahoo, "patterns": patterns,
}  # fmt: skip


def _measured(title: str, contenders: Contenders, *, rows: int, rounds: int, limit: float = 1.0) -> Table:
    times = turns(contenders, rounds=rounds)
    table = Table(title, "opponent")
    table.start()
    for name, theirs in times.items():
        if name != "sash":
            table.against(Opponent(name, rows, times["sash"], theirs), limit=limit)
    return table


def _sql(query: str, events: pa.Table, campaigns: pa.Table | None = None) -> pa.Table:
    """DuckDB reads the tables that have these names here."""
    with duckdb.connect() as connection:
        return connection.sql(query).to_arrow_table()


def _lazily(table: pa.Table) -> pl.LazyFrame:
    """Numbers stay where Arrow has them; text is converted."""
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.lazy()


def _total(column: Any) -> int:
    return int(np.sum(column.to_numpy().astype(np.float64)))


def main() -> int:
    chosen = options("Windows in process against group-bys.", parts=tuple(COMPARISONS))
    rows = 50_000 if chosen.quick else 5_000_000
    return finish([COMPARISONS[name](rows, chosen.rounds) for name in chosen.only], chosen)


if __name__ == "__main__":
    sys.exit(main())
