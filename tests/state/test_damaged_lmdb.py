"""An LMDB file that somebody has changed or cut: right values or one sentence, and no dead process.

What is read is what LMDB maps, so that each file is read in a process of its own.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
from pathlib import Path

import lmdb
import pytest
from typer.testing import CliRunner

from sash.aggregation.stores.lmdb_damage import DATA, SPARE, missing_bytes, require_readable
from sash.aggregation.stores.lmdb_environment import DATABASES
from sash.aggregation.stores.lmdb_view import looking
from sash.cli.main import app
from sash.errors import StoreError
from sash.stores import LMDB
from tests.state import read_damaged_lmdb

PAGE, HEAD = 4096, 16
EPOCHS, KEYS = 4, 150
VALUES = {b"%d" % key: bytes([EPOCHS - 1]) * (40 if key % 2 else 6_000) for key in range(KEYS)}
CODE = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS}
"""What a wrong number in a page may end a process by, inside of LMDB."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("whole")
    with LMDB(folder, namespace="n") as store:
        for epoch in range(EPOCHS):
            store.put_many({key: bytes([epoch]) * len(value) for key, value in VALUES.items()})
            store.commit(epoch)
    return (folder / DATA).read_bytes()


def damaged(whole: bytes, how: str, choice: random.Random) -> bytes:
    data = bytearray(whole)
    page = choice.randrange(2, len(data) // PAGE) * PAGE
    match how:
        case "cut":
            del data[choice.randrange(2 * PAGE, len(data)) :]
        case "bytes":
            for at in choice.choices(range(2 * PAGE, len(data)), k=40):
                data[at] = choice.randrange(256)
        case "heads":
            for _ in range(4):
                page = choice.randrange(2, len(data) // PAGE) * PAGE
                data[page + choice.randrange(HEAD + 8)] = choice.randrange(256)
        case _:
            data[page : page + PAGE] = choice.randbytes(PAGE)
    return bytes(data)


def stored(folder: Path, content: bytes) -> Path:
    folder.mkdir()
    (folder / DATA).write_bytes(content)
    return folder


@pytest.mark.parametrize("how", ["cut", "bytes", "heads", "page"])
def test_what_is_read_of_a_damaged_file_is_right_or_one_sentence(
    tmp_path: Path, whole: bytes, how: str
) -> None:
    dead, refused = 0, 0
    for seed in range(15):
        folder = stored(tmp_path / str(seed), damaged(whole, how, random.Random(seed)))
        ended = subprocess.run(
            [sys.executable, read_damaged_lmdb.__file__, str(folder)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        if ended.returncode < 0:
            # Not of a missing page, and not of what is in values: only LMDB's own numbers do it.
            assert how in {"heads", "page"}, seed
            assert -ended.returncode in CODE
            dead += 1
            continue
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.count("\n") == 1
        if ended.stdout.startswith("refused: "):
            refused += 1
        else:
            found = json.loads(ended.stdout)
            assert {
                key.encode(): bytes.fromhex(value) for key, value in found.items()
            }.items() <= VALUES.items()
    assert dead <= 3
    assert refused or how == "heads"


def test_a_file_that_is_cut_to_less_than_half_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    with LMDB(tmp_path, namespace="n") as store:
        store.put_many({b"k": bytes(SPARE + (4 << 20))})
        store.commit(0)
    with (tmp_path / DATA).open("r+b") as file:
        file.truncate(2 * PAGE)
    with pytest.raises(
        StoreError, match=r"has 8,192 bytes and lacks 71,\d\d\d,\d\d\d more; the file is damaged"
    ):
        LMDB(tmp_path, namespace="n")
    assert (tmp_path / DATA).stat().st_size == 2 * PAGE


def test_a_file_whose_last_pages_were_given_back_unwritten_is_whole(tmp_path: Path) -> None:
    choice = random.Random(12)
    with lmdb.open(str(tmp_path), max_dbs=len(DATABASES), map_size=1 << 28, sync=False) as environment:
        *databases, _ = [environment.open_db(name) for name in DATABASES]
        for _ in range(60):
            with environment.begin(write=True) as transaction:
                for _ in range(choice.choice([1, 3, 30, 300])):
                    database, key = (
                        choice.choice(databases),
                        b"%d" % choice.randrange(choice.choice([5, 100, 1_000])),
                    )
                    if choice.random() < 0.5:
                        transaction.put(
                            key, bytes(choice.choice([0, 50, 3_000, 9_000, 60_000])), db=database
                        )
                    else:
                        transaction.delete(key, db=database)
            if missing := missing_bytes(environment, tmp_path):
                break
    assert missing
    with looking(tmp_path) as look:
        assert any(True for _ in look.raw_items())
    size = (tmp_path / DATA).stat().st_size
    with LMDB(tmp_path, namespace="n"):
        assert (tmp_path / DATA).stat().st_size == size + missing


def test_verify_has_one_sentence_for_a_file_that_is_cut(tmp_path: Path, whole: bytes) -> None:
    folder = stored(tmp_path / "store", whole[: len(whole) // 2])
    for options in ((), ("--verify",)):
        answer = CliRunner().invoke(app, ["state", str(folder), *options])
        assert answer.exit_code == 2
        assert answer.output.startswith(
            f"error: the LMDB store at {folder} ends a process that reads it by SIGBUS"
        )
        assert "put a copy of the folder in its place" in " ".join(answer.output.split())
    require_readable(stored(tmp_path / "whole", whole), databases=DATABASES)
