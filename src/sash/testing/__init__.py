"""What users test their own parts with: `laws` for a monoid, `monotone` for a slide policy."""

from __future__ import annotations

from sash.testing.monoid_laws import laws
from sash.testing.policy_laws import monotone

__all__ = ["laws", "monotone"]
