"""LEF (5.5 to 5.8) in, `LefLibrary` out. Several files make one library.

One pass over statements. A macro that cannot be read is skipped and named. Blocks that placing does not need (vias,
rules, arrays, tables) are skipped by their END; statements not known are skipped to their `;` and counted in a
warning. Source: LEF/DEF 5.8 language reference.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path

from netlists.errors import InputError, ParseError
from netlists.files import DEFAULT_LIMITS, Limits, read_blocks
from netlists.lefdef.lef_library import Layer, LefLibrary, Macro, Site
from netlists.lefdef.lef_macro import MacroParser
from netlists.lefdef.statement import Statement, statements
from netlists.lefdef.text import Warnings, read_chunks

MAX_UM = 1e9
_NAMED_BLOCKS = {b"VIA", b"VIARULE", b"NONDEFAULTRULE", b"ARRAY"}  # skipped to END and their name
_BLOCKS = {b"PROPERTYDEFINITIONS", b"SPACING", b"IRDROP", b"NOISETABLE", b"CORRECTIONTABLE"}  # skipped to END and this
_PLAIN = {
    b"VERSION", b"NAMESCASESENSITIVE", b"NOWIREEXTENSIONATPIN", b"CLEARANCEMEASURE", b"USEMINSPACING", b"BUSBITCHARS",
    b"DIVIDERCHAR", b"MINFEATURE", b"FIXEDMASK", b"MAXVIASTACK", b"DIELECTRIC", b"INPUTPINANTENNASIZE",
    b"OUTPUTPINANTENNASIZE", b"INOUTPINANTENNASIZE", b"ANTENNAINPUTGATEAREA", b"ANTENNAINOUTDIFFAREA",
    b"ANTENNAOUTPUTDIFFAREA", b"LAYER", b"UNIVERSALNOISEMARGIN", b"EDGERATETHRESHOLD1", b"EDGERATETHRESHOLD2",
    b"EDGERATESCALEFACTOR", b"CREATEDATE", b"COMMENTCHAR",
}  # fmt: skip


def read_lef(paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> LefLibrary:
    """Reads LEF files in the order given; of two different definitions of one thing the first stays, with a warning.

    Raises ParseError where a file is no LEF or breaks off; what is wrong within one MACRO goes to `skipped` instead.
    """
    library, warnings = LefLibrary(), Warnings()
    seen: set[bytes] = set()
    for path in paths:
        digest = hashlib.sha256()
        for block in read_blocks(path, limits):
            digest.update(block)
        if digest.digest() in seen:
            continue  # the same file again
        seen.add(digest.digest())
        _FileParser(path, library, warnings).read(limits)
        library.files.append(path)
    _tell_overlap(library, warnings)
    library.warnings = warnings.texts()
    return library


def _tell_overlap(library: LefLibrary, warnings: Warnings) -> None:
    """Shapes on layers of TYPE OVERLAP give a block an outline of more corners than its SIZE, which is kept free."""
    layers = {layer.name for layer in library.layers.values() if layer.kind == "OVERLAP"}
    for macro in library.macros.values():
        if any(layer in layers for layer, _ in macro.obstructions):
            warnings.add(
                "outlines of OVERLAP shapes are not used: the whole SIZE of such a macro is kept free",
                f"MACRO '{macro.name}'",
            )


class _FileParser:
    """One file. The block that is open decides what a statement means."""

    def __init__(self, path: Path, library: LefLibrary, warnings: Warnings) -> None:
        self.path, self.library, self.warnings = path, library, warnings
        self.block: bytes = b""  # kind of the open block; b'' = none
        self.block_name: bytes = b""
        self.words: dict[bytes, str] = {}  # of the open SITE or LAYER
        self.numbers: dict[bytes, tuple[float, float]] = {}
        self.macro: MacroParser | None = None
        self.bad_macro = b""  # a macro being skipped
        self.ended = self.found = False

    def read(self, limits: Limits) -> None:
        last: Statement | None = None
        for chunk in read_chunks(self.path, limits):
            for statement in statements(chunk):
                last = statement
                if not self.ended:
                    self._statement(statement)
        if last is None or not self.found:
            raise ParseError(self.path, 0, "is no LEF file: it holds no LEF statement")
        if self.macro is not None or self.bad_macro:
            name = self.macro.name if self.macro is not None else self.bad_macro.decode()
            self.library.skipped.setdefault(name, f"{self.path.name}: the file ends within MACRO '{name}'")
            self.warnings.add(f"{self.path.name}: the file ends within MACRO '{name}', which is left out")
        elif self.block:
            kind = f"{self.block.decode()} {self.block_name.decode()}".strip()
            raise ParseError(self.path, last.end_line, f"the file ends within {kind}, without its END")
        elif not self.ended and last is not None and not last.terminated and last.left():
            raise ParseError(self.path, last.line, "the file ends within a statement, without its ';'", last.text())

    def _statement(self, statement: Statement) -> None:
        """Works through the words before the statement's `;`: any number of block starts and ENDs, then one
        statement.
        """
        while statement.left() and not self.ended:
            if self.bad_macro:
                self._skip_macro(statement)
            elif self.macro is not None:
                self._in_macro(statement)
            elif self.block:
                self._in_block(statement)
            else:
                self._top(statement)

    def _top(self, statement: Statement) -> None:
        word = statement.peek().upper()
        if word == b"END":
            statement.take()
            if statement.left() and statement.take().upper() != b"LIBRARY":
                statement.fail("END of a block that is not open", back=1)
            self.ended = True
        elif word == b"MACRO":
            statement.take()
            line = statement.here()[0]
            name = statement.take("the macro's name")
            self.macro, self.found = MacroParser(name.decode(), self.path.name, line, self.warnings), True
        elif word in (b"UNITS", *_BLOCKS):
            statement.take()
            self.block, self.block_name, self.found = word, word, True
        elif word in (b"SITE", b"LAYER", *_NAMED_BLOCKS):
            statement.take()
            self.block, self.block_name, self.found = word, statement.take(f"a name after {word.decode()}"), True
            self.words, self.numbers = {}, {}
        elif word == b"BEGINEXT":
            self.block, self.block_name = word, statement.take()
        elif word == b"MANUFACTURINGGRID":
            statement.take()
            grid = statement.number("a number of µm", least=0, most=MAX_UM)
            if self.library.manufacturing_grid_um in (0, grid):
                self.library.manufacturing_grid_um = grid
            else:
                kept = self.library.manufacturing_grid_um
                self.warnings.add(f"{self.path.name}: MANUFACTURINGGRID {grid:g} differs from {kept:g}, which stays")
            self.found = True
            statement.skip()
        else:
            if not re.fullmatch(rb"[A-Z_0-9]+", word) or not statement.terminated:
                statement.fail("is no LEF statement")
            self.found |= word in _PLAIN
            if word not in _PLAIN:
                self.warnings.add(f"LEF statement {word.decode()} is not known and skipped", statement.place)
            statement.skip()

    def _in_block(self, statement: Statement) -> None:
        word = statement.peek().upper()
        if self.block == b"BEGINEXT":
            if statement.take().upper() == b"ENDEXT":
                self.block = b""
            return
        if word == b"END" and statement.count() > 1 and statement.peek(1) == self.block_name:
            statement.take(), statement.take()
            self._end_block()
            return
        if self.block in (b"SITE", b"LAYER", b"UNITS"):
            if word == b"END" or word == b"MACRO":
                statement.fail(f"{self.block.decode()} '{self.block_name.decode()}' is open and must END first")
            self._value(word, statement)
            statement.skip()
        else:
            statement.take()  # of a block that is skipped

    def _value(self, word: bytes, statement: Statement) -> None:
        if self.block == b"UNITS":
            if word == b"DATABASE":
                statement.take(), statement.take("MICRONS")
                self.library.units_per_um = self.library.units_per_um or int(
                    statement.number("database units a µm", least=1, most=1_000_000)
                )
        elif word == b"SIZE" and self.block == b"SITE":
            statement.take()
            width = statement.number("a width in µm", least=0, most=MAX_UM)
            statement.expect(b"BY")
            self.numbers[word] = (width, statement.number("a height in µm", least=0, most=MAX_UM))
        elif word in (b"CLASS", b"TYPE", b"DIRECTION"):
            statement.take()
            self.words[word] = statement.take(f"a word after {word.decode()}").upper().decode()
        elif word in (b"PITCH", b"OFFSET", b"WIDTH") and self.block == b"LAYER":
            statement.take()
            first = second = statement.number("a number of µm", least=-MAX_UM, most=MAX_UM)
            if statement.left() and word != b"WIDTH":
                second = statement.number("a number of µm", least=-MAX_UM, most=MAX_UM)
            self.numbers[word] = (first, second)

    def _end_block(self) -> None:
        name, words, numbers, block = self.block_name.decode(), self.words, self.numbers, self.block
        self.block = b""
        if block == b"SITE":
            width, height = numbers.get(b"SIZE", (0.0, 0.0))
            site = Site(name=name, width_um=width, height_um=height, site_class=words.get(b"CLASS", ""))
            if self.library.sites.setdefault(name, site) != site:
                self.warnings.add("SITE defined twice with different values; the first stays", f"'{name}'")
        elif block == b"LAYER":
            layer = Layer(
                name=name,
                kind=words.get(b"TYPE", ""),
                direction=words.get(b"DIRECTION", ""),
                pitch_um=numbers.get(b"PITCH", (0.0, 0.0)),
                width_um=numbers.get(b"WIDTH", (0.0, 0.0))[0],
                offset_um=numbers.get(b"OFFSET"),
            )
            if self.library.layers.setdefault(name, layer) != layer:
                self.warnings.add("LAYER defined twice with different values; the first stays", f"'{name}'")

    def _in_macro(self, statement: Statement) -> None:
        assert self.macro is not None
        name = self.macro.name
        try:
            macro = self.macro.take(statement)
        except ParseError as error:
            self.library.skipped.setdefault(name, str(error).split("\n")[0])
            self.warnings.add(f"MACRO '{name}' is left out: {str(error).splitlines()[0]}")
            self.macro, self.bad_macro = None, name.encode()
            return
        if macro is not None:
            self.macro = None
            self._add(macro)

    def _skip_macro(self, statement: Statement) -> None:
        """To the END of the bad macro, or to the next MACRO where it has none."""
        word = statement.peek().upper()
        if word == b"MACRO" and statement.count() > 1:
            self.bad_macro = b""
        elif word == b"END" and statement.count() > 1 and statement.peek(1) in (self.bad_macro, b"LIBRARY"):
            if statement.peek(1) == self.bad_macro:
                statement.take(), statement.take()
            self.bad_macro = b""
        else:
            statement.take()

    def _add(self, macro: Macro) -> None:
        first = self.library.macros.setdefault(macro.name, macro)
        if first is not macro and not first.same_as(macro):
            self.warnings.add(
                f"MACRO '{macro.name}' is defined differently in {first.file}:{first.line} and"
                f" {macro.file}:{macro.line};"
                " the first stays"
            )


def looks_like_lef(start: bytes) -> bool:
    """Whether these first bytes of a file are those of a LEF."""
    words = re.sub(rb"#[^\n\r]*", b"", start)
    if re.search(rb"(?m)^\s*DESIGN\s+\S+\s*;|^\s*(COMPONENTS|DIEAREA)\s", words):
        return False
    return bool(
        re.search(
            rb"(?m)^\s*(MACRO|SITE)\s+\S+\s*$|^\s*LAYER\s+\S+\s+TYPE\s|^\s*MANUFACTURINGGRID\s|^\s*UNITS\s+DATABASE",
            words,
        )
    )


def require_macros(library: LefLibrary) -> None:
    if not library.macros:
        raise InputError("the LEF files define no MACRO that can be used")
