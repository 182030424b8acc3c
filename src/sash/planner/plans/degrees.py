"""With how many workers a pattern is tried: some between two and the number of cores, on Spark also more.

    in process    2, 4, 8, … below the number of cores, and that number
    on Spark      the same, and two and four times that number

Fewer workers than cores copy and hand out less. On Spark more tasks than cores even out keys that were not
shared out evenly: a core that is done takes the next task. The cost model chooses, for each pattern.
"""

from __future__ import annotations

from dataclasses import replace

from sash.operators.patterns.declared import Farm, PaneFarm, Pattern, WinMapReduce, WinSeq
from sash.planner.facts import RuntimeName

MORE = 2, 4
"""Tasks per core that are tried on Spark, besides one."""


def degrees(where: RuntimeName, cores: int) -> tuple[int, ...]:
    """
    >>> degrees("process", 6), degrees("spark batch", 2)
    ((2, 4, 6), (2, 4, 8))
    """
    below = [2**power for power in range(1, cores.bit_length()) if 2**power < cores]
    more = [times * cores for times in MORE] if where in ("spark batch", "spark streaming") else []
    return (*below, cores, *more)


def of_all_degrees(pattern: Pattern, where: RuntimeName, cores: int) -> list[Pattern]:
    """A pattern with a worker per core, and then with other numbers of them. Of two steps the second may
    have one worker alone: what is left after the first is mostly little.

    >>> [str(one) for one in of_all_degrees(PaneFarm(4, 4), "process", 4)]
    ['PaneFarm(plq=4, wlq=4)', 'PaneFarm(plq=4, wlq=1)', 'PaneFarm(plq=2, wlq=2)', 'PaneFarm(plq=2, wlq=1)']
    """
    every = sorted(degrees(where, cores), key=lambda degree: degree != cores)
    match pattern:
        case Farm():
            return [replace(pattern, inner=pattern.held, replicas=degree) for degree in every]
        case PaneFarm() if pattern.workers > 2:
            return [PaneFarm(first, second) for first in every for second in (first, 1)]
        case WinMapReduce():
            return [WinMapReduce(first, second) for first in every for second in (first, 1)]
        case PaneFarm() | WinSeq():
            return [pattern]
