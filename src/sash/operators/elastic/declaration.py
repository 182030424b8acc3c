"""`sash.Elastic`: between how many instances a query may run, who decides, and where its state lives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sash.errors import ArgumentError
from sash.operators.elastic.controller_samples import Sample
from sash.operators.elastic.controllers import Controller, predictive, thresholds
from sash.semantics.durations import whole_number

CONTROLLERS: dict[str, Callable[[], Controller]] = {"thresholds": thresholds, "predictive": predictive}
STORES = ("lmdb", "files", "redis")
SERVER = ("redis://", "rediss://", "unix://")


@dataclass(frozen=True, kw_only=True)
class Elastic:
    """From `min` to `max` instances, as a controller decides.

    >>> Elastic(min=1, max=8).degree([])
    1
    >>> Elastic(min=4, max=2)
    Traceback (most recent call last):
        ...
    sash.errors.ArgumentError: max must be a whole number that is at least min (4); got 2
    """

    min: int = 1
    max: int
    controller: Literal["thresholds", "predictive"] | Controller = "thresholds"
    store: str = "lmdb"
    """"lmdb": beside the checkpoint, for the processes of one host; "files": in the checkpoint, on any file
    system that Spark and Arrow can both open; "redis", or the URL of a Redis server: for many hosts."""
    buckets: int = 64
    """Shares of the keys, for the life of a checkpoint: what instances are given and state is kept by."""
    executors: bool = False
    """On a cluster: start as many executors as the instances need, and end those that are too many."""

    def __post_init__(self) -> None:
        low, high = whole_number(self.min), whole_number(self.max)
        if low is None or low < 1:
            raise ArgumentError("min", self.min, "a positive whole number of instances")
        if high is None or high < low:
            raise ArgumentError("max", self.max, f"a whole number that is at least min ({low})")
        if not callable(self.controller) and self.controller not in CONTROLLERS:
            known = " or ".join(map(repr, CONTROLLERS))
            raise ArgumentError("controller", self.controller, f"{known}, or a function of samples")
        if self.store not in STORES and not str(self.store).startswith(SERVER):
            raise ArgumentError(
                "store", self.store, "'lmdb', 'files', 'redis', or the URL of a Redis server"
            )
        if whole_number(self.buckets) is None or self.buckets < high:
            raise ArgumentError("buckets", self.buckets, f"a whole number that is at least max ({high})")
        if not isinstance(self.executors, bool):
            raise ArgumentError("executors", self.executors, "True or False")

    def degree(self, samples: Sequence[Sample]) -> int:
        """What the controller decides, within the bounds."""
        wanted = self.decide(samples)
        if whole_number(wanted) is None:
            raise ArgumentError("controller", wanted, "a function that returns a whole number")
        return sorted((self.min, wanted, self.max))[1]

    @property
    def decide(self) -> Controller:
        if callable(self.controller):
            return self.controller
        return CONTROLLERS[self.controller]()
