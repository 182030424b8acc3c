"""A window farm of pane farms in one process: panes are shared by all its replicas.

    WinFarm(PaneFarm(p, w), replicas=n)   runs as   PaneFarm(n·p, n·w)

A replica that has every n-th window still needs most events, since windows overlap, and would fold them
again. Here each pane is folded once, by one of all pane workers, and each window by one of all window
workers: the same stages and the same answer. On Spark it is one pane farm too.
"""

from __future__ import annotations

from sash.operators.patterns.declared import PaneFarm, Pattern, WinFarm


def with_shared_panes(pattern: Pattern) -> Pattern:
    """What runs in place of a window farm of pane farms; any other pattern as it is.

    >>> print(with_shared_panes(WinFarm(PaneFarm(2, 3), replicas=2, optimize=1)))
    PaneFarm(plq=4, wlq=6, optimize=1)
    """
    if not isinstance(pattern, WinFarm) or not isinstance(pattern.held, PaneFarm):
        return pattern
    held = pattern.held
    level = held.optimize if pattern.optimize is None else pattern.optimize
    return PaneFarm(pattern.degree * held.plq, pattern.degree * held.wlq, optimize=level)
