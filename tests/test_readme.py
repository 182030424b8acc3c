"""What the README says in comments is right; its Python is run by tests/docs."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"


def test_the_simulated_answers_in_the_readme_are_right() -> None:
    import sash

    said = re.findall(r"^(sash\.secret\.simulate\(.*?\)) {2,}# (\[.*\])$", README.read_text(), re.M)
    assert said
    for call, answer in said:
        assert eval(call, {"sash": sash}) == eval(answer)
