"""Write what later versions must go on with, in tests/state: descriptions of queries, and golden state.

python -m tools.golden descriptions      descriptions of queries, and what is missing of the rest
python -m tools.golden 0.1.0             state of every operator; once for a release, and never again
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.state import descriptions, golden, golden_elements, golden_features, golden_windows

if __name__ == "__main__":
    (what,) = sys.argv[1:]
    if what == "descriptions":
        descriptions.FILE.write_text(descriptions.written(), encoding="utf-8")
        golden_elements.complete()
        golden_windows.complete()
        with tempfile.TemporaryDirectory() as folder:
            golden_features.complete(Path(folder) / "features")
    else:
        golden.make(what)
