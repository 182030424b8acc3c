"""Machine code outlives its process: a second one loads what the first compiled, user monoids included."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sash.aggregation.kernels.compiler import module_cache
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.kernels.compiler.numba_compilation import Kernel
from sash.aggregation.monoid import Monoid

USER_PROGRAM = """
import json, math, sys
import numpy as np
from pyspark import cloudpickle
from sash.aggregation import built_in
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import slide
from sash.aggregation.kernels.compiler.function_source import remember
from sash.aggregation.monoid import Monoid

SCALE = 0.5

def damped(x):
    return math.sqrt(SCALE * x * x)

def make(power):
    def merge(a, b):
        return a[0] + b[0] ** power, a[1] + b[1]
    return Monoid("mine", ("x",), lambda: (0.0, 0), lambda x: (damped(x), 1), merge, lambda s: s[0] / s[1])

if __name__ == "__main__":
    mine = make(1)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "wb") as file:
            file.write(cloudpickle.dumps(remember(mine)))
    answers = []
    for monoid in (mine, built_in.stddev("x").bind(("float",))):
        fast = compiled(monoid, kinds=("float",))
        columns = fast.lift((np.array([1.0, 2.0, 4.0]),))
        values, valid = fast.lower(slide(fast, columns, 2, algorithm="daba"))
        kernels = {name: kernel.compilations for name, kernel in fast._kernels.items()}
        answers.append([fast.mode, values.tolist(), valid.tolist(), kernels])
    print(json.dumps(answers))
"""

WORKER_PROGRAM = """
import json, sys
import numpy as np
from pyspark import cloudpickle
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.kernels.aggregators.slide_by_any_algorithm import slide

with open(sys.argv[1], "rb") as file:
    mine = cloudpickle.load(file)
fast = compiled(mine, kinds=("float",))
values, valid = fast.lower(slide(fast, fast.lift((np.array([1.0, 2.0, 4.0]),)), 2, algorithm="daba"))
kernels = {name: kernel.compilations for name, kernel in fast._kernels.items()}
print(json.dumps([fast.mode, values.tolist(), valid.tolist(), kernels]))
"""


BRIEF_PROGRAM = """
import json
import numpy as np
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.monoid import Monoid

fast = compiled(Monoid("brief", ("x",), lambda: 0, lambda x: x, lambda a, b: a + 2 * b, lambda s: s))
print(json.dumps([fast.mode, int(fast.fold((np.arange(4),), 0, 4)), fast.kernel("fold").compilations]))
"""

LIBRARY_PROGRAM = """
import json, math, sys
import numpy as np
from sash.aggregation.kernels.compiler.compiled import compiled
from sash.aggregation.monoid import Monoid

def combine(a, b):
    noise = np.random.normal(0.0, 0.0)
    return math.atan2(a + b, 2.0) + math.erf(a) + math.gamma(1.0 + b) + noise + a ** 0.3

fast = compiled(Monoid("library", ("x",), lambda: 0.0, lambda x: x, combine, lambda s: s))
value = float(fast.fold((np.arange(4.0),), 0, 4))
compiler = [name for name in ("numba.np.linalg", "scipy.linalg") if name in sys.modules]
print(json.dumps([fast.mode, value, fast.kernel("fold").compilations, compiler]))
"""

SORTING_PROGRAM = """
import json, sys
import numba
import numpy as np
from sash.aggregation.kernels.compiler.numba_compilation import build

for number in range(int(sys.argv[1])):  # each of them is counted
    numba.njit(lambda x: x)(number)

def placed(keys, out):
    out[:] = np.argsort(keys)

def ordered(keys, out):
    out[:] = np.sort(keys)

keys = np.arange(0, 4_000, 4)[::-1].copy()
answers = []
for name in sys.argv[2:]:
    out = np.zeros(len(keys), np.int64)
    kernel = build(globals()[name])
    kernel(keys, out)
    answers.append([out[:3].tolist(), kernel.compilations])
