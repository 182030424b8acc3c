"""An explanation for notebooks: what `rendering` says as text, with the candidates as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from sash.display import tables
from sash.planner.explain.explanation import Explanation, WindowExplanation
from sash.planner.explain.explanation_text import as_text, in_seconds


@dataclass(frozen=True, repr=False)
class Planned:
    """What computes a query and why: `str()` is what `explain()` prints, notebooks show it as tables."""

    said: Explanation

    def __str__(self) -> str:
        return as_text(self.said)

    def __repr__(self) -> str:
        pattern, algorithm = self.said.pattern, self.said.algorithm
        return f"<sash plan: {algorithm.name} by {pattern.name}, because {pattern.why}>"

    def _repr_html_(self) -> str:
        return tables.block("plan", parts_of(self.said))


def parts_of(said: Explanation) -> Iterator[str]:
    """Meaning, algorithm, pattern; candidates and stages below, folded away."""
    yield tables.as_html(("window", "class", "holds"), map(_window, said.windows))
    if said.whole:
        yield f"<p>{escape(said.whole)} of whole windows</p>"
    else:
        computed = (f"{one.name} = {one.call}" for one in said.aggregates)
        yield f"<p>computes <code>{escape(', '.join(computed))}</code></p>"
    keys = ", ".join(said.keys) or "none"
    yield f"<p>{escape(f'{said.order} order of {said.time}, by key ({keys})')}</p>"
    yield f"<p><b>{escape(said.algorithm.name)}</b>: {escape(said.algorithm.how)}</p>"
    yield f"<p><b>{escape(said.pattern.name)}</b>: {escape(said.pattern.why)}</p>"
    yield f"<details><summary>candidates</summary>{''.join(_candidates(said))}</details>"
    stages = "".join(f"<li>{escape(stage)}</li>" for stage in said.stages)
    yield f"<details><summary>stages</summary><ol>{stages}</ol></details>"
    if said.advice:
        advice = "".join(f"<li>{escape(line)}</li>" for line in said.advice)
        yield f"<details><summary>cheaper</summary><ul>{advice}</ul></details>"


def _window(window: WindowExplanation) -> tuple[str, ...]:
    return escape(window.label), escape(window.context), f"<code>{escape(window.formula)}</code>"


def _candidates(said: Explanation) -> Iterator[str]:
    pattern = said.pattern
    rows = [
        ("→" if one.chosen else "", escape(one.pattern), in_seconds(one.seconds), escape(one.dearest))
        for one in sorted(pattern.candidates, key=lambda one: one.seconds)
    ]
    yield tables.as_html(("", "pattern", "estimate", "mostly"), rows)
    if pattern.forbidden:
        yield tables.as_html(
            ("not possible", "because"),
            [(escape(one.pattern), escape(one.reason)) for one in pattern.forbidden],
        )
