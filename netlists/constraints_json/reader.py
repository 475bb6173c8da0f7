"""One source of constraints into the state: the schema of docs/constraints.md, checked value by value.

In: a JSON value with lines, the state so far. Raises ParseError (of a file) or InputError that names line, thing, value
found and values allowed. Called by `file.py`.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from netlists.constraints import ANY_OF_ITS_CLASS
from netlists.constraints_json.located import Located
from netlists.constraints_json.state import EDGE_UM, FORMAT, VERSION, State
from netlists.errors import InputError, ParseError
from netlists.model import NodeKind, Orientation, oriented_size_um

MAX_UM = 1e9  # as everywhere: keeps areas and sums far from overflow
TOP_KEYS = (
    "format",
    "version",
    "macro_spacing_um",
    "boundary_spacing_um",
    "regions",
    "blockages_um",
    "macros",
)
RULE_KEYS = ("name", "pattern", "halo_um", "orientations", "region", "boundary_spacing_um", "place")
PLACE_KEYS = ("x_um", "y_um", "orientation", "fixed")
_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class Source:
    """Where constraints come from: a file, or (path None) an object that a job brought."""

    path: Path | None
    content: Located


class Reader:
    """Reads one source into the state."""

    def __init__(self, state: State, source: Source) -> None:
        self.state, self.source = state, source
        canvas = state.design.canvas
        self.width, self.height = canvas.width_um, canvas.height_um
        # What this source itself says of a node last, with the name of the value; of regions, those that a macro is
        # given by its own name: patterns may take in fixed macros, which rules do not bind.
        self.fixed_by: dict[int, tuple[Located, str]] = {}
        self.region_by: dict[int, str] = {}
        self.by_name = False  # whether the rule that is being read names one macro

    # --- errors and plain values --------------------------------------------------------------------------------

    def refuse(self, item: Located, what: str, message: str) -> NoReturn:
        text = f"{what}{' ' if message.startswith('is ') else ': '}{message}" if what else message
        if self.source.path is not None:
            raise ParseError(self.source.path, item.line, text)
        raise InputError(f"constraints: {text}")

    def wrong(self, item: Located, what: str, wanted: str) -> NoReturn:
        plain = item.plain()
        shown = json.dumps(plain) if plain is not None else "null"
        shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
        self.refuse(item, what, f"is {shown}, must be {wanted}")

    def known_keys(self, item: Located, what: str, keys: Sequence[str]) -> dict[str, Located]:
        if not isinstance(item.value, dict):
            self.wrong(item, what, f"an object with {', '.join(keys)}")
        for key, value in item.value.items():
            if key not in keys:
                near = difflib.get_close_matches(key, keys, n=1)
                hint = f"; did you mean {near[0]!r}?" if near else ""
                self.refuse(value, what, f"unknown key {key!r}; known are {', '.join(keys)}{hint}")
        return dict(item.value)

    def number(self, item: Located, what: str, low: float = 0.0, high: float = MAX_UM) -> float:
        value = item.value
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            self.wrong(item, what, f"a number from {low:g} to {high:g}")
        return float(value)

    def flag(self, item: Located, what: str) -> bool:
        if not isinstance(item.value, bool):
            self.wrong(item, what, "true or false")
        return bool(item.value)

    def text(self, item: Located, what: str, wanted: str) -> str:
        if not isinstance(item.value, str) or not item.value:
            self.wrong(item, what, wanted)
        return str(item.value)

    def elements(self, item: Located, what: str, wanted: str) -> list[Located]:
        if not isinstance(item.value, list):
            self.wrong(item, what, wanted)
        return list(item.value)

    # --- the schema ---------------------------------------------------------------------------------------------

    def read(self) -> None:
        top = self.known_keys(self.source.content, "", TOP_KEYS)
        if "format" in top and top["format"].value != FORMAT:
            self.wrong(top["format"], "format", f'"{FORMAT}"')
        if "version" not in top:
            self.refuse(self.source.content, "version", f"is missing, must be {VERSION}")
        if isinstance(top["version"].value, bool) or top["version"].value != VERSION:
            self.wrong(top["version"], "version", f"{VERSION}, the only one there is")
        if "macro_spacing_um" in top:
            self.state.macro_spacing_um = self.number(top["macro_spacing_um"], "macro_spacing_um")
        if "boundary_spacing_um" in top:
            self.state.boundary_um = self.number(top["boundary_spacing_um"], "boundary_spacing_um")
        if "regions" in top:
            self.read_regions(top["regions"])
        if "blockages_um" in top:
            wanted = "a list of rectangles [llx, lly, urx, ury]"
            for index, item in enumerate(self.elements(top["blockages_um"], "blockages_um", wanted)):
                what = f"blockages_um[{index}]"
                box = self.rectangle(item, what)
                if box[0] >= self.width or box[1] >= self.height or box[2] <= 0 or box[3] <= 0:
                    self.wrong(item, what, f"a rectangle that meets the canvas, {self.canvas()}")
                self.state.blockages.append(box)
        if "macros" in top:
            for index, rule in enumerate(self.elements(top["macros"], "macros", "a list of rules")):
                self.read_rule(rule, f"macros[{index}]")
        self.check_regions()

    def canvas(self) -> str:
        return f"[0, 0, {self.width:g}, {self.height:g}]"

    def rectangle(self, item: Located, what: str) -> list[float]:
        wanted = "a rectangle [llx, lly, urx, ury] in µm with llx < urx and lly < ury"
        sides = self.elements(item, what, wanted)
        if len(sides) != 4:
            self.wrong(item, what, wanted)
        box = [self.number(side, f"{what}[{index}]", -MAX_UM) for index, side in enumerate(sides)]
        if box[0] >= box[2] or box[1] >= box[3]:
            self.wrong(item, what, wanted)
        return box

    def read_regions(self, item: Located) -> None:
        if not isinstance(item.value, dict):
            self.wrong(item, "regions", "an object of names to lists of rectangles [llx, lly, urx, ury]")
        for name, boxes in item.value.items():
            what = f"regions.{name}"
            listed = self.elements(boxes, what, "a list of rectangles [llx, lly, urx, ury]")
            if not listed:
                self.wrong(boxes, what, "a list of at least one rectangle [llx, lly, urx, ury]")
            result = []
            for index, one in enumerate(listed):
                box = self.rectangle(one, f"{what}[{index}]")
                if min(box[:2]) < -EDGE_UM or box[2] > self.width + EDGE_UM or box[3] > self.height + EDGE_UM:
                    self.wrong(one, f"{what}[{index}]", f"a rectangle inside the canvas, {self.canvas()}")
                result.append(box)
            self.state.regions[name] = np.array(result)

    def read_rule(self, item: Located, what: str) -> None:
        rule = self.known_keys(item, what, RULE_KEYS)
        if ("name" in rule) == ("pattern" in rule):
            self.refuse(item, what, "needs either 'name' (one macro) or 'pattern' (with * and ?), one of the two")
        self.by_name = "name" in rule
        nodes = self.named(rule["name"], what) if "name" in rule else self.matched(rule["pattern"], what)
        readers: dict[str, Callable[[Located, str, np.ndarray], None]] = {
            "halo_um": self.read_halo,
            "orientations": self.read_orientations,
            "region": self.read_region,
            "boundary_spacing_um": self.read_boundary,
            "place": self.read_place,
        }
        for key, reader in readers.items():
            if key in rule:
                reader(rule[key], f"{what}.{key}", nodes)
        self.check_orientations(item, what, nodes)
        self.state.rules.append(item.plain())

    def named(self, item: Located, what: str) -> np.ndarray:
        name = self.text(item, f"{what}.name", "the name of a hard macro")
        state, netlist = self.state, self.state.design.netlist
        node = state.node_of.get(name)
        if node is None:
            near = difflib.get_close_matches(name, [netlist.node_name[n] for n in state.hard], n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            self.refuse(item, f"{what}.name", f"the design has no macro {name!r} ({len(state.hard):,} others){hint}")
        kind = NodeKind(netlist.node_kind[node])
        if kind is not NodeKind.HARD_MACRO:
            self.refuse(item, f"{what}.name", f"{name!r} is a {kind.name.lower().replace('_', ' ')}, not a hard macro")
        return np.array([node])

    def matched(self, item: Located, what: str) -> np.ndarray:
        pattern = self.text(item, f"{what}.pattern", "a name in which * stands for any text and ? for one character")
        # Brackets are parts of names here (bus and generate indices), not classes of characters.
        words = re.compile("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in pattern), re.S)
        names, hard = self.state.design.netlist.node_name, self.state.hard
        found = [node for node in hard if words.fullmatch(names[node])]
        if not found:
            example = f", for instance {names[hard[0]]!r}" if len(hard) else ""
            self.refuse(item, f"{what}.pattern", f"{pattern!r} matches none of the {len(hard):,} hard macros{example}")
        return np.array(found)

    def read_halo(self, item: Located, what: str, nodes: np.ndarray) -> None:
        if item.value is None:
            self.state.halo_um[nodes] = 0.0
        elif isinstance(item.value, list):
            if len(item.value) != 4:
                self.wrong(item, what, "a number of µm, or four: left, bottom, right, top")
            self.state.halo_um[nodes] = [self.number(v, f"{what}[{i}]") for i, v in enumerate(item.value)]
        else:
            self.state.halo_um[nodes] = self.number(item, what)

    def read_orientations(self, item: Located, what: str, nodes: np.ndarray) -> None:
        if item.value is None:
            self.state.orientations[nodes] = ANY_OF_ITS_CLASS
            return
        names = [orientation.name for orientation in Orientation]
        wanted = f"a list of one or more of {' '.join(names)}"
        listed = self.elements(item, what, wanted)
        if not listed or not all(isinstance(one.value, str) and one.value in names for one in listed):
            self.wrong(next((one for one in listed if one.value not in names), item), what, wanted)
        mask = 0
        for one in listed:
            mask |= 1 << Orientation[one.value]
        self.state.orientations[nodes] = mask

    def read_region(self, item: Located, what: str, nodes: np.ndarray) -> None:
        name = None if item.value is None else self.text(item, what, "the name of a region, or null")
        if name is not None and name not in self.state.regions:
            known = ", ".join(repr(region) for region in self.state.regions) or "none"
            self.refuse(item, what, f"is {name!r}, which is no region; those given under 'regions': {known}")
        for node in nodes.tolist():
            self.state.region[node] = name
            self.region_by.pop(node, None)
            if name is not None and self.by_name:
                self.region_by[node] = what

    def read_boundary(self, item: Located, what: str, nodes: np.ndarray) -> None:
        self.state.own_boundary_um[nodes] = np.nan if item.value is None else self.number(item, what)

    def read_place(self, item: Located, what: str, nodes: np.ndarray) -> None:
        state, start = self.state, self.state.design.start
        for node in nodes.tolist():
            self.fixed_by.pop(node, None)
        if item.value is None:  # as the files had it
            state.x[nodes], state.y[nodes] = start.x_um[nodes], start.y_um[nodes]
            state.orientation[nodes], state.fixed[nodes] = start.orientation[nodes], start.fixed[nodes]
            state.placed[nodes] = False
            return
        place = self.known_keys(item, what, PLACE_KEYS)
        if ("x_um" in place) != ("y_um" in place):
            missing = "y_um" if "x_um" in place else "x_um"
            self.refuse(item, what, f"{missing} is missing; give both, or neither to mean the start's place")
        if "x_um" in place:
            state.x[nodes] = self.number(place["x_um"], f"{what}.x_um", 0.0, self.width)
            state.y[nodes] = self.number(place["y_um"], f"{what}.y_um", 0.0, self.height)
        elif not state.design.has_start:
            self.refuse(item, what, "x_um and y_um are missing, and the design has no start to take them from")
        if "orientation" in place:
            names = [orientation.name for orientation in Orientation]
            if place["orientation"].value not in names:
                self.wrong(place["orientation"], f"{what}.orientation", f"one of {' '.join(names)}")
            state.orientation[nodes] = Orientation[place["orientation"].value]
        state.fixed[nodes] = self.flag(place["fixed"], f"{what}.fixed") if "fixed" in place else False
        state.placed[nodes] = True
        if state.fixed[nodes].any():
            self.fixed_by |= dict.fromkeys(nodes.tolist(), (item, what))

    def check_orientations(self, item: Located, what: str, nodes: np.ndarray) -> None:
        """A macro that a rule fixes stands in an orientation that rules allow."""
        state = self.state
        mask, turned = state.orientations[nodes], state.orientation[nodes]
        held = state.fixed[nodes] & state.placed[nodes]
        bad = nodes[held & (mask != ANY_OF_ITS_CLASS) & ((mask >> turned.astype(np.uint8)) & 1 == 0)]
        if len(bad):
            node = int(bad[0])
            allowed = " ".join(o.name for o in Orientation if int(state.orientations[node]) >> o & 1)
            self.refuse(
                item,
                what,
                f"fixes {state.design.netlist.node_name[node]!r} in orientation"
                f" {Orientation(state.orientation[node]).name}, but only {allowed} are allowed",
            )

    def check_regions(self) -> None:
        """A macro that this source fixes lies in the region that this source gives it."""
        state, netlist = self.state, self.state.design.netlist
        for node in sorted(self.fixed_by.keys() & self.region_by.keys()):
            item, what = self.fixed_by[node]
            name, region = netlist.node_name[node], str(state.region[node])
            cover = state.regions[region]
            width, height = oriented_size_um(netlist.width_um, netlist.height_um, state.orientation)
            half_w, half_h, x, y = (
                float(side) for side in (width[node] / 2, height[node] / 2, state.x[node], state.y[node])
            )
            box = [x - half_w, y - half_h, x + half_w, y + half_h]
            outside = sum((one[2] - one[0]) * (one[3] - one[1]) for one in _uncovered(box, cover.tolist()))
            if outside > 0:
                rectangles = ", ".join(f"[{', '.join(f'{side:g}' for side in one)}]" for one in cover.tolist())
                shown = rectangles if len(rectangles) <= 2 * _SHOWN else rectangles[: 2 * _SHOWN] + "…"
                self.refuse(
                    item,
                    what,
                    f"fixes {name!r} on [{', '.join(f'{side:g}' for side in box)}] with {outside:.6g} µm² outside"
                    f" region {region!r}, which {self.region_by[node]} gives it; the region is {shown}",
                )


def _uncovered(box: list[float], cover: list[list[float]]) -> list[list[float]]:
    """What rectangles (llx, lly, urx, ury) leave of a box, disjoint; slivers up to EDGE_UM count nothing."""
    left = [box]
    for x0, y0, x1, y1 in cover:
        pieces = []
        for llx, lly, urx, ury in left:
            low, high = max(lly, y0), min(ury, y1)
            if min(urx, x1) <= max(llx, x0) or high <= low:  # they do not meet
                pieces.append([llx, lly, urx, ury])
                continue
            pieces += [[llx, lly, urx, y0], [llx, y1, urx, ury], [llx, low, x0, high], [x1, low, urx, high]]
        left = [one for one in pieces if one[2] - one[0] > EDGE_UM and one[3] - one[1] > EDGE_UM]
    return left
