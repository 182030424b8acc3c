"""What engines report: the SECRET model, its profiles and its simulator, and the probe of live engines."""

from sash.display.timeline.engine_lanes import draw
from sash.engines.findings import EngineFindings
from sash.engines.probe import LIVE, probe
from sash.semantics import secret as _model
from sash.semantics.secret import *  # noqa: F403

__all__ = ["LIVE", "EngineFindings", "draw", "probe"]
__all__ += _model.__all__
