"""The ratios of the README are those of the benchmark page; its Python is run by tests/docs."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
RATIO = re.compile(r"(\d+(?:\.\d+)?) ×")


def test_every_ratio_in_the_readme_is_on_the_benchmark_page() -> None:
    measured = [float(one) for one in RATIO.findall((ROOT / "docs/benchmarks/spark.md").read_text())]
    shown = RATIO.findall((ROOT / "README.md").read_text())
    assert len(shown) >= 6
    for ratio in shown:
        places = len(ratio.partition(".")[2])
        assert float(ratio) in {round(one, places) for one in measured}, ratio
