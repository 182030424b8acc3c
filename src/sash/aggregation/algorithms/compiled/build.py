"""The compiled form of each algorithm, by name."""

from __future__ import annotations

from typing import Any

from sash.aggregation.algorithms.compiled.fiba import CompiledFiBA
from sash.aggregation.algorithms.compiled.inlet import CompiledAlgorithm, Inlet
from sash.aggregation.algorithms.compiled.recalculate import CompiledRecalculate
from sash.aggregation.algorithms.compiled.rings import compiled_ring
from sash.aggregation.algorithms.compiled.time_codecs import time_codec
from sash.aggregation.kernels.compiler.compiled import Compiled
from sash.aggregation.monoid import Kind


def window(
    name: str, machine: Compiled, kinds: tuple[Kind, ...] | None, time: Any
) -> CompiledAlgorithm | None:
    """An empty window; None when times such as `time` are nothing for its arrays."""
    inlet = Inlet(machine, kinds)
    if name == "Recalculate":
        return CompiledRecalculate(inlet)
    if name == "SubtractOnEvict":
        machine.monoid.require_inverse(name)
    if name != "FiBA":
        return compiled_ring(name, inlet)
    clock = time_codec(time)
    return None if clock is None else CompiledFiBA(inlet, clock)
