"""Names in the tree: a class name exists once, none is a verb of speech, and those in docstrings exist."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SPEECH = {"ask", "asked", "asks", "heard", "hears", "said", "say", "says", "speaks", "tells", "told"}
"""A name with such a part does not show what it holds: a table, a query, a message, an argument."""


def modules(*folders: str) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_a_class_name_exists_once() -> None:
    names = Counter(name for _, text in modules("src") for name in re.findall(r"(?m)^ *class (\w+)", text))
    assert [name for name, count in names.items() if count > 1] == []


def parts(name: str) -> set[str]:
    """
    >>> sorted(parts("_told_of")), sorted(parts("AskedFor")), sorted(parts("ASKED"))
    (['of', 'told'], ['asked', 'for'], ['asked'])
    """
    return {part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


def test_no_part_of_a_name_is_a_verb_of_speech() -> None:
    """But of the name of a test, which is a sentence."""
    found = [
        f"{path}:{token.start[0]} {token.string}"
        for path, text in modules("src", "tests", "examples", "tools", "benchmarks")
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NAME and not token.string.startswith("test_")
        if parts(token.string) & SPEECH
    ]
    assert found == []


def aliases(text: str) -> Iterator[str]:
    """The type aliases and type variables of a module: names in capitals and small letters."""
    for node in ast.parse(text).body:
        match node:
            case ast.AnnAssign(ast.Name(name), ast.Name("TypeAlias"), ast.expr()):
                yield name
            case ast.Assign([ast.Name(name)], ast.Subscript() | ast.BinOp() | ast.Name() | ast.Attribute()):
                if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name):
                    yield name
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("TypeVar" | "ParamSpec"))) if len(name) > 1:
                yield name


def test_an_alias_is_defined_once_and_has_no_name_of_a_class() -> None:
    """Not even twice as the same: whoever needs it imports it. Type variables of one letter are free."""
    classes: set[str] = set()
    places: dict[str, list[str]] = {}
    for path, text in modules("src"):
        classes.update(re.findall(r"(?m)^ *class (\w+)", text))
        for name in aliases(text):
            places.setdefault(name, []).append(str(path))
    assert sorted(classes & places.keys()) == []
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|yaml|js|css|html|sql|json))(?::\d+)?`")
OTHERS = {"query", "rows", "spark", "window"}
"""Words before a dot that are variables, although a module has the same name."""


def tree() -> set[str]:
    """Every file of the repository by each end of its path."""
    files = [path for path in ROOT.glob("*") if path.is_file()]
    for folder in ("src", "tests", "docs", "examples", "tools", "benchmarks"):
        files += (ROOT / folder).rglob("*.*")
    paths = (path.relative_to(ROOT).parts for path in files)
    return {"/".join(parts[at:]) for parts in paths for at in range(len(parts))}


def test_files_that_docstrings_and_decisions_name_exist() -> None:
    """Also in comments. A decision that is superseded names what is there now, or no file."""
    there = tree()
    texts = [*modules("src"), (Path("ARCHITECTURE.md"), (ROOT / "ARCHITECTURE.md").read_text("utf-8"))]
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        texts.append((path.relative_to(ROOT), path.read_text("utf-8")))
    gone = [f"{path}: {name}" for path, text in texts for name in FILE.findall(text) if name not in there]
    assert gone == []


def test_what_docstrings_name_in_a_module_exists() -> None:
    """`module.name` of a module in src: the name is somewhere in it."""
    texts = dict(modules("src"))
    by_module: dict[str, str] = {}
    for path, text in texts.items():
        module = path.parent.name if path.name == "__init__.py" else path.stem
        by_module[module] = by_module.get(module, "") + text
    inside = {f"{path.parent.name}.{path.stem}" for path in texts} | {
        f"{path.parent.parent.name}.{path.parent.name}" for path in texts
    }
    gone = [
        f"{path}: {module}.{name}"
        for path, text in texts.items()
        for module, name in re.findall(r"`([a-z_]\w*)\.(\w+)`", text)
        if module in by_module.keys() - OTHERS and name != "py" and f"{module}.{name}" not in inside
        if not re.search(rf"\b{name}\b", by_module[module])
    ]
    assert gone == []


def test_a_folder_lists_its_modules() -> None:
    """Where it has four or more: a line each in the docstring of the folder, and none that is gone."""
    wrong = []
    for path, text in modules("src"):
        listed = re.findall(r"(?<![\w/`])(\w+\.py)\b(?!`)", ast.get_docstring(ast.parse(text)) or "")
        there = {each.name for each in (ROOT / path).parent.glob("*.py")} - {"__init__.py", "__main__.py"}
        if path.name == "__init__.py" and path != Path("src/sash/__init__.py"):
            wrong += [f"{path}: no {name}" for name in sorted(there - set(listed)) if len(there) > 3]
            wrong += [f"{path}: {name} is gone" for name in sorted(set(listed) - there)]
    assert wrong == []
