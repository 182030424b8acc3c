"""The ratios of the README are those of the benchmark page; its Python is run by tests/docs.

The README has speeds throughout, the page speeds and times: a speed there, or one over a time there.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
RATIO = re.compile(r"(\d+(?:\.\d+)?) ×(?: (as fast|its speed|its time|the time|Spark's time))?")
SPEEDS = {"as fast", "its speed", ""}


def test_every_ratio_in_the_readme_is_on_the_benchmark_page() -> None:
    measured = RATIO.findall((ROOT / "docs/benchmarks/spark.md").read_text())
    speeds = {float(ratio) for ratio, word in measured if word in SPEEDS}
    times = {float(ratio) for ratio, word in measured if word not in SPEEDS or not word}
    numbers = (ROOT / "README.md").read_text().partition("## Numbers\n")[2].partition("\n## ")[0]
    table = "\n".join(line for line in numbers.splitlines() if line.startswith("| "))
    shown = [ratio for ratio, _ in RATIO.findall(table)]
    assert len(shown) >= 20
    for ratio in shown:
        places = len(ratio.partition(".")[2])
        known = {round(one, places) for one in speeds | {1 / time for time in times}}
        assert float(ratio) in known, ratio
