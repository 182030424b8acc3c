"""What MkDocs does not do by itself, as its hooks.

- pages of files outside of docs/: each example, the change log, the architecture
- links to such files, which are right in the repository, lead to those pages
- an entry of the navigation with a star is all pages that it matches
- pictures (SVG) become part of the page, and so take its colours in the light and in the dark
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PROJECT = {
    "CHANGELOG.md": "changelog",
    "ARCHITECTURE.md": "architecture",
    "CONTRIBUTING.md": "contributing",
}
LINK = re.compile(r"(?<!!)(\[[^\]]*\])\(([^)\s#]+)\)")
PICTURE = re.compile(r'<img alt="[^"]*" src="([^":]+\.svg)"\s*/?>')


@cache
def generated() -> dict[str, tuple[str, str]]:
    """By the address of a page: the file of the repository that it shows, and its Markdown."""
    pages = {
        f"project/{name}.md": (file, (ROOT / file).read_text(encoding="utf-8"))
        for file, name in PROJECT.items()
    }
    pages["examples/README.md"] = ("examples/README.md", (ROOT / "examples/README.md").read_text("utf-8"))
    for path in sorted((ROOT / "examples").glob("*.py")):
        if not path.stem.startswith("_"):
            pages[f"examples/{path.stem}.md"] = (f"examples/{path.name}", example(path))
    return pages


def example(path: Path) -> str:
    """A program as a page: its docstring, then the program."""
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    docstring = ast.get_docstring(tree) or ""
    program = source.split("\n", tree.body[0].end_lineno or 0)[-1] if docstring else source
    return f"# {path.name}\n\n{docstring}\n\n```python\n{program.lstrip()}```\n"


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    docs = Path(config.docs_dir)
    there = [path.relative_to(docs).as_posix() for path in docs.rglob("*.md")]
    config.nav = expanded(config.nav, sorted({*there, *generated()}))
    return config


def expanded(entry: Any, pages: list[str]) -> Any:
    """The navigation with every starred entry replaced by the pages that it matches, READMEs first."""
    if isinstance(entry, dict):
        return {title: expanded(inner, pages) for title, inner in entry.items()}
    if not isinstance(entry, list):
        return entry
    entries: list[Any] = []
    for one in entry:
        if isinstance(one, str) and "*" in one:
            matching = [page for page in pages if fnmatch(page, one)]
            entries += sorted(matching, key=lambda page: (not page.endswith("README.md"), page))
        else:
            entries.append(expanded(one, pages))
    return entries


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for address, (_, text) in generated().items():
        files.append(File.generated(config, address, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as they are in the repository, turned to the pages of this site."""
    shown = generated().get(page.file.src_uri)
    home = PurePosixPath(shown[0] if shown else f"docs/{page.file.src_uri}").parent
    pages = dict(_pages(files))

    def turned(link: re.Match[str]) -> str:
        text, target = link.groups()
        known = pages.get(normpath((home / target).as_posix()))
        if "://" in target or known is None:
            return link[0]
        return f"{text}({relpath(known, PurePosixPath(page.file.src_uri).parent.as_posix())})"

    return LINK.sub(turned, markdown)


def _pages(files: Files) -> Iterator[tuple[str, str]]:
    """Files of the repository, and the pages or files of the site that show them."""
    for file in files:
        yield f"docs/{file.src_uri}", file.src_uri
    for address, (source, _) in generated().items():
        yield source, address


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    home = PurePosixPath(page.file.dest_uri).parent

    def inlined(image: re.Match[str]) -> str:
        path = Path(config.docs_dir) / normpath((home / image[1]).as_posix())
        svg = re.sub(r"<style>.*?</style>", "", path.read_text(encoding="utf-8"), count=1)
        return svg.replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)

    return PICTURE.sub(inlined, html)
