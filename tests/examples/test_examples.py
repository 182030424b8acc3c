"""Every example runs as a reader would run it, and what it computes is what its first line says."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

import sash
from examples import algo_trader, skyline, ysb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


OWN_PROCESS = "algo_trader.py"
"""Starts worker processes, which find their way back to the script."""
ON_SPARK = {
    "fraud_features.py": [],
    "clickstream_sessions.py": ["--spark"],
    "chained_windows.py": ["--spark"],
}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name not in (*ON_SPARK, OWN_PROCESS)])
def test_an_example_runs_as_a_script(name: str, run_script: Script) -> None:
    assert "windows" in run_script(name)


@pytest.mark.spark
@pytest.mark.parametrize("name", ON_SPARK)
def test_an_example_runs_as_a_script_on_spark(name: str, run_script: Script, spark: SparkSession) -> None:
    # sash.spark_session() of the script finds the session of the tests, so that Spark need not start again.
    assert "windows" in run_script(name, *ON_SPARK[name])


Script = Callable[..., str]


@pytest.fixture
def run_script(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Script:
    """What `python examples/<name>` prints. A process of its own would spend its time on imports."""

    def run(name: str, *options: str) -> str:
        monkeypatch.setattr(sys, "argv", [name, "--events", "1500", *options])
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
        assert end.value.code == 0
        return capsys.readouterr().out

    return run


def test_an_example_runs_in_a_process_of_its_own() -> None:
    command = [sys.executable, f"examples/{OWN_PROCESS}", "--events", "1500"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "windows" in done.stdout


def test_the_readme_of_the_examples_names_all_of_them() -> None:
    text = (ROOT / "examples" / "README.md").read_text()
    assert all(f"python examples/{name} " in text for name in EXAMPLES)


def test_oracle_ysb_counts_the_views_of_each_campaign_in_each_ten_seconds() -> None:
    campaigns = ysb.campaign_table(7)
    events = ysb.event_table(3_000, campaigns, rate=100)
    campaign_of = dict(
        zip(*(campaigns[name].to_pylist() for name in ("ad_id", "campaign_id")), strict=True)
    )
    ticks = events["event_time"].cast(pa.int64()).to_pylist()
    expected = Counter(
        (campaign_of[ad], tick // 10_000_000)
        for ad, kind, tick in zip(
            events["ad_id"].to_pylist(), events["event_type"].to_pylist(), ticks, strict=True
        )
        if kind == "view"
    )
    rows = ysb.query(events, campaigns).collect().to_pylist()
    assert {(row["campaign_id"], row["window"]["id"]): row["views"] for row in rows} == expected


def test_the_join_of_ysb_gives_an_ad_of_no_campaign_no_campaign() -> None:
    campaigns = ysb.campaign_table(2)
    events = ysb.event_table(500, campaigns)
    known = ysb.views(events, campaigns)
    fewer = ysb.views(events, campaigns.slice(0, 10))
    assert known["campaign_id"].null_count == 0
    gone = sum(name == "campaign-0001" for name in known["campaign_id"].to_pylist())
    assert fewer["campaign_id"].null_count == gone > 0


@pytest.mark.parametrize("pattern", [sash.PaneFarm(2, 2), sash.WinFarm(2)], ids=str)
def test_differential_the_skyline_of_packets_is_the_same_under_every_pattern(pattern) -> None:
    query = skyline.query(skyline.packet_table(300, rate=1_000))
    assert query.parallel(pattern).collect().equals(query.parallel(sash.WinSeq()).collect())


def test_nobody_dominates_a_packet_of_the_skyline() -> None:
    packets = skyline.packet_table(60, rate=1_000)
    last = skyline.query(packets).collect().to_pylist()[0]["extreme"]
    points = np.array([[point[name] for name in skyline.FEATURES] for point in last])
    for point in points:
        others = points[(points != point).any(axis=1)]
        assert not (others >= point).all(axis=1).any()


def test_the_fit_of_a_parabola_finds_its_coefficients() -> None:
    t = np.linspace(-2.0, 0.0, 50)
    found = algo_trader.fitted(pa.table({"second": 7.0 + t, "price": 100.0 + 3.0 * t - 0.5 * t * t}))
    assert found == pytest.approx({"level": 100.0, "slope": 3.0, "bend": -0.5, "forecast": 102.5})


def test_a_candlestick_opens_with_the_first_price_of_its_second_and_closes_with_the_last() -> None:
    quotes = algo_trader.quote_table(100, 1, rate=50)
    prices = quotes["price"].to_pylist()
    sticks = algo_trader.candlesticks(quotes).collect().to_pylist()
    assert len(sticks) == 2
    for stick, held in zip(sticks, (prices[:50], prices[50:]), strict=True):
        shown = [stick[name] for name in ("open", "high", "low", "close")]
        assert shown == [held[0], max(held), min(held), held[-1]]
