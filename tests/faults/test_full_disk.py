"""A disk without room: one sentence with the folder and what is free; nothing is lost.

The disks are real and small, mounted in a namespace of their own, which needs no rights on Linux.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults import full_disks, run_on_full_disks
from tests.faults.victim import QUICK_START
from tests.skips import skip_and_note

NAMESPACE = ["unshare", "--user", "--map-root-user", "--mount"]


def on_small_disks(disks: dict[Path, str], *command: str | Path, **environment: str) -> str:
    """Run a Python program where these folders are disks of these sizes."""
    if not shutil.which("unshare") or subprocess.run([*NAMESPACE, "true"], check=False).returncode:
        skip_and_note("writers on full disks: no namespace with mounts of its own (unshare)")
    mounts = []
    for folder, size in disks.items():
        folder.mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount -t tmpfs -o size={size} tmpfs '{folder}'")
    script = " && ".join([*mounts, 'exec "$@"'])
    ran = subprocess.run(
        [*NAMESPACE, "sh", "-c", script, "sh", sys.executable, *map(str, command)],
        env=os.environ | {"JDK_JAVA_OPTIONS": QUICK_START} | environment,
        capture_output=True, text=True, timeout=540, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-4000:]
    return ran.stdout


@pytest.mark.parametrize("check", full_disks.CHECKS)
def test_a_writer_without_room_raises_one_sentence_and_goes_on_with_room(
    tmp_path: Path, check: str
) -> None:
    disk = tmp_path / "disk"
    on_small_disks({disk: "8m"}, "-m", "tests.faults.full_disks", check, disk)


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.parametrize(
    ("operator", "disks"),
    [
        ("events", ["checkpoint", "sink", "arenas"]),
        *((name, ["checkpoint", "sink"]) for name in ("panes", "rolling", "join", "operate")),
        *((f"elastic-{store}", ["checkpoint", "sink"]) for store in ("files", "lmdb")),
    ],
)
def test_oracle_operators_whose_disks_were_full_emit_what_the_reference_does(
    tmp_path: Path, operator: str, disks: list[str]
) -> None:
    files = 2 + len(disks) * (run_on_full_disks.TRIES + 1)
    folders = [disk if disk == "arenas" else f"{operator}/{disk}" for disk in disks]
    words = on_small_disks(
        {tmp_path / folder: "8m" for folder in folders},
        run_on_full_disks.__file__, tmp_path, operator, str(files), "1", *folders,
        SASH_ARENA_DIR=str(tmp_path / "arenas") if "arenas" in disks else "",
    )  # fmt: skip
    print(words)
