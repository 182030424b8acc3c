"""The README's Python runs, in order, as a reader would run it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.spark
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.strip().splitlines()[-1][:40])
def test_a_python_block_of_the_readme_runs(spark: SparkSession, block: str) -> None:
    exec(compile(block, str(README), "exec"), {})


def test_the_simulated_answers_in_the_readme_are_right() -> None:
    import sash

    said = re.findall(r"^(sash\.secret\.simulate\(.*?\)) {2,}# (\[.*\])$", README.read_text(), re.M)
    assert said
    for call, answer in said:
        assert eval(call, {"sash": sash}) == eval(answer)
