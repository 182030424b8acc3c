"""What engines report: the SECRET model, its engine profiles and its simulator."""

from sash.semantics.secret import *  # noqa: F403
from sash.semantics.secret import __all__ as __all__
