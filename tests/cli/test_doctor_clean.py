"""`sash doctor --clean`: what killed processes have left on a machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner, Result

from sash.cli.doctor import all_checks, leftovers
from sash.cli.main import app
from sash.operators.arena import ArenaHome
from sash.operators.arena.owned_folders import OWNER, owning
from sash.operators.arena.owners import this_owner
from sash.pipeline.run_pipeline import _checkpoint
from tests.runtimes.test_arena_removal import fill


def clean(url: str, *options: str) -> Result:
    return CliRunner().invoke(app, ["doctor", "--clean", url, *options])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of the test's own."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(leftovers, "MEMORY", folder)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("SASH_ARENA_DIR", str(folder))
    return folder


def ended() -> str:
    """An owner that runs no more."""
    boot, namespace, pid, start = this_owner().split()
    return f"{boot} {namespace} {pid} {int(start) + 1}"


def test_what_killed_processes_have_left_in_memory_is_found_and_removed(here: Path) -> None:
    boot, _, pid, _ = this_owner().split()
    owners = {
        "sash-1-ended": ended(),
        f"sash-{pid}-runs": this_owner(),
        f"sash-{2**22 + 1}-elsewhere": f"{boot} 1 {2**22 + 1} 1",  # in another container
        f"sash-{2**22 + 1}-young": None,
        f"sash-{2**22 + 1}-old": None,
        f"sash-{pid}-old": None,
    }
    for name in ("run", "calibrate", "demo"):
        owners |= {f"sash-{name}-ended": ended(), f"sash-{name}-runs": this_owner()}
        owners |= {f"sash-{name}-old": None, f"sash-{name}-elsewhere": f"{boot} 1 {2**22 + 1} 1"}
    owners |= {"sash-mine-ended": ended()}  # is no folder of Sash
    for name, owner in owners.items():
        (here / name).mkdir()
        (here / name / "rows").write_bytes(bytes(100_000))
        if owner:
            (here / name / OWNER).write_text(owner)
        if name.endswith("-old"):
            os.utime(here / name, (1, 1))
    for mentioned in leftovers.left_here():
        assert mentioned.fix == "sash doctor --clean --delete"
        assert not mentioned.harms
    assert [each.name for each in all_checks.checkup()].count("leftovers") == 1
    shown = CliRunner().invoke(app, ["doctor", "--clean"])
    named = clean("machine")
    assert named.output == shown.output
    assert shown.exit_code == 0, shown.output
    gone = {"sash-1-ended", f"sash-{2**22 + 1}-old"}
    gone |= {"sash-run-ended", "sash-calibrate-ended", "sash-demo-ended"}
    assert {name for name in owners if name in shown.output} == gone
    CliRunner().invoke(app, ["doctor", "--clean", "--delete"])
    assert not list(leftovers.left_here())
    assert {path.name for path in here.iterdir()} == owners.keys() - gone


def test_a_run_without_a_checkpoint_names_its_process_for_whoever_finds_it_after_a_kill(here: Path) -> None:
    pipeline = cast(Any, SimpleNamespace(run=SimpleNamespace(checkpoint=None)))
    with _checkpoint(pipeline) as checkpoint:
        Path(checkpoint).mkdir()
        (run,) = here.iterdir()
        assert not list(leftovers.left_here())
        (run / OWNER).write_text(ended())
        assert f"sash run           {run}" in clean("machine").output
    assert not list(here.iterdir())


def test_a_folder_that_is_to_stay_has_an_owner_until_all_is_written(here: Path) -> None:
    with owning(here):
        assert (here / OWNER).read_text() == this_owner()
    assert not (here / OWNER).exists()
    with pytest.raises(RuntimeError), owning(here):
        raise RuntimeError("a batch failed")
    assert (here / OWNER).exists()


def test_arenas_are_found_in_every_folder_that_may_have_them(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SASH_ARENA_DIR")
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path}/missing, {tmp_path}/second,{here}")
    homes = (tmp_path / "second", tmp_path / "second" / "blockmgr-1", here)
    folders = set()
    for parent in homes:
        home = ArenaHome(parent / f"sash-arenas-{os.getuid()}")
        home.folder.mkdir(parents=True)
        folders.add(fill(home, f"{parent.name}.00"))
    monkeypatch.setattr("sash.operators.arena.arena_folder.is_gone", lambda owner: True)
    assert {Path(each.path) for each in leftovers._arenas()} == folders
    assert "deleted 3 of 3" in clean("machine", "--delete").output
    assert not any(folder.exists() for folder in folders)
