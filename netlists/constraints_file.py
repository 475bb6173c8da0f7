"""Constraints from JSON: a side file, or the object of a job. Schema and meaning: docs/constraints.md.

In: a design without them, and sources in order (later ones override earlier ones, key by key and macro by macro).
Out: the design with them. Raises ParseError (of a file) or InputError that names line, thing, value found and values
allowed. Called by `netlists.load`. Knows nothing of legality: whether rules can be met is `check_feasible`'s to say.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from netlists.constraints import ANY_OF_ITS_CLASS, NO_REGION, Constraints
from netlists.errors import InputError, ParseError
from netlists.files import DEFAULT_LIMITS, Limits, atomic_text, text_blocks
from netlists.located_json import Located, located, parse_located
from netlists.model import Design, NodeKind, Orientation

FORMAT, VERSION = "placewright-constraints", 1
MAX_UM = 1e9  # as everywhere: keeps areas and sums far from overflow
MAX_CHARACTERS = 64 << 20  # of a side file; some hundred bytes a macro are plenty
EDGE_UM = 1e-6  # what a region may stick out of the canvas by: sums of rounded numbers
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
FILE_NAME = re.compile(r"(^|\.)constraints\.json(\.gz)?$", re.I)
_SHOWN = 60  # characters of a value in a message


@dataclass(frozen=True)
class Source:
    """Where constraints come from: a file, or (path None) an object that a job brought."""

    path: Path | None
    content: Located


def read_source(path: Path, limits: Limits = DEFAULT_LIMITS) -> Source:
    """A side file's content, not yet looked at. Raises ParseError, InputError."""
    text, size = [], 0
    for block in text_blocks(path, limits):
        text.append(block)
        size += len(block)
        if size > MAX_CHARACTERS:
            raise ParseError(path, 0, f"a constraints file has at most {MAX_CHARACTERS:,} characters")
    return Source(path, parse_located(path, "".join(text)))


def object_source(content: Mapping[str, Any]) -> Source:
    """The constraints of a job."""
    return Source(None, located(dict(content)))


def plain_constraints(path: Path | None) -> dict[str, Any] | None:
    """The JSON object of a side file, for a job to carry; None without a file."""
    return None if path is None else read_source(path).content.plain()


