"""What an experiment found, as data: panels of series. Drawing them is `plotting`'s business."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.harness import Table
from benchmarks.paper_table import PaperTable


@dataclass
class Series:
    """One line of a panel; `style` names its colour and marker where that is not its label."""

    label: str
    xs: list[Any] = field(default_factory=list)
    ys: list[float] = field(default_factory=list)
    dashed: bool = False
    joined: bool = True
    """Whether neighbouring points are joined by a line; not over categories."""
    style: str = ""

    def add(self, x: Any, y: float) -> None:
        self.xs.append(x)
        self.ys.append(float(y))

    def keep_best(self, x: Any, y: float) -> None:
        """Add a point, or lower the one that is there: of several timings the shortest counts."""
        if x in self.xs:
            at = self.xs.index(x)
            self.ys[at] = min(self.ys[at], float(y))
        else:
            self.add(x, y)


@dataclass
class Panel:
    """One pair of axes. The x axis has powers of two, or else categories."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    powers_of_two: bool = True
    logarithmic: bool = True


@dataclass
class Chart:
    """One figure: `name` is its file, `settings` is what was fixed while it was measured."""

    name: str
    title: str
    panels: Sequence[Panel]
    settings: dict[str, Any]
    table: PaperTable | None = None
    """The same beside what the paper has measured."""
    judged: Table | None = None
    """What the project promises of it."""

    def as_json(self) -> dict[str, Any]:
        """Everything that is drawn, to four significant digits: more would only be noise."""
        data = asdict(self)
        if self.judged is None:
            del data["judged"]
        for panel in data["panels"]:
            for series in panel["series"]:
                series["ys"] = [float(f"{y:.4g}") for y in series["ys"]]
                series["xs"] = [x if isinstance(x, str) else float(f"{x:.8g}") for x in series["xs"]]
        return data
