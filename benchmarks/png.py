"""Charts as PNG files with a palette: a chart has few colours, and a third of the bytes."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def save(figure: Figure, path: Path) -> Path:
    """Write the chart, 100 pixels per inch."""
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=100, format="png")
    with Image.open(drawn) as image:
        # Without dithering, which would scatter points over flat areas.
        image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)
    return path
