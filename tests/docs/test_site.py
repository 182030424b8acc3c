"""The site beyond the words of its pages: a complete reference, and pictures that are true."""

from __future__ import annotations

import re
from inspect import ismodule
from pathlib import Path
from xml.etree import ElementTree

import pytest

import sash
from tools import docs_site, docstrings, pattern_matrix, pictures, public_names

ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "concepts" / "pictures"


def test_every_public_name_is_in_the_reference() -> None:
    pages = (ROOT / "docs" / "reference").glob("*.md")
    shown = {name for page in pages for name in re.findall(r"^::: sash\.(\w+)$", page.read_text(), re.M)}
    modules = {name for name in sash.__all__ if ismodule(getattr(sash, name))}
    assert set(sash.__all__) - modules - {"__version__"} <= shown


def test_the_table_of_public_names_is_what_the_code_has_today() -> None:
    table = (ROOT / "docs" / "reference" / "names.md").read_text(encoding="utf-8")
    assert table == public_names.page(), "python tools/public_names.py docs/reference/names.md writes it"
    assert all(f"| `{name}` |" in table for name in sash.__all__ if not name.startswith("__"))
    assert not re.search(r"\| +\|$", table, re.M), "a public name has no docstring"


def test_the_matrix_of_what_is_accepted_is_what_the_code_refuses_today() -> None:
    matrix = (ROOT / "docs" / "reference" / "matrix.md").read_text(encoding="utf-8")
    page = pattern_matrix.page()
    assert matrix == page, "python tools/pattern_matrix.py docs/reference/matrix.md writes it"
    assert all(part in page for part in pattern_matrix.REASONS), "a reason that no refusal has any more"


def test_a_refusal_that_nobody_has_judged_has_no_place_in_the_matrix() -> None:
    with pytest.raises(LookupError, match="by definition"):
        pattern_matrix.standing("Not today.")


def test_what_a_module_imports_is_not_of_its_kind() -> None:
    """`sash.ArgumentError` was called a pattern, because the module of the patterns raises it."""
    assert "| `ArgumentError` | error |" in public_names.page()
    assert "| `KeyFarm` | pattern |" in public_names.page()


@pytest.mark.parametrize("name", pictures.pictures())
def test_a_timeline_of_the_documentation_is_what_the_code_draws_today(name: str) -> None:
    drawn = pictures.pictures()[name].svg(standalone=True)
    assert (PICTURES / f"{name}.svg").read_text(encoding="utf-8") == drawn


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.name)
def test_a_picture_can_be_read_in_light_and_dark_and_by_those_who_do_not_see_it(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    picture = ElementTree.fromstring(text)
    assert picture.get("fill") == "currentColor"
    assert "prefers-color-scheme:dark" in text
    assert all(picture.findtext(f"{{http://www.w3.org/2000/svg}}{part}") for part in ("title", "desc"))


def test_a_docstring_becomes_markdown_that_shows_all_of_it() -> None:
    text = "Twice.\n\n    f(x) = [x] [x]\n\nx:  every <number>\n    there is\n\n>>> f(1)\n2\n\n>>> f(2)\n4"
    shown = docstrings.as_markdown(text).split("\n\n")
    assert shown == [
        "Twice.",
        "```text\nf(x) = [x] [x]\n```",
        "- **x**: every &lt;number>\n    there is",
        "```pycon\n>>> f(1)\n2",
        ">>> f(2)\n4\n```",
    ]


def test_a_starred_entry_of_the_navigation_is_all_pages_that_it_matches() -> None:
    pages = ["a/README.md", "a/one.md", "a/two.md", "b/one.md"]
    nav = docs_site.expanded([{"A": ["a/*.md"]}, {"B": "b/one.md"}], pages)
    assert nav == [{"A": ["a/README.md", "a/one.md", "a/two.md"]}, {"B": "b/one.md"}]
