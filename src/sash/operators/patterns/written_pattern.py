"""A pattern from the text that `str` makes of it, as checkpoints keep it.

>>> pattern_written("WinFarm(PaneFarm(plq=2, wlq=3), replicas=2)").workers
10
>>> pattern_written("FutureFarm(2)")
"""

from __future__ import annotations

import ast
from typing import Any

from sash.errors import SashError
from sash.operators.patterns.declared import KeyFarm, PaneFarm, Pattern, WinFarm, WinMapReduce, WinSeq

_MADE = {made.__name__: made for made in (KeyFarm, PaneFarm, WinFarm, WinMapReduce, WinSeq)}


def pattern_written(text: str) -> Pattern | None:
    """None where this version has no such pattern."""
    try:
        made: Pattern = _made(ast.parse(text, mode="eval").body)
    except (KeyError, SyntaxError, TypeError, ValueError, SashError):
        return None
    return made


def _made(node: ast.expr) -> Any:
    if not isinstance(node, ast.Call):
        return ast.literal_eval(node)
    if not isinstance(node.func, ast.Name):
        raise SyntaxError("no name of a pattern")
    options = {str(one.arg): _made(one.value) for one in node.keywords}
    return _MADE[node.func.id](*map(_made, node.args), **options)
