"""A point that several figures of the JPDC paper share, measured in each of them: was the machine quiet?

200,000 quotes a second, windows of 1 s, two agnostic workers, chunks of 5,000: T_calc is then the same in
figures 11, 12, 14 and 15, and results a second, with a slide of 10 ms, in figures 11 and 12. If they differ
by more than `TOLERANCE`, something else has used the cores.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from benchmarks.paper_table import PaperTable
from benchmarks.pisa_papers.trading import Measured

TOLERANCE = 0.15


@dataclass
class Repeated:
    """By figure; of one run of the program."""

    calcs: dict[str, float] = field(default_factory=dict)
    outputs: dict[str, float] = field(default_factory=dict)

    def add(self, figure: str, measured: Measured, *, same_slide: bool) -> None:
        self.calcs[figure] = measured.calc
        if same_slide:
            self.outputs[figure] = measured.output

    def check(self, table: PaperTable) -> None:
        """A row of what the figures until here have found, and a warning if they disagree."""
        differences = [spread(list(found.values())) for found in (self.calcs, self.outputs)]
        disagree = max(differences) > TOLERANCE
        calcs = ", ".join(f"{1e3 * calc:.1f} ({figure})" for figure, calc in self.calcs.items())
        outputs = ", ".join(f"{output:.1f} ({figure})" for figure, output in self.outputs.items())
        verdict = f"differ by {100 * differences[0]:.0f} % and {100 * differences[1]:.0f} %"
        table.add(
            "W 1 s, 2 agnostic, measured in several figures", paper="",
            here=f"T_calc {calcs} ms; with S 10 ms {outputs} results a second",
            why=verdict + f": more than {100 * TOLERANCE:.0f} %, the machine was not quiet" * disagree,
        )  # fmt: skip
        if disagree:
            print(f"warning: one point, measured again, {verdict}: measure again", file=sys.stderr)


def spread(values: list[float]) -> float:
    """
    >>> round(spread([10.0, 11.0, 12.5]), 2), spread([3.0]), spread([])
    (0.25, 0.0, 0.0)
    """
    return max(values) / min(values) - 1 if values else 0.0


OF_THIS_RUN = Repeated()
