"""Eviction by a slide policy, by descent through a forest of aligned blocks.

Whole blocks from the head while they leave, then from the first that does not down to the leaf where the
policy turns: O(log n) combines, block reads and calls of the policy. This is for `sash.aggregators`; policy
windows of queries: `operators.engine.groups.policy_group` and `kernels.state.policy_window_eviction`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from sash.aggregation.algorithms.fifo import Fifo
from sash.aggregation.algorithms.mta.aligned_blocks import LevelAndIndex, blocks, stop
from sash.aggregation.algorithms.slide_policy import PolicyQuestion, SlidePolicy
from sash.aggregation.elements import ABSENT, Element


class Descent(Fifo):
    """A window whose aligned blocks can be read."""

    @abstractmethod
    def _read(self, ids: Sequence[LevelAndIndex]) -> list[Element]:
        """The folds of these blocks, which lie inside the window; `ABSENT` for one of nulls only."""

    def evict_by_policy(self, policy: SlidePolicy) -> int:
        """Evict the longest prefix for which the monotone policy holds; give back its length.

        `policy(total, old)` sees the values of the window and of a prefix; see `slide_policy`. Costs
        O(log n) combines, node reads and calls of the policy.
        """
        question = PolicyQuestion(policy, self.monoid, self._fold())
        prefix: Element = ABSENT
        boundary = self._lo
        for block in blocks(self._lo, self._hi):
            longer = self._join(prefix, self._read([block])[0])
            if not question.leaves(longer):
                boundary = self._descend(block, prefix, question)
                break
            prefix, boundary = longer, stop(block)
        return self.bulk_evict(boundary - self._lo)

    def _descend(self, block: LevelAndIndex, prefix: Element, question: PolicyQuestion) -> int:
        """The first position in `block`, which does not leave as a whole, that stays."""
        level, index = block
        while level:
            level, index = level - 1, index * 2
            longer = self._join(prefix, self._read([(level, index)])[0])
            if question.leaves(longer):
                prefix, index = longer, index + 1
        return index
