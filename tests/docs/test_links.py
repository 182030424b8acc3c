"""Links between files of the repository lead somewhere; those of the site are checked when it is built."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[str]:
    folders = ("docs", "examples", "tests")
    found = [
        ROOT / "docs" / "llms.txt",
        *ROOT.glob("*.md"),
        *(page for folder in folders for page in (ROOT / folder).rglob("*.md")),
    ]
    return sorted(page.relative_to(ROOT).as_posix() for page in found)


def slugs(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs make them."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    words = (re.sub(r"[^\w\s-]", "", heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE))
    return {re.sub(r"[-\s]+", "-", heading.strip().lower()) for heading in words}


@pytest.mark.parametrize("name", pages())
def test_the_relative_links_of_a_page_lead_to_files_and_headings(name: str) -> None:
    page = ROOT / name
    for target in LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.is_relative_to(ROOT), f"{name}: {target} leads out of the repository"
        assert there.exists(), f"{name}: {target} is not there"
        assert not anchor or anchor in slugs(there), f"{name}: {target} has no such heading"