print(json.dumps(answers))
"""


def run(program: Path, cache: Path, *arguments: str) -> Any:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    environment["SASH_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, str(program), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(USER_PROGRAM)
    return path


def test_a_second_process_compiles_nothing(program: Path, tmp_path: Path) -> None:
    first, second = run(program, tmp_path / "cache"), run(program, tmp_path / "cache")
    for before, after in zip(first, second, strict=True):
        assert before[:3] == after[:3]
        assert after[0] == "cached"
        assert set(before[3].values()) == {1}
        assert set(after[3].values()) == {0}
        assert {"lift_all", "fold", "lower_one", "lower_all", "daba"} <= after[3].keys()


def test_a_monoid_that_arrives_by_pickle_finds_the_machine_code_of_its_sender(
    program: Path, tmp_path: Path
) -> None:
    sent = run(program, tmp_path / "cache", str(tmp_path / "monoid.pickle"))
    # The receiver has no file to look the functions up in: their text must have travelled with them.
    program.unlink()
    worker = tmp_path / "worker.py"
    worker.write_text(WORKER_PROGRAM)
    received = run(worker, tmp_path / "cache", str(tmp_path / "monoid.pickle"))
    assert received[:3] == sent[0][:3]
    assert set(received[3].values()) == {0}


def test_processes_that_start_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    program = tmp_path / "brief.py"
    program.write_text(BRIEF_PROGRAM)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: run(program, tmp_path / "cache"), range(4)))
    assert [answer[:2] for answer in answers] == [["cached", 12]] * 4
    assert not list((tmp_path / "cache").glob("*.tmp"))
    assert run(program, tmp_path / "cache") == ["cached", 12, 0]


def test_a_kernel_that_is_made_again_is_not_loaded_again() -> None:
    """Numba never unloads machine code: a second copy would stay beside the first."""
    monoid = Monoid("again", ("x",), lambda: 0, lambda x: x, lambda a, b: a + 3 * b, lambda s: s)
    first = Compiled(monoid, ("int",))
    found = weakref.ref(first), first.kernel("fold").function
    del first
    gc.collect()
    assert found[0]() is None, "what is around machine code is freed"
    again = Compiled(monoid, ("int",))
    assert again.mode == "interpreted" or again.kernel("fold").function is found[1]


# The files themselves


def test_a_module_is_written_once_and_keeps_its_time_stamp(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    path = Path(str(module_cache.module("ANSWER = 41 + 1\n").__file__))
    assert path.parent == tmp_path
    before = path.stat()
    module_cache._publish(path, "ANSWER = 41 + 1\n")
    after = path.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_a_damaged_module_is_replaced_before_it_is_imported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path))
    text = "ANSWER = 40 + 2\n"
    loaded = module_cache.module(text)
    path = Path(str(loaded.__file__))
    path.write_text("ANSWER = 4")
    del sys.modules[loaded.__name__]
    assert module_cache.module(text).ANSWER == 42
    assert path.read_text() == text


def test_the_cache_is_where_the_platform_keeps_caches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SASH_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert module_cache.directory() == tmp_path / "xdg" / "sash"
    assert module_cache.directory().stat().st_mode & 0o077 == 0
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert module_cache.directory() == tmp_path / ".cache" / "sash"


def test_importing_the_package_of_kernels_does_not_load_numba() -> None:
    program = "import sys, sash, sash.aggregation.kernels; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_machine_code_is_loaded_without_the_compiler_and_finds_what_it_calls(tmp_path: Path) -> None:
    program = tmp_path / "library.py"
    program.write_text(LIBRARY_PROGRAM)
    first = run(program, tmp_path / "cache")
    again = run(program, tmp_path / "cache")
    assert first[0] == again[0] == "cached"
    assert again[1] == first[1]
    assert again[2:] == [0, []]


class _Compiles:
    """A function that compiles when it is called, as Numba does: an exception stays behind, in a cycle with
    its own frame, from which all frames above it can be reached."""

    def __init__(self) -> None:
        self.overloads, self.stats = {"one": None}, SimpleNamespace(cache_hits={})

    def __call__(self) -> int:
        try:
            raise TypeError("another way to type it is tried")
        except TypeError as error:
            kept = error
        return len(str(kept))


def test_kernels_that_were_compiled_in_two_processes_meet_in_a_third(tmp_path: Path) -> None:
    """What a kernel calls is named by a count: the two sorts here had the same number, and one was both."""
    program, cache = tmp_path / "sorting.py", tmp_path / "cache"
    program.write_text(SORTING_PROGRAM)
    placed, ordered = [999, 998, 997], [0, 4, 8]
    assert run(program, cache, "3", "placed") == [[placed, 1]]
    assert run(program, cache, "0", "ordered") == [[ordered, 1]]
    for both in (("placed", "ordered"), ("ordered", "placed")):
        answers = {"placed": [placed, 0], "ordered": [ordered, 0]}
        assert run(program, cache, "0", *both) == [answers[name] for name in both]


def test_a_compilation_keeps_nothing_of_its_caller_alive() -> None:
    def caller() -> weakref.ref[_Compiles]:
        mine = _Compiles()
        Kernel(_Compiles(), "cached")()
        return weakref.ref(mine)

    gc.disable()
    try:
        assert caller()() is None
    finally:
        gc.enable()


def test_compiling_is_announced_once_for_each_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also after an upgrade, when the folder is there and its kernels are those of another version."""
    monkeypatch.setenv("SASH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("SASH_PROGRESS", raising=False)

    def announced(text: str) -> int:
        module_cache.module(text)
        return capsys.readouterr().err.count("sash: compiling kernels, once for this version")

    assert [announced(f"ANNOUNCED = {number}") for number in range(3)] == [1, 0, 0]
    monkeypatch.setattr(module_cache, "__version__", "99.0")
    assert announced("ANNOUNCED = 0") == 0, "what is there already is not compiled again"
    assert [announced(f"ANNOUNCED = {number}") for number in (3, 4)] == [1, 0]
