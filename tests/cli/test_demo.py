"""`sash demo`: the market that it makes up, and its course without a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from rich.console import Console
from typer.testing import CliRunner

from sash.cli.demo.board import DASH, Board
from sash.cli.demo.market import SCHEMA, SECOND, Market
from sash.cli.demo.queries import PIPELINE
from sash.cli.demo.run_demo import shown
from sash.cli.main import app
from sash.dashboard.feed import Feed
from sash.errors import ArgumentError
from sash.pipeline import read
from tests.cli.interrupting import interrupted_when

OPENS = 1_767_609_000 * SECOND
CLOSES = OPENS + 120 * SECOND


def day(*, symbols: int = 300, rate: float = 500.0, seed: int = 1, minutes: int = 1) -> list[pa.Table]:
    """What arrives in each second until everything has."""
    market = Market(symbols=symbols, rate=rate, opens=OPENS, seed=seed)
    arrived = [market.until(OPENS + second * SECOND) for second in range(1, 60 * minutes + 1)]
    market.rest_until(CLOSES)
    return [*arrived, market.until(CLOSES)]


def test_the_same_seed_is_the_same_market() -> None:
    first, again, other = (pa.concat_tables(day(seed=seed)) for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 500), st.sampled_from([1.0, 50.0, 500.0]), st.integers(0, 99))
def test_volumes_grow_in_the_order_of_time_and_prices_stay_positive(
    symbols: int, rate: float, seed: int
) -> None:
    quotes = pa.concat_tables(day(symbols=symbols, rate=rate, seed=seed))
    assert quotes.schema == SCHEMA
    ordered = quotes.sort_by([("symbol", "ascending"), ("volume", "ascending")])
    same = pc.equal(ordered["symbol"][1:], ordered["symbol"][:-1]).to_numpy()
    steps = np.diff(ordered["ts"].cast(pa.int64()).to_numpy())[same]
    assert (steps >= 0).all()
    grown = np.diff(ordered["volume"].to_numpy())[same]
    assert (grown == ordered["size"].to_numpy()[1:][same]).all()
    assert (quotes["price"].to_numpy() > 0).all()


def test_quotes_come_in_bursts_out_of_order_and_some_too_late() -> None:
    seconds = day(minutes=1)
    quotes = pa.concat_tables(seconds)
    counts = np.array([table.num_rows for table in seconds[:-1]])
    assert counts.max() > 2.5 * np.median(counts)
    times = quotes["ts"].cast(pa.int64()).to_numpy()
    behind = np.maximum.accumulate(times) - times
    assert (behind > 0).mean() > 0.2
    assert 0.001 < (behind > 2 * SECOND).mean() < 0.02
    symbols = pc.value_counts(quotes["symbol"].combine_chunks())
    assert len(symbols) > 250


@pytest.mark.parametrize(("symbols", "rate"), [(0, 1.0), (20_000, 1.0), (1, 0.0)])
def test_a_market_that_cannot_be_is_refused(symbols: int, rate: float) -> None:
    with pytest.raises(ArgumentError, match=r"(symbols|rate) must be"):
        Market(symbols=symbols, rate=rate, opens=OPENS)


def test_the_board_shows_what_was_measured_and_a_dash_for_what_was_not() -> None:
    feed = Feed()
    board = Board(feed, {"market/sliding": "sliding", "market/volume": "volume"})
    frame = {
        "kind": "frame", "query": "market/sliding", "events": 100, "late": 1, "reports": 7, "rate": 50.0,
        "open": 12, "watermark": 1_767_609_000_000, "degree": 2, "latency": 400,
    }  # fmt: skip
    feed.take(frame)
    feed.take(frame | {"events": 0, "late": 0, "rate": None})
    board.update()
    assert board.rows() == [
        ("sliding", "100", "50", "10:30:00", "12 per symbol", "1", "14", "2", "0.4 s"),
        ("volume", "0", DASH, DASH, DASH, "0", "0", DASH, DASH),
    ]
    assert board.behind(100) == ["volume"]


def test_in_a_terminal_the_board_is_drawn_anew_and_elsewhere_it_is_lines() -> None:
    board = Board(Feed(), {"market/sliding": "sliding"})
    screens = {}
    for terminal in (True, False):
        console = Console(force_terminal=terminal, file=io.StringIO(), width=120)
        with shown(console, board) as show:
            show("first", False)
            show("last", True)
        screens[terminal] = console.file.getvalue()  # type: ignore[attr-defined]
    assert "┃" in screens[True]
    assert "\x1b[2K" in screens[True]
    assert screens[False].splitlines()[0] == "last"
    assert "\x1b" not in screens[False]


def test_the_pipeline_that_the_demo_leaves_behind_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE)
    assert [query.name for query in read(file).queries] == ["sliding", "volume"]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_the_demo_streams_writes_and_ends_with_a_summary_at_an_interrupt(tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ["--seconds", "300", "--symbols", "20", "--rate", "200", "--out", str(out)]
    with interrupted_when(lambda: any((out / "features").rglob("*.parquet"))):
        answer = CliRunner().invoke(app, ["demo", *options])
    assert answer.exit_code == 0, answer.output
    assert re.search(r"live page: http://127\.0\.0\.1:\d+/", answer.output)
    assert "stopped early" in answer.output
    assert f"sash run {out / 'pipeline.toml'}" in answer.output
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", answer.output)
    files = list((out / "quotes").glob("*.parquet"))
    quotes = sum(pq.ParquetFile(file).metadata.num_rows for file in files)
    assert f"{quotes:,} quotes in {len(files)} files" in answer.output


def test_a_folder_that_is_in_use_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    answer = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert answer.exit_code == 2
    assert "out must be a folder that is empty, or not there yet" in answer.output


@pytest.mark.soak
def test_the_demo_ends_by_itself_in_a_terminal_and_shows_nothing_of_sparks_own(tmp_path: Path) -> None:
    screen, terminal = pty.openpty()
    command = [sys.executable, "-m", "sash", "demo", "--seconds", "5", "--out", str(tmp_path / "out")]
    demo = subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal)
    os.close(terminal)
    printed = b""
    while True:
        try:
            printed += os.read(screen, 65536)
        except OSError:  # the other end is closed
            break
    assert demo.wait() == 0
    text = printed.decode()
    assert "what was computed" in text
    assert "To try next:" in text
    for word in ("WARN", "TransformWithState", "Exception", "Traceback"):
        assert word not in text
