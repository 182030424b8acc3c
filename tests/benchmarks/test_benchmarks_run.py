"""Every benchmark program runs to its end with --quick and shows its results. No time is judged here."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.__main__ import programs

ROOT = Path(__file__).parents[2]
FIGURES = [
    "1-latency", "2-bulk-eviction", "3-monoids", "4-memory", "5-dimensions", "6-decoupled", "7-analytics",
]  # fmt: skip


MANY = {"stretch": ("2", "5"), "pisa_papers": ("1", "5", "8")}
"""Programs of many experiments, and those of them that are run here; `make soak` runs all of them."""


LONG = {"planner", "pisa_papers"}
"""Programs that take half a minute with --quick too."""


KNOWN = {"count, elements", "rolling, elements", "sliding, elements"}
"""Of streams: where the busiest task has more than 1.5 times the mean; the page of patterns has why."""


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def pixels(path: Path) -> tuple[int, int]:
    """Width and height, from the header of a PNG file."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", content[16:24])
    return width, height


def starts_spark(name: str) -> bool:
    """A session of its own takes longer than what it measures."""
    folder = ROOT / "benchmarks" / name
    paths = folder.glob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    return any("sash.spark_session(" in path.read_text(encoding="utf-8") for path in paths)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.soak] if name in LONG or starts_spark(name) else [])
        for name in programs()
        if name != "amta_paper"
    ],
)
def test_every_program_runs_quickly_and_prints_a_table(name: str) -> None:
    chosen = ["--only", *MANY[name]] if name in MANY else []
    done = run(f"benchmarks.{name}", "--quick", *chosen)
    assert done.returncode == 0, done.stderr
    if "run `make peers`" in done.stdout:
        pytest.skip(done.stdout)
    assert len(done.stdout.splitlines()) > 2


def test_what_a_hot_key_gives_to_the_busiest_task_is_counted() -> None:
    # The parts that need no Spark: the others are in `make soak`.
    done = run("benchmarks.hot_key", "--quick", "--only", "counted", "turned")
    assert done.returncode == 0, done.stderr
    titles = ("streams, 8 buckets", "static rolling", "the skew turns to another key")
    assert all(title in done.stdout for title in titles)
    # What is judged by a count does not depend on the machine.
    rows = [line for line in done.stdout.splitlines() if line.endswith((" met", " missed"))]
    missed = {row.split("  ")[0] for row in rows if row.endswith("missed")}
    assert {what.partition(": ")[2] for what in missed} <= KNOWN
    assert len(rows) == 18


def test_without_the_peers_flink_is_left_out_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SASH_PEERS", str(tmp_path))
    found = tmp_path / "found.json"
    done = run("benchmarks.flink_sql", "--quick", "--json", str(found))
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert "run `make peers`" in done.stdout
    assert not found.exists()  # so that the table of all opponents has no row of it


@pytest.mark.soak
@pytest.mark.parametrize("name", MANY)
def test_all_experiments_of_a_program_run_quickly(name: str) -> None:
    done = run(f"benchmarks.{name}", "--quick")
    assert done.returncode == 0, done.stderr


def test_the_experiments_of_the_amta_paper_write_a_figure_and_its_numbers_each(tmp_path: Path) -> None:
    done = run("benchmarks.amta_paper", "--quick", "--to", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        name + suffix for name in FIGURES for suffix in (".json", ".png")
    )
    for name in FIGURES:
        figure = tmp_path / f"{name}.png"
        assert pixels(figure) == (1200, 700)
        assert figure.stat().st_size < 150_000
        data = json.loads(figure.with_suffix(".json").read_text())
        assert data["quick"] is True
        assert all(series["ys"] for panel in data["panels"] for series in panel["series"])
        # Where the numbers come from, but not from whose machine.
        assert {"cores", "python", "numba", "numpy"} <= data["environment"].keys()
        assert {"commit", "date", "load", "seconds"} == data["measured"].keys()
        assert os.uname().nodename not in json.dumps(data)


def test_the_figures_of_a_full_run_are_in_the_documentation() -> None:
    directory = ROOT / "docs" / "benchmarks"
    text = (directory / "README.md").read_text()
    for name in FIGURES:
        figure = directory / f"{name}.png"
        assert f"({figure.name})" in text
        assert pixels(figure) == (1200, 700)
        assert figure.stat().st_size < 150_000
        assert json.loads(figure.with_suffix(".json").read_text())["quick"] is False


def test_the_runner_lists_every_program_with_a_sentence() -> None:
    done = run("benchmarks", "--list")
    assert done.returncode == 0
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert lines == programs()
    assert {"amta_paper", "kvs"} <= lines.keys()
    assert all(sentence for sentence in lines.values())


def test_the_runner_runs_what_it_is_asked_for_and_says_how_it_went() -> None:
    done = run("benchmarks", "--quick", "kvs")
    assert done.returncode == 0, done.stderr
    assert "lmdb, durable" in done.stdout
    assert "exit code 0" in done.stdout


def test_the_runner_refuses_a_name_that_it_does_not_know() -> None:
    done = run("benchmarks", "kvz")
    assert done.returncode == 2
    assert "no benchmark is named 'kvz'" in done.stderr
