"""What computes windows over columns, and the operators that can be used by themselves.

    Stateful, Aggregate, Join       O+, A+ and J+ of the STRETCH paper, over tuples with sets of keys
    Input                           an input of an operator, with its schema; sash.ScaleGate merges several
    ElasticOperator, setup          instances of an operator that come and go while the stream runs

Each name is loaded when it is first used, because every module of this room imports the package.

answer.py                   what a query answers with: reports, and the events that are in no window
bound_query.py              a query bound to the columns of its input: what to read, what comes out
bounded_input.py            a bounded input is one batch, and its end closes every window
late_rows.py                late rows: a row of the input, with the reason why it is in no window
look_back_regimes.py        when a hot key's look-backs pass from its owner to several workers, and back
look_backs_by_pane.py       look-backs of one key that several workers share
protocol.py                 the streaming window operator, seen from a runtime
saved_operator_contents.py  what a saved operator holds, read without its query
step_counter.py             how far a long computation has come, for a watcher in another thread
threads.py                  several pieces of work at a time: kernels and Arrow release Python's lock
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sash.operators.elastic.controller_samples import Sample as Sample
    from sash.operators.elastic.controllers import predictive as predictive, thresholds as thresholds
    from sash.operators.elastic.instances import ElasticOperator as ElasticOperator, setup as setup
    from sash.operators.order.interleaved import Input as Input
    from sash.operators.stateful.aggregate import Aggregate as Aggregate
    from sash.operators.stateful.declaration import Stateful as Stateful
    from sash.operators.stateful.join import Join as Join
    from sash.operators.stateful.keys import ByRow as ByRow, InBulk as InBulk
    from sash.operators.stateful.windows import InputEvent as InputEvent, WindowSet as WindowSet

_HOMES = {
    "Aggregate": "stateful.aggregate",
    "InputEvent": "stateful.windows",
    "ByRow": "stateful.keys",
    "ElasticOperator": "elastic.instances",
    "InBulk": "stateful.keys",
    "Input": "order.interleaved",
    "Join": "stateful.join",
    "Sample": "elastic.controller_samples",
    "Stateful": "stateful.declaration",
    "WindowSet": "stateful.windows",
    "predictive": "elastic.controllers",
    "setup": "elastic.instances",
    "thresholds": "elastic.controllers",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'sash.operators' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"sash.operators.{_HOMES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
