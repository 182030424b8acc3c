"""SQL's words in a condition, and what is written for them here: conditions in text are Python's."""

from __future__ import annotations

import re

_WORDS = (
    (re.compile(r"\bis\s+not\s+null\b", re.IGNORECASE), "`x is not None` for IS NOT NULL"),
    (re.compile(r"\bis\s+null\b", re.IGNORECASE), "`x is None` for IS NULL"),
    (re.compile(r"(?<![<>=!])=(?!=)"), "`==` for ="),
    (re.compile(r"<>"), "`!=` for <>"),
    (re.compile(r"\bbetween\b", re.IGNORECASE), "`1 <= x <= 2` for BETWEEN"),
    (re.compile(r"\b(AND|OR|IN)\b|&&|\|\|"), "`and`, `or` and `in`, in small letters"),
    (
        re.compile(r"(?<!\bis\s)\bnot\b(?!\s+(in|null)\b)", re.IGNORECASE),
        "the opposite for not: `x <= 1` for not x > 1, `x == False` for not x",
    ),
)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def in_python(text: str) -> str:
    """One more sentence: what to write instead of SQL's words in a condition; empty when it has none.

    >>> in_python("x IS NULL AND y = 'is null'")
    ' Write `x is None` for IS NULL; `==` for =; `and`, `or` and `in`, in small letters.'
    >>> in_python("x is None and y == 'A OR B'")
    ''
    """
    code = _QUOTED.sub("''", text)
    found = [words for pattern, words in _WORDS if pattern.search(code)]
    return f" Write {'; '.join(found)}." if found else ""
