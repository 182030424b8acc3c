"""`sash size`: how large a cluster a pipeline needs, with the arithmetic.

Its options are declared in `cli/main.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from sash.cli.commands.pipelines import bound_without_rows, read_pipeline
from sash.errors import Unsupported
from sash.planner.explain.state_size import in_bytes

if TYPE_CHECKING:
    from sash.runtimes.spark.sizing.cluster_size import ClusterSize, Quantity

BY_DEFAULT = 10.0
"""Seconds between micro-batches, where neither the pipeline nor an option has them."""


def run(
    file: Path, *, rate: float, keys: float, every: float | None, partitions: int | None,
    safe: bool = False, as_json: bool, debug: bool,
) -> None:  # fmt: skip
    """Try one bucket in this process, and print what all of them need."""
    from sash.runtimes.spark.sizing.cluster_size import cluster_size
    from sash.runtimes.spark.sizing.load import ExpectedLoad

    pipeline = read_pipeline(file, safe=safe)
    if not pipeline.streaming:
        raise Unsupported("mode", "batch", "'stream' for sash size", hint="A batch keeps nothing.")
    trigger = pipeline.run.trigger.every
    seconds = every or (BY_DEFAULT if trigger is None else trigger.length / 1e6)
    with bound_without_rows(pipeline, debug=debug) as queries:
        bounds = {name: query.bound for name, query in queries.items()}
    size = cluster_size(
        bounds, ExpectedLoad(rate=rate, keys=round(keys), seconds=seconds), partitions=partitions
    )
    print(json.dumps(size.as_data(), ensure_ascii=False) if as_json else as_text(size))


def as_text(size: ClusterSize) -> str:
    """The sums, and below each its terms."""
    load = size.load
    lines = [
        f"for {load.rate:,.0f} events/s of {load.keys:,} keys, a micro-batch every {load.seconds:g} s, "
        f"spark.sql.shuffle.partitions={size.partitions}"
    ]
    for name, trial in size.trials.items():
        part = "" if trial.scale == 1 else f"1/{trial.scale} of "
        lines.append(
            f"tried{' ' * bool(name)}{name}: {part}one bucket: {trial.keys:,} keys, "
            f"{trial.events:,} events, {trial.span:,.0f} s of event time"
        )
    for quantity in size.quantities:
        lines += ["", f"{quantity.name:<28}{_amount(quantity, quantity.amount)}"]
        for term in quantity.terms:
            lines.append(f"  {term.name:<36}{_amount(quantity, term.amount):>10} = {term.how}")
        if quantity.divisor != 1:
            lines.append(f"  all of it / {quantity.divisor}, the part of its time that a core should work")
    return "\n".join(lines)


def _amount(quantity: Quantity, amount: float) -> str:
    if not quantity.unit:
        return f"{amount:,.1f}"
    return in_bytes(round(amount)) + quantity.unit.removeprefix("bytes")
