"""A sliding-window aggregator as users see it: one algorithm, in the form that its monoid allows.

The form is chosen with the first value, when it is known of what kind the columns and the times are, and
stays for good; `mode` and the repr show it. Until then only nulls can have come: the interpreted form keeps
them, and a compiled one takes them over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from sash.aggregation.algorithm_form import AlgorithmForm, compiled_algorithm
from sash.aggregation.algorithms import INTERPRETED
from sash.aggregation.algorithms.column_kinds import kinds_of, numbers
from sash.aggregation.algorithms.monoids_side_by_side import Tracked
from sash.aggregation.algorithms.mta.stored_nodes import StoredNodes
from sash.aggregation.algorithms.protocol import Algorithm, Time, as_list
from sash.aggregation.algorithms.slide_policy import SlidePolicy
from sash.aggregation.elements import ABSENT, Element
from sash.aggregation.interpreted import object_column
from sash.aggregation.monoid import Kind, Monoid
from sash.aggregation.sliding import slide_compiled
from sash.aggregation.stores.protocol import Store
from sash.arrays import Array
from sash.errors import ArgumentError


class Aggregator:
    """A window of elements and their fold.

    `kinds` are those of the monoid's columns, one of 'bool', 'int', 'float' and 'object' each; without them
    the first value decides. Elements of numbers are kept in arrays and folded by machine code, integers in
    64 bits as in queries; with 'object' they are kept as they are and folded by the monoid's own functions.
    """

    _any_order: ClassVar[bool] = False

    def __init__(self, monoid: Monoid, *, kinds: Sequence[Kind] | None = None) -> None:
        if not isinstance(monoid, Tracked):
            monoid.require_no_condition(type(self).__name__)
        self.monoid = monoid
        self._mode: AlgorithmForm = "undecided"
        self._kinds = self._known_kinds(kinds)
        self._bound = monoid if kinds is None else monoid.bind(self._kinds or ())
        self._window = self._interpreted()
        if isinstance(monoid, Tracked):
            self._mode = "interpreted"

    def _interpreted(self, **options: Any) -> Algorithm:
        return INTERPRETED[type(self).__name__](self._bound, **options)

    def _known_kinds(self, given: Sequence[Kind] | None) -> tuple[Kind, ...] | None:
        if given is None:
            return () if not self.monoid.columns else self.monoid.kinds
        kinds = tuple(given)
        if len(kinds) != len(self.monoid.columns) or not set(kinds) <= {"bool", "int", "float", "object"}:
            expected = f"one of bool, int, float, object for each of {list(self.monoid.columns)}"
            raise ArgumentError("kinds", given, expected)
        return kinds

    @property
    def mode(self) -> AlgorithmForm:
        """How it runs: "compiled", "interpreted", or "undecided" before the first value."""
        return self._mode

    def __repr__(self) -> str:
        monoid = f"{self.monoid.name}({', '.join(self.monoid.columns)})"
        return f"<{type(self).__name__} of {monoid}, {self._mode}: {len(self)} held>"

    def __len__(self) -> int:
        return len(self._window)

    # Insertion.

    def insert(self, *values: Any, time: Time | None = None) -> None:
        """Lift one event, given as one value for each of the monoid's columns, and add it."""
        if self._mode == "undecided" and None not in values:
            self._decide([[value] for value in values], time)
        self._window.insert(*values, time=time)

    def insert_many(self, *columns: Any, times: Any | None = None) -> None:
        """Lift and add a batch of events: one array or sequence for each of the monoid's columns.

        All or nothing: a batch that is refused leaves the window as it was.
        """
        if self._mode == "undecided":
            columns, times = tuple(map(numbers, columns)), times if times is None else numbers(times)
            self._decide(columns, _first(times))
        self._window.insert_many(*columns, times=times)

    def insert_element(self, element: Element, *, time: Time | None = None) -> None:
        """Add an element that is lifted already: a partial fold, such as a pane."""
        if self._mode == "undecided" and element is not ABSENT:
            self._choose(self._kinds, time, element)
        self._window.insert_element(element, time=time)

    def insert_elements(self, elements: Any, *, times: Any | None = None) -> None:
        """Add a batch of lifted elements: a sequence, or an array when elements are scalars."""
        if self._mode == "undecided":
            elements, times = numbers(elements), times if times is None else numbers(times)
            first = next((element for element in elements if element is not ABSENT), None)
            if first is not None:
                self._choose(self._kinds, _first(times), first)
        self._window.insert_elements(elements, times=times)

    # Eviction and query.

    def evict(self) -> None:
        """Take the oldest element away."""
        self._window.evict()

    # `n` may be given by position although it has a default: bulk_evict(3) is how everybody writes it.
    def bulk_evict(self, n: int | None = None, *, until: Time | None = None) -> int:
        """Take away the n oldest, or all with time < until; return how many that were."""
        return self._window.bulk_evict(n, until=until)

    def query(self) -> Any:
        """The value of the window; the monoid's `nothing` when it holds nothing but nulls."""
        return self._window.query()

    def fold(self) -> Element:
        """The raw element that the window folds to; the identity when it holds nothing but nulls."""
        return self._window.fold()

    # Whole columns.

    @classmethod
    def slide(
        cls,
        monoid: Monoid,
        *columns: Any,
        window: int,
        times: Any | None = None,
        kinds: Sequence[Kind] | None = None,
    ) -> Array:
        """The value of the last `window` events after each of them: insert, evict, query in one loop.

        Classes that take any order also take `times`; the window is then of the latest events so far. The
        values are an array of numbers, or of objects where there are nulls.
        """
        made = cls(monoid, kinds=kinds)
        ready = [numbers(column) for column in columns]
        if not ready or len(ready) != len(monoid.columns) or len({len(column) for column in ready}) > 1:
            expected = f"arrays of one length, one for each of {list(monoid.columns)}"
            raise ArgumentError("columns", [len(column) for column in ready], expected)
        if window < 1:
            raise ArgumentError("window", window, "a positive number of events")
        if times is not None and not cls._any_order:
            raise ArgumentError("times", "given", "not given: these windows are in order of arrival")
        stamps = None if times is None else numbers(times)
        if stamps is not None and len(stamps) != len(ready[0]):
            raise ArgumentError("times", f"{len(stamps)} of them", f"as many as events, {len(ready[0])}")
        found = kinds_of(ready) if made._kinds is None else made._kinds
        if found is not None:
            values = slide_compiled(cls.__name__, made._bound, ready, window, stamps, found)
            if values is not None:
                return values
        return made._slid(ready, window, stamps)

    def _slid(self, columns: list[Any], window: int, times: Any | None) -> Array:
        stamps = [None] * len(columns[0]) if times is None else as_list(times)
        values = []
        for row, time in zip(zip(*map(as_list, columns), strict=True), stamps, strict=True):
            self.insert(*row, time=time)
            if len(self) > window:
                self.evict()
            values.append(self.query())
        return object_column(values)

    # The choice.

    def _decide(self, columns: Sequence[Any], time: Time | None) -> None:
        """Choose by the values of the first events, unless a column has none yet."""
        if len(columns) == len(self.monoid.columns):
            kinds = kinds_of(columns) if self._kinds is None else self._kinds
            if kinds is not None:
                self._choose(kinds, time)

    def _choose(self, kinds: tuple[Kind, ...] | None, time: Time | None, element: Element = None) -> None:
        stamp = 0 if time is None else time
        window = compiled_algorithm(type(self).__name__, self._bound, kinds, stamp, element=element)
        self._mode = "interpreted"
        if window is not None:
            window.take_over(self._window)
            self._window, self._mode = window, "compiled"


