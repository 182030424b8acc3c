"""CONTRIBUTING.md lists what runs only in `make soak`: every file with such a test, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTED = set(re.findall(r"`(tests/[\w/.]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
LONG = {
    str(path.relative_to(ROOT))
    for path in (ROOT / "tests").rglob("test_*.py")
    if re.search(r"mark\.soak\b", path.read_text(encoding="utf-8"))
} - {str(Path(__file__).relative_to(ROOT))}
BY_ITSELF = "tests/lakes"
"""Its own target, in another environment."""


def test_every_file_with_a_long_test_is_listed_or_its_folder_is() -> None:
    missing = {
        path for path in LONG if path not in LISTED and str(Path(path).parent) not in LISTED | {BY_ITSELF}
    }
    assert not missing


def test_what_is_listed_has_a_long_test() -> None:
    idle = {
        path for path in LISTED if not any(long == path or long.startswith(f"{path}/") for long in LONG)
    }
    # Named for other reasons: where transcripts are.
    assert idle <= {"tests/conformance/transcripts/"}