def looks_like_json(path: Path, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether a file's first character is that of a JSON object or array."""
    for block in text_blocks(path, limits):
        if text := block.lstrip():
            return text[0] in "{["
    return False


def is_constraints(source: Source) -> bool:
    """Whether a JSON file says by its `format` or its name that it holds constraints."""
    content = source.content.value
    stated = content.get("format") if isinstance(content, dict) else None
    return stated.value == FORMAT if stated else bool(source.path and FILE_NAME.search(source.path.name))


def with_constraints(design: Design, sources: Sequence[Source]) -> Design:
    """The design under these constraints, those it has already included. Raises InputError."""
    if not sources:
        return design
    state = _State(design)
    for source in sources:
        _Reader(state, source).read()
    return state.design_with()


def constraints_json(design: Design) -> dict[str, Any] | None:
    """The design's constraints as the object of a side file; None if it has none."""
    if design.constraints is None:
        return None
    return dict(design.constraints.source) or _State(design).source()


def write_constraints(path: Path, design: Design) -> bool:
    """Write the design's constraints as one side file; False, and nothing written, if it has none."""
    content = constraints_json(design)
    if content is None:
        return False
    with atomic_text(path) as file:
        file.write(json.dumps(content, indent=1, allow_nan=False) + "\n")
    return True


def constraint_counts(design: Design) -> dict[str, int]:
    """What the preview of a design shows: how many macros and rectangles rules are about."""
    rules, hard = design.constraints, design.netlist.node_kind == NodeKind.HARD_MACRO
    counts = {
        "fixed_macros": int(np.count_nonzero(design.start.fixed & hard)),
        "macros_with_halo": 0,
        "macros_in_regions": 0,
        "macros_with_orientations": 0,
        "macros_off_boundary": 0,
        "regions": 0,
        "blockages": len(design.blockages_um),
    }
    if rules is not None:
        counts["macros_with_halo"] = int(np.count_nonzero(rules.halo_um.any(axis=1) & hard))
        counts["macros_in_regions"] = int(np.count_nonzero((rules.region != NO_REGION) & hard))
        counts["macros_with_orientations"] = int(np.count_nonzero((rules.orientations != ANY_OF_ITS_CLASS) & hard))
        counts["macros_off_boundary"] = int(np.count_nonzero((rules.boundary_spacing_um > 0) & hard))
        counts["regions"] = len(rules.regions_um)
    return counts


class _State:
    """What sources say together, as far as they have been read."""

    def __init__(self, design: Design) -> None:
        self.design, netlist = design, design.netlist
        n = netlist.node_count
        self.hard = netlist.nodes_of(NodeKind.HARD_MACRO)
        self.node_of = {name: node for node, name in enumerate(netlist.node_name)}
        self.macro_spacing_um, self.boundary_um = 0.0, 0.0
        self.halo_um, self.orientations = np.zeros((n, 4)), np.zeros(n, np.uint8)
        self.own_boundary_um = np.full(n, np.nan)
        self.region: list[str | None] = [None] * n
        self.regions: dict[str, np.ndarray] = {}
        self.blockages: list[list[float]] = []
        self.x, self.y = design.start.x_um.copy(), design.start.y_um.copy()
        self.orientation, self.fixed = design.start.orientation.copy(), design.start.fixed.copy()
        self.rules: list[Any] = []
        if design.constraints is not None:
            self.take_over(design.constraints)
        self.placed = np.zeros(n, np.bool_)  # by a rule

    def take_over(self, known: Constraints) -> None:
        """Begin with what the design has already: from other sources, or from a format with rules of its own."""
        self.macro_spacing_um = known.macro_spacing_um
        self.halo_um[:], self.orientations[:] = known.halo_um, known.orientations
        self.own_boundary_um = np.where(known.boundary_spacing_um > 0, known.boundary_spacing_um, np.nan)
        self.regions = dict(zip(known.region_names, known.regions_um, strict=True))
        self.region = [None if r == NO_REGION else known.region_names[r] for r in known.region.tolist()]
        self.rules = list(known.source.get("macros", ())) or [
            rule for node in self.hard.tolist() if len(rule := self.rule_of(node)) > 1
        ]

    def rule_of(self, node: int) -> dict[str, Any]:
        """What is held of one macro, as a rule for it alone."""
        rule: dict[str, Any] = {"name": self.design.netlist.node_name[node]}
        if self.halo_um[node].any():
            rule["halo_um"] = self.halo_um[node].tolist()
        if mask := int(self.orientations[node]):
            rule["orientations"] = [o.name for o in Orientation if mask >> o & 1]
        if self.region[node] is not None:
            rule["region"] = self.region[node]
        if not np.isnan(self.own_boundary_um[node]):
            rule["boundary_spacing_um"] = float(self.own_boundary_um[node])
        return rule

    def design_with(self) -> Design:
        """All of it in a design."""
        names = tuple(self.regions)
        number = {name: index for index, name in enumerate(names)}
        boundary = np.where(np.isnan(self.own_boundary_um), self.boundary_um, self.own_boundary_um)
        constraints = Constraints(
            halo_um=self.halo_um,
            orientations=self.orientations,
            boundary_spacing_um=boundary,
            region=np.array([NO_REGION if name is None else number[name] for name in self.region], dtype=np.int32),
            region_names=names,
            regions_um=tuple(self.regions.values()),
            macro_spacing_um=self.macro_spacing_um,
            source=self.source(),
        )
        start = replace(self.design.start, x_um=self.x, y_um=self.y, orientation=self.orientation, fixed=self.fixed)
        known = self.design.blockages_um
        new = [box for box in self.blockages if not np.any(np.all(np.abs(known - box) <= EDGE_UM, axis=1))]
        blockages = np.concatenate([known, np.array(new).reshape(-1, 4)])
        return replace(self.design, start=start, blockages_um=blockages, constraints=constraints)

    def source(self) -> dict[str, Any]:
        """One JSON object that says what all sources say."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "macro_spacing_um": self.macro_spacing_um,
            "boundary_spacing_um": self.boundary_um,
            "regions": {name: boxes.tolist() for name, boxes in self.regions.items()},
            "blockages_um": self.blockages,
            "macros": self.rules,
        }


class _Reader:
    """Reads one source into the state."""

    def __init__(self, state: _State, source: Source) -> None:
        self.state, self.source = state, source
        canvas = state.design.canvas
        self.width, self.height = canvas.width_um, canvas.height_um

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
        for node in nodes:
            self.state.region[node] = name

    def read_boundary(self, item: Located, what: str, nodes: np.ndarray) -> None:
        self.state.own_boundary_um[nodes] = np.nan if item.value is None else self.number(item, what)

    def read_place(self, item: Located, what: str, nodes: np.ndarray) -> None:
        state, start = self.state, self.state.design.start
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
