"""Probe every live engine, and write down what was found: `python tools/probe_engines.py results.json`.

An engine that fails is written down with its last lines; the others are probed all the same. Names after
the file choose among the engines; the findings on the others are kept as they are in the file.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from sash.engines.findings import EngineFindings, write_findings
from sash.engines.probe import LIVE, probe
from sash.engines.table import read_findings
from sash.errors import EngineError


def main(arguments: Sequence[str]) -> None:
    path, names = Path(arguments[0]), arguments[1:] or LIVE
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {one.engine: one for one in (read_findings(path) if path.exists() else ())}
    for name in names:
        found[name] = _probed(name)
        print(f"{name}: {found[name].profile or found[name].remark}")
        print(f"  {found[name].verdict or 'not checked on fresh runs'}", flush=True)
        write_findings(path, [found[known] for known in LIVE if known in found])


def _probed(name: str) -> EngineFindings:
    try:
        return probe(name)
    except EngineError as error:
        return EngineFindings(engine=name, remark=str(error))


if __name__ == "__main__":
    main(sys.argv[1:])
