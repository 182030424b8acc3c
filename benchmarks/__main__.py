"""Run the benchmark programs one after the other, each in a process of its own.

    python -m benchmarks [--list] [--quick] [--opponents] [name …]

With `--opponents` those run that compare Sash with others, before those that are named, and what they found
is one table at the end (see `summary`). The exit code is 1 as soon as one program's is not 0; the last
lines name it.
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import summary

HERE = Path(__file__).parent
OPPONENTS = ("rolling", "windows", "features_joins", "spark", "one_pass", "cluster", "kafka", "flink_sql")
"""The programs that compare Sash with others, each with the option --json."""


def programs() -> dict[str, str]:
    """The name of every program and the first sentence of its docstring, in alphabetical order."""
    return dict(sorted(_found()))


def _found() -> Iterator[tuple[str, str]]:
    # Parsed and not imported: to list the programs must not cost the import of all that they measure.
    for path in HERE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if not path.name.startswith("_") and "main" in defined:
            yield path.stem, _headline(tree)
    for path in HERE.glob("*/__main__.py"):
        about = path.with_name("__init__.py")
        yield path.parent.name, _headline(ast.parse(about.read_text(encoding="utf-8")))


def _headline(tree: ast.Module) -> str:
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    known = programs()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run the benchmark programs.")
    parser.add_argument(
        "names", nargs="*", metavar="name", help=f"which of {', '.join(known)}; default: all"
    )
    parser.add_argument("--list", action="store_true", help="list them, and run nothing")
    parser.add_argument("--quick", action="store_true", help="small sizes, seconds instead of minutes")
    parser.add_argument("--opponents", action="store_true", help=f"{', '.join(OPPONENTS)}, in one table")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"no benchmark is named {unknown[0]!r}; there are {', '.join(known)}")
    if options.list:
        width = max(map(len, known)) + 2
        for name, headline in known.items():
            print(f"{name:<{width}}{headline}")
        return 0
    names = (*OPPONENTS, *options.names) if options.opponents else options.names or known
    with tempfile.TemporaryDirectory(prefix="sash-bench-") as folder:
        found = {name: Path(folder) / f"{name}.json" for name in names if name in OPPONENTS}
        failed = [name for name in names if not _succeeds(name, quick=options.quick, to=found.get(name))]
        written = [path for path in found.values() if path.is_file()]
        if written:
            print(f"\n{summary.table(written)}\n")
    if failed:
        print(f"not reached, or broken: {', '.join(failed)}")
    return int(bool(failed))


def _succeeds(name: str, *, quick: bool, to: Path | None) -> bool:
    print(f"── {name} " + "─" * (80 - len(name)), flush=True)
    begin = time.perf_counter()
    command = [sys.executable, "-m", f"benchmarks.{name}", *(["--quick"] if quick else [])]
    command += ["--json", str(to)] if to is not None else []
    # A process each, so that no program inherits the memory or the machine code of the one before.
    code = subprocess.run(command, cwd=HERE.parent, check=False).returncode
    print(f"{name}: {time.perf_counter() - begin:.1f} s, exit code {code}", flush=True)
    return code == 0


if __name__ == "__main__":
    sys.exit(main())
