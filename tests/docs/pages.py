"""The Python of a page of documentation: found, run from top to bottom, compared with what the page shows.

    ```python                    runs, in one namespace with the blocks before it
    ```text                      right after it: what it prints; '...' stands for what may differ
    <!-- not run: reason -->     right before it: it is compiled, and every name in it must be known

Code is compiled at the lines where it stands in the page, so that a traceback points there. Python's cache
of source lines gets it, as in a notebook: users' functions are compiled from their text.
"""

from __future__ import annotations

import builtins
import contextlib
import dis
import doctest
import io
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

BROKER = "localhost:9092"
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]*?) -->\n\s*)?```python\n(?P<source>.*?)^```$"
    r"(?:\s*^```text\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_READS_A_NAME = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_CLASSDEREF"}
_BINDS_A_NAME = {"STORE_NAME", "STORE_GLOBAL"}


@dataclass(frozen=True)
class Block:
    """Python of a page, the output that the page shows for it, and why it is not run, if it is not."""

    source: str
    line: int
    """How many lines of the page come before it."""
    shown: str | None
    not_run: str | None


@dataclass(frozen=True)
class Page:
    path: Path
    broker: str = BROKER
    """The address of a real one, in the place of the page's."""

    @property
    def blocks(self) -> list[Block]:
        text = self.path.read_text(encoding="utf-8").replace(BROKER, self.broker)
        return [
            Block(
                source=found["source"],
                line=text.count("\n", 0, found.start("source")),
                shown=found["shown"],
                not_run=found["reason"],
            )
            for found in _BLOCK.finditer(text)
        ]

    @property
    def needs_spark(self) -> bool:
        return any("spark" in block.source for block in self.blocks if block.not_run is None)

    @property
    def needs_kafka(self) -> bool:
        return any(self.broker in block.source for block in self.blocks if block.not_run is None)

    @property
    def topics(self) -> list[str]:
        """Of Kafka, that the page writes to or reads."""
        source = "".join(block.source for block in self.blocks)
        return sorted(set(re.findall(r'"(?:topic|subscribe)", "([^"]+)"', source)))

    def run(self) -> Iterator[tuple[Block, str]]:
        """Each block that was run, with what it printed."""
        namespace: dict[str, Any] = {"__name__": "__main__"}
        for block in self.blocks:
            code = self._compiled(block)
            if block.not_run is not None:
                unknown = _read(code) - _bound(code) - namespace.keys() - vars(builtins).keys()
                assert not unknown, f"{self.path}:{block.line}: {unknown} is defined nowhere"
                namespace |= dict.fromkeys(_bound(code))
                continue
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(code, namespace)
            yield block, printed.getvalue()

    def _compiled(self, block: Block) -> CodeType:
        name, source = f"{self.path}#{block.line}", "\n" * block.line + block.source
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        return compile(source, name, "exec")


def difference(block: Block, printed: str) -> str | None:
    """What the reader would see that the page does not show; None when there is nothing."""
    if block.shown is None:
        return None
    shown, output = _without_trailing_spaces(block.shown), _without_trailing_spaces(printed)
    checker, flags = doctest.OutputChecker(), doctest.ELLIPSIS | doctest.REPORT_UDIFF
    if checker.check_output(shown, output, flags):
        return None
    return checker.output_difference(doctest.Example(block.source, shown), output, flags)


def _without_trailing_spaces(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def _read(code: CodeType) -> set[str]:
    return set(_names(code, _READS_A_NAME))


def _bound(code: CodeType) -> set[str]:
    return set(_names(code, _BINDS_A_NAME))


def _names(code: CodeType, instructions: set[str]) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname in instructions:
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant, instructions)
