"""Pictures of windows over a line of events: as SVG for notebooks and files, as text for terminals."""

from sash.display.timeline.picture import Lane, Mark, Picture, Span
from sash.display.timeline.window_lanes import lane_of, marks_of, picture_of

__all__ = ["Lane", "Mark", "Picture", "Span", "lane_of", "marks_of", "picture_of"]
