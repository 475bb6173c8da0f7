"""A placement as PNG, drawn at twice its size and reduced, so that edges are smooth.

In: path, design, placement. Out: the file, equal for equal input. What is drawn: `scene.py`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from netlists.files import atomic_bytes
from netlists.model import Design, FloatArray, Placement
from netlists.pictures import scene as colours
from netlists.pictures.scene import Scene, make_scene, scale_bar_um

LONG_SIDE_PX = 1200
MARGIN_PX, CAPTION_PX = 36, 56
_FINE = 2  # drawn larger by this, then reduced
_HATCH_PX = 11


def write_png(path: Path, design: Design, placement: Placement) -> None:
    """Writes the picture: 1200 pixels along the longer side of the canvas, plus a margin and a caption."""
    image = _Png(make_scene(design, placement), design.name).draw()
    with atomic_bytes(Path(path)) as file:
        image.save(file, format="PNG", optimize=True)


class _Png:
    def __init__(self, scene: Scene, name: str) -> None:
        self.scene, self.name = scene, name
        llx, lly, urx, ury = scene.view
        self.scale = _FINE * LONG_SIDE_PX / max(urx - llx, ury - lly)
        self.left, self.top = llx, ury
        size = ((urx - llx) * self.scale + 2 * _FINE * MARGIN_PX, (ury - lly) * self.scale + 2 * _FINE * MARGIN_PX)
        self.image = Image.new("RGB", (round(size[0]), round(size[1]) + _FINE * CAPTION_PX), "#ffffff")
        self.pen = ImageDraw.Draw(self.image, "RGBA")

    def points(self, xy_um: FloatArray) -> list[tuple[float, float]]:
        """(n, 2) µm to pixels, y down."""
        x = _FINE * MARGIN_PX + (xy_um[:, 0] - self.left) * self.scale
        y = _FINE * MARGIN_PX + (self.top - xy_um[:, 1]) * self.scale
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def pixels(self, box: FloatArray) -> tuple[float, float, float, float]:
        (left, bottom), (right, top) = self.points(np.asarray(box, dtype=np.float64).reshape(2, 2))
        return left, top, max(right, left + 1), max(bottom, top + 1)

    def draw(self) -> Image.Image:
        scene, pen = self.scene, self.pen
        canvas = np.array([0.0, 0.0, *scene.canvas])
        pen.rectangle(self.pixels(canvas), fill=colours.CANVAS_COLOUR)
        for box in scene.cells:
            pen.rectangle(self.pixels(box), fill=colours.CELL_COLOUR + "8c")
        for box in scene.soft:
            pen.rectangle(self.pixels(box), fill=colours.SOFT_COLOUR + "5c", outline="#6f8aa870")
        for box in scene.blockages:
            self._hatch(self.pixels(box))
        pen.rectangle(self.pixels(canvas), outline=colours.FRAME_COLOUR, width=_FINE * 2)
        for index, box in enumerate(scene.hard):
            fixed = scene.hard_fixed[index]
            pen.rectangle(
                self.pixels(box),
                fill=scene.hard_colour[index] + "e0",
                outline="#000000" if fixed else "#22303c",
                width=_FINE * (3 if fixed else 1),
            )
            pen.polygon(self.points(scene.marks[index]), fill="#ffffffc0")
        for tick in scene.ports:
            pen.line(self.points(tick), fill=colours.PORT_COLOUR, width=_FINE)
        self._caption()
        width, height = self.image.size
        return self.image.resize((width // _FINE, height // _FINE), Image.Resampling.LANCZOS)

    def _hatch(self, box: tuple[float, float, float, float]) -> None:
        left, top, right, bottom = box
        self.pen.rectangle(box, fill=colours.BLOCKAGE_COLOUR + "22", outline=colours.BLOCKAGE_COLOUR, width=_FINE)
        for offset in np.arange(left + top, right + bottom, _FINE * _HATCH_PX):  # lines x + y = offset, cut to the box
            start = (max(left, offset - bottom), min(bottom, offset - left))
            end = (min(right, offset - top), max(top, offset - right))
            self.pen.line([start, end], fill=colours.BLOCKAGE_COLOUR, width=_FINE)

    def _caption(self) -> None:
        width, height = self.image.size
        left, base = _FINE * MARGIN_PX, height - _FINE * (CAPTION_PX + 4)
        self.pen.text((left, base), self.name, fill=colours.INK, font=ImageFont.load_default(_FINE * 20))
        # Pillow's own font has no µ
        small = ImageFont.load_default(_FINE * 14)
        self.pen.text((left, base + _FINE * 28), self.scene.caption.replace("µ", "u"), fill=colours.INK, font=small)
        bar = scale_bar_um(self.scene.canvas[0])
        right = width - _FINE * MARGIN_PX
        start, low = right - bar * self.scale, base + _FINE * 34
        ends = [(start, low - 6 * _FINE), (start, low), (right, low), (right, low - 6 * _FINE)]
        self.pen.line(ends, fill=colours.INK, width=_FINE * 2)
        self.pen.text(((start + right) / 2, low - _FINE * 8), f"{bar:g} um", fill=colours.INK, font=small, anchor="mb")
