"""Draws a series of numbers as the points of an SVG line, which needs no script."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

WIDTH: Final = 240
HEIGHT: Final = 56


@dataclass(frozen=True, slots=True)
class Line:
    points: str
    """Of a `polyline`."""
    area: str
    """The same as a closed `polygon`."""
    last: float
    most: float


def draw_line(values: Sequence[float], *, at_least: float = 1.0) -> Line | None:
    """The newest value is at the right edge. None: a line needs two values."""
    if len(values) < 2:
        return None
    most = max(values)
    scale = max(most, at_least)
    step = WIDTH / (len(values) - 1)
    corners = [
        f"{index * step:.1f},{HEIGHT - value / scale * HEIGHT:.1f}"
        for index, value in enumerate(values)
    ]
    points = " ".join(corners)
    area = f"0,{HEIGHT} {points} {WIDTH},{HEIGHT}"
    return Line(points, area, values[-1], most)