def _first(values: Any) -> Any:
    return values[0] if values is not None and len(values) else None


class PolicyAggregator(Aggregator):
    """An aggregator that can be evicted by a slide policy."""

    def evict_by_policy(self, policy: SlidePolicy) -> int:
        """Evict the longest prefix for which the monotone policy holds; return its length.

        `policy(total, old)` sees the values of the window and of a prefix from its head. True means 'at
        least this prefix leaves'.
        """
        evicted: int = self._window.evict_by_policy(policy)  # type: ignore[attr-defined]
        return evicted


class StoredAggregator(PolicyAggregator):
    """An aggregator that can keep the nodes of its tree in a store.

    With `store` it holds O(log n) pages of nodes in memory and is interpreted. Nodes are written to the
    store under keys that begin with `prefix`, and the owner of the store commits them; two windows in one
    store need two prefixes. Times must then be integers or floats.
    """

    def __init__(
        self,
        monoid: Monoid,
        *,
        kinds: Sequence[Kind] | None = None,
        store: Store | None = None,
        prefix: bytes = b"",
    ) -> None:
        super().__init__(monoid, kinds=kinds)
        if store is not None:
            nodes = StoredNodes(store, self._bound, prefix=prefix)
            self._window, self._mode = (
                INTERPRETED[type(self).__name__](self._bound, nodes=nodes),
                "interpreted",
            )
