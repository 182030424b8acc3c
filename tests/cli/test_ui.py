"""`sash ui`, as a process of its own."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

UI = [sys.executable, "-m", "sash", "ui"]


def test_it_says_where_the_page_is_and_ends_cleanly_when_interrupted(tmp_path: Path) -> None:
    running = subprocess.Popen(
        [*UI, "--port", "0", "--watch", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    printed = running.stdout.readline() + running.stdout.readline()
    url = re.search(r"http://127\.0\.0\.1:\d+/", printed)
    assert url, printed
    with urllib.request.urlopen(url[0], timeout=5) as answer:
        assert b"<title>Sash</title>" in answer.read()
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=10)
    assert running.returncode == 0
    assert "Ctrl-C ends it" in printed
    assert errors == ""


def test_a_port_in_use_is_one_sentence_and_exit_code_two() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        answer = subprocess.run([*UI, "--port", str(port)], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert answer.stdout == ""
    assert answer.stderr == (
        f"error: port must be one that is free; got {port}. "
        f"127.0.0.1:{port} is in use; port 0 takes any that is free.\n"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--watch", "absent"], "watch must be a folder that exists"),
        (["--host", "203.0.113.9"], "host must be"),
    ],
)
def test_what_cannot_be_served_is_one_sentence_and_exit_code_two(
    options: list[str], words: str, tmp_path: Path
) -> None:
    answer = subprocess.run(
        [*UI, "--port", "0", *options], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert answer.returncode == 2
    assert words in answer.stderr
    assert answer.stderr.count("\n") == 1
