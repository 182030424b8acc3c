"""An explanation for notebooks: what `explanation_text` writes, with the candidates as a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from sash.display import tables
from sash.planner.explain.explanation import Explanation, WindowExplanation
from sash.planner.explain.explanation_text import as_plan, in_seconds


@dataclass(frozen=True, repr=False)
class Planned:
    """What computes a query and why: `str()` is what `explain("plan")` prints; notebooks show tables."""

    explanation: Explanation

    def __str__(self) -> str:
        return as_plan(self.explanation)

    def __repr__(self) -> str:
        pattern, algorithm = self.explanation.pattern, self.explanation.algorithm
        return f"<sash plan: {algorithm.name} by {pattern.name}, because {pattern.why}>"

    def _repr_html_(self) -> str:
        return tables.block("plan", html_of_plan(self.explanation))


def html_of_plan(explanation: Explanation) -> Iterator[str]:
    """Meaning, algorithm, pattern; candidates and stages below, folded away."""
    yield tables.as_html(("window", "class", "holds"), map(_window, explanation.windows))
    if explanation.whole:
        yield f"<p>{escape(explanation.whole)} of whole windows</p>"
    else:
        computed = (f"{one.name} = {one.call}" for one in explanation.aggregates)
        yield f"<p>computes <code>{escape(', '.join(computed))}</code></p>"
    keys = ", ".join(explanation.keys) or "none"
    yield f"<p>{escape(f'{explanation.order} order of {explanation.time}, by key ({keys})')}</p>"
    yield f"<p><b>{escape(explanation.algorithm.name)}</b>: {escape(explanation.algorithm.how)}</p>"
    yield f"<p><b>{escape(explanation.pattern.name)}</b>: {escape(explanation.pattern.why)}</p>"
    yield f"<details><summary>candidates</summary>{''.join(_candidates(explanation))}</details>"
    stages = "".join(f"<li>{escape(stage)}</li>" for stage in explanation.stages)
    yield f"<details><summary>stages</summary><ol>{stages}</ol></details>"
    if explanation.advice:
        advice = "".join(f"<li>{escape(line)}</li>" for line in explanation.advice)
        yield f"<details><summary>cheaper</summary><ul>{advice}</ul></details>"


def _window(window: WindowExplanation) -> tuple[str, ...]:
    return escape(window.written), escape(window.context), f"<code>{escape(window.formula)}</code>"


def _candidates(explanation: Explanation) -> Iterator[str]:
    pattern = explanation.pattern
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
