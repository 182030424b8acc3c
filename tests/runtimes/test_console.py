"""What a new user sees in a plain console: the output, and nothing of Spark's on standard error.

Each program runs in a process of its own, since standard error is what its JVM was started with.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sash.runtimes.spark.quiet_console import without_noise

ROOT = Path(__file__).parents[2]
PATIENCE = 400

STREAM = """
import os, signal, sys, threading, time
import sash

spark = sash.spark_session(master="local[2]")
work = sys.argv[1]


def clicks(rows):
    return spark.readStream.format("rate").option("rowsPerSecond", rows).load()


def seconds(data, window):
    return sash.stream(data, time="timestamp", delay="1 second").window(window).agg(n=sash.count())


def broken(row):
    return 1 // (row.value - row.value) > 3


failing = seconds(clicks(50), sash.threshold(broken)).start(work + "/a", checkpoint=work + "/b")
try:
    failing.awaitTermination()
except sash.errors.QueryFailed as error:
    print("caught", error)

query = seconds(clicks(10), sash.tumbling("1 second"))
running = query.start(work + "/c", checkpoint=work + "/d", name="clicks")


def interrupt():
    while not os.path.exists(work + "/d/commits/1"):
        time.sleep(0.1)
    print("interrupted", flush=True)
    os.kill(os.getpid(), signal.SIGINT)


threading.Thread(target=interrupt, daemon=True).start()
print("waited", running.awaitTermination(0.1))
running.awaitTermination()
"""

PIPELINE = """
[source]
format = "parquet"
path = "trades"

[stream]
time = "ts"
key = "symbol"

[query]
windows = "sliding 1 minute every 30 seconds"

[aggregates]
n = "count()"

[sink]
format = "parquet"
path = "out"

[run]
checkpoint = "checkpoint"
trigger = "available now"
"""


def ran(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """As in a console: with the cache of kernels that there is, and no setting of these tests."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    own["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    # Whether this machine runs the first one is another test's matter.
    own["SASH_PROGRESS"] = "0"
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, env=own, capture_output=True, text=True, timeout=PATIENCE
    )


@pytest.mark.spark
def test_the_ten_lines_of_the_readme_and_their_stream_print_nothing_but_their_answers(
    tmp_path: Path,
) -> None:
    section = (ROOT / "README.md").read_text().partition("## Ten lines\n")[2]
    batch, stream, *_ = re.findall(r"```python\n(.*?)```", section, re.S)
    done = ran("-c", batch + stream, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    first, _, explained = done.stdout.partition("only showing top 3 rows\n")
    assert first.startswith("+---")
    facts = [line.split()[0] for line in explained.splitlines() if not line.startswith(" ")]
    assert facts == [
        "rows", "formula", "values", "events", "report", "cost", "runs", "keeps", "grows", "more",
    ]  # fmt: skip


@pytest.mark.spark
@pytest.mark.soak
def test_a_stream_fails_in_one_sentence_and_ctrl_c_stops_it_in_one_line(tmp_path: Path) -> None:
    done = ran("-c", STREAM, str(tmp_path), cwd=tmp_path)
    assert done.returncode == -signal.SIGINT  # which shells call 130
    caught, *rest = done.stdout.splitlines()
    assert caught.startswith("caught PredicateError: the predicate of threshold raised ZeroDivisionError")
    assert rest == ["waited False", "interrupted"]
    assert len(done.stderr.splitlines()) == 2, done.stderr
    failed, stopped = done.stderr.splitlines()
    assert re.fullmatch(
        r"\S+ \S+ ERROR MicroBatchExecution: Query \[id = .*\] terminated with error", failed
    )
    assert stopped == "clicks is stopped; it can be resumed from its checkpoint"


@pytest.mark.spark
@pytest.mark.soak
def test_a_pipeline_its_check_and_its_state_print_nothing_but_their_answers(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "trades").mkdir()
    times = pa.array([0, 20_000_000, 95_000_000], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": times, "symbol": ["A", "B", "A"]}), tmp_path / "trades" / "0.parquet")
    (tmp_path / "bars.toml").write_text(PIPELINE)
    for command, line in (
        (("check", "bars.toml"), "bars.toml: nothing is wrong"),
        (("run", "bars.toml"), "bars: 3 events in "),
        (("state", "checkpoint"), "checkpoint: checkpoint"),
    ):
        done = ran("-m", "sash", *command, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout.startswith(line)


def test_tracebacks_of_workers_are_passed_on_unless_their_reader_has_read_enough() -> None:
    daemon = b'  File "/x/pyspark.zip/pyspark/daemon.py", line 264, in manager\n'
    worker = b'  File "/x/job.py", line 3, in step\n'
    head, broken = b"Traceback (most recent call last):\n", b"BrokenPipeError: [Errno 32] Broken pipe\n"
    assert list(without_noise([head, daemon, broken])) == []
    for kept in (
        [head, daemon, b"OSError: no\n"],
        [head, daemon, worker, broken],
        [head, daemon],
        [broken],
    ):
        assert list(without_noise(kept)) == kept


def test_an_empty_line_is_dropped_only_after_a_line_of_noise() -> None:
    noise = b"Streaming TransformWithStateInPandas Python worker received parameters for UDF. State\n"
    lines = [b"a\n", b"\n", noise, b"\n", b"\n", b"b\n", noise, b"c\n"]
    assert list(without_noise(lines)) == [b"a\n", b"\n", b"\n", b"b\n", b"c\n"]


def test_the_first_run_of_a_machine_has_one_line_about_compilation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sash.aggregation.kernels.compiler import module_cache

    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "kernels"))
    monkeypatch.delenv("SASH_PROGRESS", raising=False)
    module_cache.module("FIRST = 1")
    module_cache.module("SECOND = 2")
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        f"sash: compiling kernels, once for this version, about 10 s; {tmp_path / 'kernels'} keeps them"
    )
