"""A placement as SVG: one group a macro, its name as the title that browsers show on hover. No script, no outside link.

In: path, design, placement. Out: the file, equal for equal input. What is drawn: `scene.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

from netlists.files import atomic_text
from netlists.model import Design, FloatArray, Placement
from netlists.pictures import scene as colours
from netlists.pictures.scene import Scene, make_scene, scale_bar_um

LONG_SIDE_PX = 1000
MARGIN_PX, CAPTION_PX = 28, 46
# Characters that XML 1.0 has no place for, escaped or not.
_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_svg(path: Path, design: Design, placement: Placement) -> None:
    """Writes the picture. Names are escaped; characters that XML cannot hold become U+FFFD."""
    with atomic_text(Path(path)) as file:
        for line in _Svg(make_scene(design, placement), design.name).lines():
            file.write(line + "\n")


def xml_text(text: str) -> str:
    return escape(_NO_XML.sub("\ufffd", text), {'"': "&quot;"})


class _Svg:
    def __init__(self, scene: Scene, name: str) -> None:
        self.scene, self.name = scene, name
        llx, lly, urx, ury = scene.view
        self.scale = LONG_SIDE_PX / max(urx - llx, ury - lly)
        self.left, self.top = llx, ury
        self.width = (urx - llx) * self.scale + 2 * MARGIN_PX
        self.height = (ury - lly) * self.scale + 2 * MARGIN_PX + CAPTION_PX

    def x(self, x_um: float) -> float:
        return round(float(MARGIN_PX + (x_um - self.left) * self.scale), 3)

    def y(self, y_um: float) -> float:
        return round(float(MARGIN_PX + (self.top - y_um) * self.scale), 3)

    def rect(self, box: FloatArray | tuple[float, ...], style: str) -> str:
        x, y = self.x(box[0]), self.y(box[3])
        return f'<rect x="{x:g}" y="{y:g}" width="{self.x(box[2]) - x:.5g}" height="{self.y(box[1]) - y:.5g}"{style}/>'

    def lines(self) -> Iterator[str]:
        scene = self.scene
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.5g}" height="{self.height:.5g}"'
            f' viewBox="0 0 {self.width:.6g} {self.height:.6g}" font-family="system-ui, sans-serif">'
        )
        yield f"<title>{xml_text(self.name)}</title>"
        yield (
            '<defs><pattern id="hatch" width="8" height="8" patternUnits="userSpaceOnUse"'
            ' patternTransform="rotate(45)">'
            f'<path d="M0 0V8" stroke="{colours.BLOCKAGE_COLOUR}" stroke-width="2"/></pattern></defs>'
        )
        yield '<rect width="100%" height="100%" fill="#ffffff"/>'
        frame = f' fill="{colours.CANVAS_COLOUR}" stroke="{colours.FRAME_COLOUR}" stroke-width="1.5"'
        yield self.rect((0.0, 0.0, *scene.canvas), frame)
        yield from self._group("cells", f'fill="{colours.CELL_COLOUR}" fill-opacity="0.55"', self._cells())
        soft = f'fill="{colours.SOFT_COLOUR}" fill-opacity="0.36" stroke="#6f8aa8" stroke-width="0.4"'
        yield from self._group("soft-macros", soft, self._titled(scene.soft, scene.soft_titles))
        yield from self._group(
            "blockages",
            'fill="url(#hatch)" stroke="#8a8a8a"',
            map(self.rect, scene.blockages, [""] * len(scene.blockages)),
        )
        yield from self._group("macros", 'fill-opacity="0.88" stroke-width="0.9"', self._macros())
        yield from self._group("ports", f'stroke="{colours.PORT_COLOUR}" stroke-width="1"', self._ports())
        yield from self._legend()
        yield "</svg>"

    def _group(self, name: str, style: str, content: Iterator[str]) -> Iterator[str]:
        yield f'<g id="{name}" {style}>'
        yield from content
        yield "</g>"

    def _titled(self, boxes: FloatArray, titles: tuple[str, ...]) -> Iterator[str]:
        for box, title in zip(boxes, titles, strict=True):
            yield self.rect(box, "").removesuffix("/>") + f"><title>{xml_text(title)}</title></rect>"

    def _cells(self) -> Iterator[str]:
        """All cells as one path: a flat netlist has a hundred thousand."""
        pieces = [
            f"M{self.x(box[0]):g} {self.y(box[3]):g}H{self.x(box[2]):g}V{self.y(box[1]):g}H{self.x(box[0]):g}Z"
            for box in self.scene.cells
        ]
        if pieces:
            yield f'<path d="{"".join(pieces)}"/>'

    def _macros(self) -> Iterator[str]:
        scene = self.scene
        for index, box in enumerate(scene.hard):
            mark = " ".join(f"{self.x(x):g},{self.y(y):g}" for x, y in scene.marks[index])
            outline = ' stroke="#000000" stroke-width="2"' if scene.hard_fixed[index] else ' stroke="#22303c"'
            yield f"<g><title>{xml_text(scene.titles[index])}</title>"
            yield self.rect(box, f' fill="{scene.hard_colour[index]}"{outline}')
            yield f'<polygon points="{mark}" fill="#ffffff" fill-opacity="0.75"/></g>'

    def _ports(self) -> Iterator[str]:
        for tick, title in zip(self.scene.ports, self.scene.port_titles, strict=True):
            (x1, y1), (x2, y2) = tick
            path = f"M{self.x(x1):g} {self.y(y1):g}L{self.x(x2):g} {self.y(y2):g}"
            yield f'<path d="{path}"><title>{xml_text(title)}</title></path>'

    def _legend(self) -> Iterator[str]:
        base = self.height - 34
        yield f'<g fill="{colours.INK}" font-size="13">'
        yield f'<text x="{MARGIN_PX}" y="{base:g}" font-size="17" font-weight="600">{xml_text(self.name)}</text>'
        yield f'<text x="{MARGIN_PX}" y="{base + 20:g}">{xml_text(self.scene.caption)}</text>'
        bar = scale_bar_um(self.scene.canvas[0])
        right, left = self.width - MARGIN_PX, self.width - MARGIN_PX - bar * self.scale
        path = f"M{left:.5g} {base + 4:g}v6H{right:.5g}v-6"
        yield f'<path d="{path}" fill="none" stroke="{colours.INK}" stroke-width="1.4"/>'
        yield f'<text x="{(left + right) / 2:.5g}" y="{base:g}" text-anchor="middle">{bar:g} µm</text></g>'
