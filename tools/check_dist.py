"""Whether what was built can be used by somebody who has nothing else: wheel and sdist of dist/.

    python tools/check_dist.py dist [--without-spark]

Looks into both files, installs the wheel into an environment that is empty, away from the source, and runs
there what a new user would: the import, the commands, a query in process and one on Spark. Needs a package
index and, with Spark, Java.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from email.parser import Parser
from pathlib import Path

LIGHT = "import sash, sys; assert not {'numpy', 'pyarrow', 'pyspark', 'numba'} & set(sys.modules)"
IN_PROCESS = """
import pyarrow as pa, sash
events = pa.table({"t": [0, 20, 50, 70], "card": ["x", "x", "y", "x"], "amount": [9.0, 25.0, 12.5, 3.0]})
query = sash.stream(events, time="t", key="card").rolling(60).agg(n=sash.count(), mean=sash.mean("amount"))
assert query.collect()["n_60"].to_pylist() == [1, 2, 2, 1], query.collect()
"""
WITHOUT_SPARK = """
import sash
try:
    sash.spark_session()
except sash.errors.MissingDependency as missing:
    assert "pip install 'pyspark>=" in str(missing)
else:
    raise SystemExit("`pip install sash` brought a pyspark")
"""
ON_SPARK = """
import sash
spark = sash.spark_session(master="local[1]", spark_log_level="ERROR")
df = spark.range(100).selectExpr("timestamp_seconds(id) AS ts", "id % 2 AS k")
query = sash.stream(df, time="ts", key="k").window(sash.tumbling("10 seconds")).agg(n=sash.count())
assert query.collect()["n"].to_pylist() == [5] * 20, query.collect()
spark.stop()
"""
OWN = ("PYTHON", "VIRTUAL_ENV", "SPARK_", "PYSPARK_", "SASH_")
"""Variables that would let something of this environment in."""
IN_WHEEL = ("sash/py.typed", "sash/__init__.py", "sash/engines/results.json")
IN_SDIST = (
    "pyproject.toml",
    "LICENSE",
    "README.md",
    "src/sash/py.typed",
    "tests/conftest.py",
    "examples/ysb.py",
)


def main(folder: str = "dist", *options: str) -> int:
    wheel, sdist = _newest(folder, "*.whl"), _newest(folder, "*.tar.gz")
    look_into(wheel, sdist)
    with tempfile.TemporaryDirectory(prefix="sash-dist-") as place:
        home = Path(place) / "venv"
        venv.create(home, with_pip=True)
        python, command = home / "bin" / "python", home / "bin" / "sash"
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(place, *pip, wheel.resolve())
        run(place, python, "-c", LIGHT)
        run(place, python, "-c", WITHOUT_SPARK)
        run(place, python, "-c", IN_PROCESS)
        for words in (["--help"], ["--version"], ["secret", "table"]):
            run(place, command, *words)
        if "--without-spark" not in options:
            run(place, *pip, f"{wheel.resolve()}[spark]")
            run(place, command, "doctor")
            run(place, python, "-c", IN_PROCESS)
            run(place, python, "-c", ON_SPARK)
    print(f"{wheel.name} and {sdist.name} are good")
    return 0


def look_into(wheel: Path, sdist: Path) -> None:
    """What must be inside is, and what must not be is not."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata_of = Parser().parsestr(archive.read(metadata).decode())
    _require(IN_WHEEL, names, wheel)
    strangers = {name.split("/")[0] for name in names} - {"sash", metadata.split("/")[0]}
    assert not strangers, f"{wheel.name} brings {strangers} along"
    assert metadata_of["License-Expression"] == "Apache-2.0"
    assert metadata_of["Version"] == wheel.name.split("-")[1]
    with tarfile.open(sdist) as archive:
        inside = [name.partition("/")[2] for name in archive.getnames()]
    _require(IN_SDIST, inside, sdist)


def run(place: str, *command: object) -> None:
    """In an empty folder, with nothing of this environment in the way; what fails names the reason."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=place, env=kept, capture_output=True, text=True, check=False)
    shown = " ".join(word if "\n" not in word else "…" for word in words[:4])
    print(f"{'ok' if done.returncode == 0 else 'failed':<8}{shown}", flush=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}\n{done.stderr}")


def _newest(folder: str, pattern: str) -> Path:
    found = sorted(Path(folder).glob(pattern), key=lambda file: file.stat().st_mtime)
    if not found:
        raise SystemExit(f"there is no {pattern} in {folder}: build it with `make dist`")
    return found[-1]


def _require(wanted: Iterable[str], names: Iterable[str], archive: Path) -> None:
    missing = set(wanted) - set(names)
    assert not missing, f"{archive.name} lacks {sorted(missing)}"


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
