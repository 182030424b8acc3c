"""Pictures of windows over a line of events: as SVG for notebooks and files, as text for terminals.

engine_lanes.py  `draw(engines, …)`: what engines report, as a picture
picture.py       what a timeline shows, before it is drawn: events on an axis, and lanes of windows below it
plain_text.py    a picture as text: one character cell or more for a unit of the axis
svg.py           a picture as SVG: the axis with its events on top, one lane below another
window_lanes.py  Sash's own windows as lanes of a picture
"""

from sash.display.timeline.picture import Lane, Mark, Picture, Span
from sash.display.timeline.window_lanes import lane_of, marks_of, picture_of

__all__ = ["Lane", "Mark", "Picture", "Span", "lane_of", "marks_of", "picture_of"]
