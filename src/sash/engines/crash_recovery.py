"""Duplicates after a failure: an engine is killed in the middle of a run, started again, and read.

    duplicates = shown − expected          lost = expected − shown          (as multisets of contents)

A script under `drivers/` runs windows from a file with what the engine has for recovery, and kills its own
process once. It is done with the engine's file sink, and with a plain one that appends what it is given.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from sash.engines.findings import Evidence, Finding
from sash.engines.peers import DRIVERS, python_of
from sash.engines.probe_run import EventNumbers, ProbeRun, written
from sash.errors import EngineError

PARAMETER = "duplicates after a failure"
RUN = ProbeRun(times=tuple(range(10, 20)), size=3, slide=3)
SINKS = ("file", "plain")
UNMEASURED = {
    "beam": "the DirectRunner keeps no checkpoints",
    "pyflink": "its local cluster, which keeps the checkpoints, dies with the process",
    "sash": "in process nothing outlives a failure; on a stream, it is Spark that recovers",
}


def after_a_failure(name: str, expected: Iterable[EventNumbers]) -> Finding:
    """What a reader sees of an engine that was killed and started again; `expected` is seen without."""
    if name not in ("spark_structured", "bytewax"):
        why = UNMEASURED.get(name, "there is no script that kills it")
        return Finding(parameter=PARAMETER, value=None, remark=f"not measured: {why}")
    python = Path(sys.executable) if name == "spark_structured" else python_of(name)
    script = DRIVERS / ("crash_spark.py" if name == "spark_structured" else "crash_bytewax.py")
    complete = list(expected)
    try:
        shown = {sink: _killed_once(python, script, sink) for sink in SINKS}
    except (EngineError, subprocess.TimeoutExpired) as error:
        return Finding(parameter=PARAMETER, value=None, remark=f"not measured: {error}")
    value = ", ".join(f"{sink} sink: {_read(shown[sink], complete)}" for sink in SINKS)
    fed = f"{RUN}, killed and started again, {{}} sink"
    evidence = tuple(Evidence(fed.format(sink), written(shown[sink])) for sink in SINKS)
    return Finding(parameter=PARAMETER, value=value, evidence=evidence)


def _killed_once(python: Path, script: Path, sink: str) -> list[EventNumbers]:
    with tempfile.TemporaryDirectory(prefix="sash-crash-") as folder:
        command = [str(python), str(script), folder, sink]
        for expected in (-signal.SIGKILL, 0):
            ended = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
            if ended.returncode != expected:
                last = ended.stderr.strip().splitlines()[-3:]
                raise EngineError(f"{script.name} ended with {ended.returncode}, not {expected}: {last}")
        lines = (Path(folder) / "out").read_text().splitlines()
    return sorted(tuple(json.loads(line)) for line in lines)


def _read(shown: Iterable[EventNumbers], expected: Iterable[EventNumbers]) -> str:
    seen, complete = Counter(shown), Counter(expected)
    duplicates, lost = (seen - complete).total(), (complete - seen).total()
    return f"{duplicates or 'no'} duplicates" + (f", {lost} lost" if lost else "")
