"""One MACRO of a LEF: statements in, `Macro` out.

Raises ParseError at the first thing wrong; `lef.py` then skips the macro.
"""

from __future__ import annotations

from netlists.lefdef.lef_library import HARD_MACRO_CLASSES, Box, LefPin, Macro
from netlists.lefdef.statement import Statement
from netlists.lefdef.text import Warnings

MAX_UM = 1e9
_MACRO_PLAIN = {
    b"PROPERTY", b"EEQ", b"LEQ", b"FIXEDMASK", b"SITE", b"CLOCKTYPE", b"SOURCE", b"POWER", b"GENERATE", b"GENERATED",
    b"FUNCTION", b"INPUTS", b"FOREIGN",
}  # fmt: skip
_PIN_PLAIN = {
    b"SHAPE", b"TAPERRULE", b"MUSTJOIN", b"NETEXPR", b"SUPPLYSENSITIVITY", b"GROUNDSENSITIVITY", b"PROPERTY", b"LEQ",
    b"CAPACITANCE", b"RESISTANCE", b"PULLDOWNRES", b"TIEOFFR", b"VHI", b"VLO", b"RISEVOLTAGETHRESHOLD", b"FOREIGN",
    b"FALLVOLTAGETHRESHOLD", b"RISETHRESH", b"FALLTHRESH", b"RISESATCUR", b"FALLSATCUR", b"CURRENTSOURCE", b"IV_TABLES",
    b"OUTPUTNOISEMARGIN", b"OUTPUTRESISTANCE", b"INPUTNOISEMARGIN", b"POWER", b"MAXDELAY", b"MAXLOAD", b"RISESLEWLIMIT",
    b"FALLSLEWLIMIT", b"SCANUSE", b"PHYSICALONLY",
}  # fmt: skip
_SHAPES_PLAIN = {b"VIA", b"CLASS", b"SPACING", b"DESIGNRULEWIDTH", b"EXCEPTPGNET"}
_OBSOLETE = {b"SOURCE", b"POWER", b"CLOCKTYPE", b"LEQ", b"GENERATE", b"GENERATED"}
_DIRECTIONS = (b"INPUT", b"OUTPUT", b"INOUT", b"FEEDTHRU")
_USES = (b"SIGNAL", b"POWER", b"GROUND", b"CLOCK", b"ANALOG", b"TIEOFF", b"SCAN", b"DATA", b"RESET")


