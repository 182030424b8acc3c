"""Features that an earlier version has published are served, and what comes later is published to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from typer.testing import CliRunner

import sash
from sash.cli.main import app
from sash.semantics.event import Event
from sash.semantics.look_back_rows import FeatureEvaluation
from sash.testing.sameness import same
from tests.state.golden_features import ARCHIVED, BATCHES, FILE, KEYS, QUERY, batches, publish, unpack


def require_served(folder: Path, *, batches_published: int) -> None:
    rows = pa.concat_tables(batches()[:batches_published]).to_pylist()
    events: dict[Any, list[Event]] = {}
    for row in rows:
        events.setdefault(row["k"], []).append(Event(row["t"], row["e"], row["k"], row))
    oracle, newest = FeatureEvaluation(QUERY), max(row["t"] for row in rows)
    with sash.online(str(folder)) as online:
        for at in (newest - 200, newest - 7, newest, newest + 9, newest + 390):
            served = online.get(KEYS, at=at).to_pylist()
            for key, row in zip(KEYS, served, strict=True):
                expected = oracle.row(events[key], at)
                assert row == {"k": key, "t": at} | {
                    f"{name}_{label}": row[f"{name}_{label}"] for name, label in expected
                }
                for (name, label), value in expected.items():
                    assert same(row[f"{name}_{label}"], value), (at, key, name, label)


def test_oracle_published_features_of_an_earlier_version_are_served_and_go_on(tmp_path: Path) -> None:
    folder = unpack(tmp_path)
    require_served(folder, batches_published=ARCHIVED)
    publish(folder, first=ARCHIVED, last=BATCHES)
    require_served(folder, batches_published=BATCHES)
    answer = CliRunner().invoke(app, ["state", str(folder), "--verify"])
    assert answer.exit_code == 0, answer.output
    assert FILE.stat().st_size < 100_000