class MacroParser:
    """Takes the statements of one macro until its END."""

    def __init__(self, name: str, file: str, line: int, warnings: Warnings) -> None:
        self.name, self.file, self.line, self.warnings = name, file, line, warnings
        self.macro_class = self.subclass = self.site = ""
        self.size: tuple[float, float] | None = None
        self.origin = (0.0, 0.0)
        self.foreign: tuple[str, float, float] | None = None
        self.symmetry: set[str] = set()
        self.pins: dict[str, LefPin] = {}
        self.obstructions: list[tuple[str, Box]] = []
        self.skipping = b""  # DENSITY, TIMING
        self.pin_name: bytes | None = None
        self.direction = self.use = ""
        self.shapes: list[tuple[str, Box]] | None = None  # of the open PORT or OBS
        self.pin_shapes: list[tuple[str, Box]] = []
        self.layer, self.path_width = "", 0.0

    def take(self, statement: Statement) -> Macro | None:
        """One block start, END or statement. Returns the macro at its END."""
        word = statement.peek().upper()
        if self.skipping:
            if statement.take().upper() == b"END":
                if self.skipping == b"TIMING" and statement.left() and statement.peek().upper() == b"TIMING":
                    statement.take()
                self.skipping = b""
        elif self.shapes is not None:
            self._in_shapes(word, statement)
        elif self.pin_name is not None:
            self._in_pin(word, statement)
        elif word == b"END":
            statement.take()
            if statement.take(f"the name of MACRO '{self.name}'").decode() != self.name:
                statement.fail(f"must be the END of MACRO '{self.name}'", back=1)
            return self._macro(statement)
        else:
            self._in_macro(word, statement)
        return None

    def _in_macro(self, word: bytes, statement: Statement) -> None:
        if word == b"MACRO":
            statement.fail(f"MACRO '{self.name}' is open and must END first")
        statement.take()
        if word == b"PIN":
            self.pin_name = statement.take("the pin's name")
            if self.pin_name.decode() in self.pins:
                statement.fail(f"a second PIN of this name in MACRO '{self.name}'", back=1)
            self.direction, self.use, self.pin_shapes = "", "", []
        elif word == b"OBS":
            self.shapes, self.layer = [], ""
        elif word in (b"DENSITY", b"TIMING"):
            self.skipping = word
        elif word == b"SIZE":
            width = statement.number("a width in µm", least=0, most=MAX_UM)
            statement.expect(b"BY")
            self.size = (width, statement.number("a height in µm", least=0, most=MAX_UM))
            statement.skip()
        elif word == b"CLASS":
            self.macro_class = statement.take("the class").upper().decode()
            self.subclass = statement.take().upper().decode() if statement.left() else ""
            statement.skip()
        elif word == b"ORIGIN":
            self.origin = (_um(statement), _um(statement))
            statement.skip()
        elif word == b"FOREIGN":
            name = statement.take("a name").decode()
            x, y = (_um(statement), _um(statement)) if statement.left() > 1 else (0.0, 0.0)
            self.foreign = (name, x, y)
            statement.skip()
        elif word == b"SYMMETRY":
            while statement.left():
                one = statement.take().upper()
                if one not in (b"X", b"Y", b"R90"):
                    statement.fail("symmetries are X, Y and R90", back=1)
                self.symmetry.add(one.decode())
        elif word == b"SITE":
            self.site = statement.take("the site's name").decode()
            statement.skip()
        else:
            self._plain(word, _MACRO_PLAIN, "MACRO", statement)

    def _in_pin(self, word: bytes, statement: Statement) -> None:
        assert self.pin_name is not None
        pin = self.pin_name.decode()
        if word in (b"PIN", b"OBS", b"MACRO"):
            statement.fail(f"PIN '{pin}' of MACRO '{self.name}' is open and must END first")
        statement.take()
        if word == b"END":
            if statement.take(f"the name of PIN '{pin}'") != self.pin_name:
                statement.fail(f"must be the END of PIN '{pin}' of MACRO '{self.name}'", back=1)
            self.pins[pin] = self._pin(pin)
            self.pin_name = None
        elif word == b"PORT":
            self.shapes, self.layer = [], ""
        elif word == b"DIRECTION":
            direction = statement.take("a direction").upper()
            if direction not in _DIRECTIONS:
                statement.fail("directions are INPUT, OUTPUT, INOUT and FEEDTHRU", back=1)
            self.direction = direction.decode()
            statement.skip()
        elif word == b"USE":
            use = statement.take("a use").upper()
            if use not in _USES:
                self.warnings.add(f"USE {use.decode(errors='replace')} of a pin is not known and taken as SIGNAL", pin)
            self.use = use.decode()
            statement.skip()
        elif word.startswith(b"ANTENNA"):
            statement.skip()
        else:
            self._plain(word, _PIN_PLAIN, "PIN", statement)

    def _in_shapes(self, word: bytes, statement: Statement) -> None:
        assert self.shapes is not None
        if word in (b"PIN", b"OBS", b"MACRO", b"PORT"):
            statement.fail(f"a PORT or OBS of MACRO '{self.name}' is open and must END first")
        statement.take()
        if word == b"END":
            if self.pin_name is None:
                self.obstructions = self.shapes
            else:
                self.pin_shapes += self.shapes
            self.shapes = None
        elif word == b"LAYER":
            self.layer = statement.take("a layer's name").decode()
            statement.skip()
        elif word == b"WIDTH":
            self.path_width = statement.number("a width in µm", least=0, most=MAX_UM)
            statement.skip()
        elif word in (b"RECT", b"POLYGON", b"PATH"):
            self.shapes.append((self.layer, self._box(word, statement)))
        else:
            self._plain(word, _SHAPES_PLAIN, "PORT or OBS", statement)

    def _box(self, kind: bytes, statement: Statement) -> Box:
        """The box around a shape, from the macro's own origin."""
        words = statement.words
        statement.words = words[: statement.at] + [word for word in words[statement.at :] if word not in (b"(", b")")]
        iterate = False
        if statement.left() and statement.peek().upper() == b"MASK":
            statement.take(), statement.take("the mask's number")
        if statement.left() and statement.peek().upper() == b"ITERATE":
            statement.take()
            iterate = True
        numbers: list[float] = []
        while statement.left() and statement.peek().upper() != b"DO":
            numbers.append(_um(statement))
        if len(numbers) % 2 or len(numbers) < {b"RECT": 4, b"POLYGON": 6, b"PATH": 2}[kind]:
            statement.fail(f"{len(numbers)} numbers are too few, or one too many, for a {kind.decode()}", back=1)
        xs, ys = numbers[0::2], numbers[1::2]
        half = self.path_width / 2 if kind == b"PATH" else 0.0
        right, top = max(xs) + half, max(ys) + half
        if iterate:
            statement.expect(b"DO")
            columns = statement.integer("a count", least=1, most=1_000_000)
            statement.expect(b"BY")
            rows = statement.integer("a count", least=1, most=1_000_000)
            statement.expect(b"STEP")
            right += (columns - 1) * _um(statement)
            top += (rows - 1) * _um(statement)
        statement.skip()
        return (min(xs) - half, min(ys) - half, right, top)

    def _plain(self, word: bytes, known: set[bytes], where: str, statement: Statement) -> None:
        if not statement.terminated:
            statement.fail(f"{where} of MACRO '{self.name}' holds a statement without its ';'", back=1)
        if word in _OBSOLETE:
            self.warnings.add(f"old LEF statement {word.decode()} is skipped", statement.place)
        elif word not in known:
            text = word.decode(errors="replace")[:40]
            self.warnings.add(f"LEF statement {text} in {where} is not known and skipped", statement.place)
        statement.skip()

    def _pin(self, name: str) -> LefPin:
        """The pin by the macro's own origin; ORIGIN may yet come, so that `_macro` shifts it."""
        box = None
        if self.pin_shapes:
            boxes = [shape[1] for shape in self.pin_shapes]
            box = (
                min(b[0] for b in boxes),
                min(b[1] for b in boxes),
                max(b[2] for b in boxes),
                max(b[3] for b in boxes),
            )
        return LefPin(name, self.direction, self.use or "SIGNAL", box, tuple(self.pin_shapes))

    def _macro(self, statement: Statement) -> Macro:
        if self.size is None:
            statement.fail(f"MACRO '{self.name}' (line {self.line}) has no SIZE", back=1)
        hard = self.macro_class in HARD_MACRO_CLASSES
        if hard and min(self.size) <= 0:
            width, height = self.size
            statement.fail(
                f"MACRO '{self.name}' of class BLOCK has SIZE {width:g} BY {height:g}; both must be above 0", back=1
            )
        if not self.macro_class:
            self.warnings.add("MACRO without CLASS is taken as a standard cell", f"'{self.name}'")
        pins = {name: self._shifted(pin, hard) for name, pin in self.pins.items()}
        if hard and any(
            pin.box and not _inside(pin.box, self.size) for pin in pins.values() if pin.use not in ("POWER", "GROUND")
        ):
            self.warnings.add("pins reach out of their macro's SIZE; they stay where they are", f"MACRO '{self.name}'")
        return Macro(
            name=self.name,
            macro_class=self.macro_class,
            subclass=self.subclass,
            width_um=self.size[0],
            height_um=self.size[1],
            symmetry=frozenset(self.symmetry),
            origin_um=self.origin,
            foreign=self.foreign,
            site=self.site,
            pins=pins,
            obstructions=tuple((layer, self._shift(box)) for layer, box in self.obstructions) if hard else (),
            file=self.file,
            line=self.line,
        )

    def _shifted(self, pin: LefPin, keep_shapes: bool) -> LefPin:
        box = None if pin.box is None else self._shift(pin.box)
        shapes = tuple((layer, self._shift(one)) for layer, one in pin.shapes) if keep_shapes else ()
        return LefPin(pin.name, pin.direction, pin.use, box, shapes)

    def _shift(self, box: Box) -> Box:
        x, y = self.origin
        return (box[0] + x, box[1] + y, box[2] + x, box[3] + y)


def _um(statement: Statement) -> float:
    return statement.number("a number of µm", least=-MAX_UM, most=MAX_UM)


def _inside(box: Box, size: tuple[float, float]) -> bool:
    slack = 1e-6
    return box[0] >= -slack and box[1] >= -slack and box[2] <= size[0] + slack and box[3] <= size[1] + slack
