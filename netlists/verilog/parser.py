"""Tokens of structural Verilog in, `Module`s out. Anything behavioural is refused with its line and what it is.

Read: module headers of both styles, port and net declarations with ranges of numbers, assigns between nets, instances
with named or positional connections, parameters (skipped). Source: IEEE 1364-2005, annex A.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from netlists.errors import ParseError
from netlists.files import DEFAULT_LIMITS, Limits
from netlists.verilog.syntax import MAX_BITS, Concatenation, Constant, Expression, Instance, Module, Select
from netlists.verilog.tokens import Chunk, Line, chunks, is_name, number_bits, plain_name

DIRECTIONS = ("input", "output", "inout")
NET_TYPES = ("wire", "tri", "wand", "wor", "supply0", "supply1", "logic")
_GATES = (
    *("and", "or", "nand", "nor", "xor", "xnor", "buf", "not", "bufif0", "bufif1", "notif0", "notif1"),
    *("nmos", "pmos", "cmos", "tran", "pullup", "pulldown"),
)
# Words that begin what no netlist holds, and what to call them.
_REFUSED = {
    **dict.fromkeys(("always", "initial", "always_ff", "always_comb", "always_latch"), "behavioural block"),
    **dict.fromkeys(("function", "task", "generate", "genvar", "if", "case", "for", "begin"), "behavioural construct"),
    **dict.fromkeys(("reg", "integer", "real", "time", "event"), "variable"),
    **dict.fromkeys(("primitive", "specify", "defparam", "interface", "package", "class", "macromodule"), "construct"),
    **dict.fromkeys(
        [
            "and",
            "or",
            "nand",
            "nor",
            "xor",
            "xnor",
            "buf",
            "not",
            "bufif0",
            "bufif1",
            "notif0",
            "notif1",
            "nmos",
            "pmos",
            "cmos",
            "tran",
            "pullup",
            "pulldown",
        ],
        "gate primitive, which no library gives a size; map the netlist to cells",
    ),
}
_SKIPPED = ("parameter", "localparam", "specparam")
_DIRECTIVES = {  # directive -> words of its own line
    "`timescale": 6, "`default_nettype": 1, "`celldefine": 0, "`endcelldefine": 0, "`resetall": 0,
    "`nounconnected_drive": 0, "`unconnected_drive": 1,
}  # fmt: skip


def read_modules(paths: Sequence[Path], limits: Limits = DEFAULT_LIMITS) -> dict[str, Module]:
    """The modules of all files. Raises ParseError with file and line; for duplicates with both."""
    modules: dict[str, Module] = {}
    for path in paths:
        parser = _Parser(path, modules)
        for chunk in chunks(path, limits):
            parser.read(chunk)
        parser.finish()
    return modules


class _Parser:
    def __init__(self, path: Path, modules: dict[str, Module]) -> None:
        self.path, self.modules = path, modules
        self.module: Module | None = None
        self.names: dict[str, Line] = {}  # instances of the module
        self.found = 0
        self.chunk: Chunk
        self.tokens: list[str] = []
        self.at = 0

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        at = self.at if at is None else at
        raise ParseError(self.path, self.chunk.line(at), message)

    def read(self, chunk: Chunk) -> None:
        self.chunk, self.tokens, self.at = chunk, [*chunk.tokens(), *[""] * 8], 0
        while self.tokens[self.at]:
            self._item()

    def finish(self) -> None:
        if self.module is not None:
            where = f"module '{self.module.name}' (line {self.module.line})"
            raise ParseError(self.path, 0, f"the file ends within {where}: endmodule is missing; is it truncated?")
        if not self.found:
            raise ParseError(self.path, 0, "holds no module")

    # One item of a file or module.

    def _item(self) -> None:
        word = self.tokens[self.at]
        if word[0] == "`":
            self._directive(word)
        elif word == "module":
            self._header()
        elif word in _REFUSED:
            self.fail(f"'{word}' is a {_REFUSED[word]}: only structural netlists are read; synthesise the design first")
        elif self.module is None:
            self.fail(f"'{word[:40]}' outside a module")
        elif word == "endmodule":
            self.at += 1
            self.module = None
        elif word in DIRECTIONS or word in NET_TYPES:
            self._declaration()
        elif word == "assign":
            self._assign()
        elif word in _SKIPPED:
            while self.tokens[self.at] not in (";", ""):
                self.at += 1
            self._take(";")
        elif word == ";":
            self.at += 1
        elif is_name(word):
            self._instances()
        else:
            self.fail(f"unexpected '{word[:40]}'")

    def _directive(self, word: str) -> None:
        if word not in _DIRECTIVES:
            self.fail(f"directive '{word}' is not read here; run the preprocessor first")
        line = self.chunk.line(self.at)
        self.at += 1
        for _ in range(_DIRECTIVES[word]):
            if self.tokens[self.at] and self.chunk.line(self.at) == line:
                self.at += 1

    def _header(self) -> None:
        if self.module is not None:
            self.fail(f"module within module '{self.module.name}': endmodule is missing")
        line = self.chunk.line(self.at)
        self.at += 1
        name = self._name("name of the module")
        if (first := self.modules.get(name)) is not None:
            where = f"line {first.line}" if first.path == self.path else f"{first.path.name} line {first.line}"
            raise ParseError(self.path, line, f"module '{name}' is defined a second time; first at {where}")
        self.module = self.modules[name] = Module(name, self.path, line)
        self.names, self.found = {}, self.found + 1
        if self._is("#"):
            self._balanced()
        if self._is("("):
            self._header_ports()
        self._take(";")

    def _header_ports(self) -> None:
        module, direction, bits = self._module(), "", None
        self.at += 1
        while not self._is(")"):
            if self.tokens[self.at] in DIRECTIONS:
                direction = self.tokens[self.at]
                self.at += 1
                bits = self._type_and_range()
            name = self._name("port")
            if name in module.ports:
                self.fail(f"port '{name}' of module '{module.name}' is given twice", self.at - 1)
            module.ports.append(name)
            if direction:
                self._declare(name, bits, direction)
            if not self._is(")"):
                self._take(",")
        self.at += 1

    def _type_and_range(self) -> tuple[int, int] | None:
        while self.tokens[self.at] in (*NET_TYPES, "signed", "scalared", "vectored"):
            self.at += 1
        if self._is("reg"):
            self.fail("'reg' is a variable: only structural netlists are read; synthesise the design first")
        return self._range() if self._is("[") else None

    def _range(self) -> tuple[int, int]:
        self._take("[")
        msb = self._integer()
        self._take(":")
        lsb = self._integer()
        self._take("]")
        if abs(msb - lsb) >= MAX_BITS:
            self.fail(f"a range of {abs(msb - lsb) + 1:,} bits; at most {MAX_BITS:,}", self.at - 1)
        return msb, lsb

    def _integer(self) -> int:
        sign = 1
        if self._is("-"):
            sign, self.at = -1, self.at + 1
        word = self.tokens[self.at]
        if not word.isdecimal() or len(word) > 9:
            self.fail(f"'{word[:40]}' in a range or select: only plain numbers are read")
        self.at += 1
        return sign * int(word)

    def _declaration(self) -> None:
        word = self.tokens[self.at]
        direction = word if word in DIRECTIONS else ""
        self.at += bool(direction)
        bits = self._type_and_range()
        while True:
            at = self.at
            name = self._name("net")
            if direction and name not in self._module().ports:
                self.fail(f"{direction} '{name}' is not in the header of module '{self._module().name}'", at)
            self._declare(name, bits, direction)
            if self._is("["):
                self.fail(f"'{name}' is an array of nets, which no netlist holds")
            if self._is("="):
                line = self._here()
                self.at += 1
                self._module().assigns.append((Select(name), self._expression(), line))
            if not self._is(","):
                break
            self.at += 1
        self._take(";")

    def _declare(self, name: str, bits: tuple[int, int] | None, direction: str) -> None:
        module = self._module()
        if name in module.nets and bits is not None and module.nets[name] not in (None, bits):
            self.fail(f"'{name}' is declared with range {bits} and with {module.nets[name]}", self.at - 1)
        if module.nets.get(name) is None:
            module.nets[name] = bits
        if direction:
            if module.direction.get(name, direction) != direction:
                self.fail(f"port '{name}' is both {module.direction[name]} and {direction}", self.at - 1)
            module.direction[name] = direction

    def _assign(self) -> None:
        self.at += 1
        if self._is("#") or self._is("("):
            self.fail("assign with a delay or strength is not read here")
        while True:
            line = self._here()
            left = self._expression()
            self._take("=")
            right = self._expression()
            self._module().assigns.append((left, right, line))
            if not self._is(","):
                break
            self.at += 1
        if not self._is(";"):
            self.fail(f"'{self.tokens[self.at][:40]}' in an assign: only nets, selects, concatenations and constants")
        self.at += 1

    def _instances(self) -> None:
        master = plain_name(self.tokens[self.at])
        self.at += 1
        if self._is("#"):
            self._balanced()
        while True:
            at = self.at
            name = self._name(f"name of an instance of '{master}'")
            if self._is("["):
                self.fail(f"instance '{name}' is an array of instances, which is not read here")
            if name in self.names:
                self.fail(f"instance '{name}' is defined a second time; first at line {int(self.names[name])}", at)
            line = self.names[name] = Line(self.chunk, at)
            connections = self._connections(name)
            self._module().instances.append(Instance(master, name, connections, line))
            if not self._is(","):
                break
            self.at += 1
        self._take(";")

    def _connections(self, name: str) -> tuple[tuple[str, Expression | None], ...]:
        self._take("(")
        result: list[tuple[str, Expression | None]] = []
        tokens = self.tokens
        while tokens[self.at] != ")":
            if self._usual(result):
                pin = result[-1][0]
            elif tokens[self.at] == ".":
                self.at += 1
                if tokens[self.at] == "*":
                    self.fail("'.*' connections are not read here")
                pin = self._name("pin")
                self._take("(")
                value = None if tokens[self.at] == ")" else self._expression()
                self._take(")")
                result.append((pin, value))
            else:
                pin, value = "", None if tokens[self.at] == "," else self._expression()
                result.append((pin, value))
            if tokens[self.at] == ",":
                self.at += 1
                if tokens[self.at] == ")" and not pin:
                    result.append(("", None))
            elif tokens[self.at] != ")":
                found = f"'{tokens[self.at][:40]}'" if tokens[self.at] else "the end of the file"
                self.fail(f"{found} in the connections of '{name}': expected ',' or ')'")
        self.at += 1
        if len({bool(pin) for pin, _ in result}) > 1:
            self.fail(f"instance '{name}' has both named and positional connections", self.at - 1)
        pins = [pin for pin, _ in result if pin]
        if len(set(pins)) < len(pins):
            twice = next(pin for pin in pins if pins.count(pin) > 1)
            self.fail(f"instance '{name}': pin '{twice}' is connected twice", self.at - 1)
        return tuple(result)

    def _usual(self, result: list[tuple[str, Expression | None]]) -> bool:
        """Takes '.pin(net)' and '.pin(net[3])' of plain names, which most connections are; False for any other."""
        tokens, at = self.tokens, self.at
        if tokens[at] != "." or tokens[at + 2] != "(":
            return False
        pin, net, after = tokens[at + 1], tokens[at + 3], tokens[at + 4]
        if not pin.isidentifier() or not net.isidentifier():
            return False
        if after == ")":
            result.append((pin, Select(net)))
            self.at = at + 5
            return True
        bit = tokens[at + 5]
        if after != "[" or tokens[at + 6] != "]" or tokens[at + 7] != ")" or not bit.isdecimal() or len(bit) > 9:
            return False
        result.append((pin, Select(net, int(bit), int(bit))))
        self.at = at + 8
        return True

    def _expression(self, depth: int = 0) -> Expression:
        word = self.tokens[self.at]
        if word == "{":
            if depth > 50:
                self.fail("concatenations more than 50 deep")
            return self._concatenation(depth)
        if word and (word[0].isdigit() or word[0] == "'"):
            bits = number_bits(word, self.path, self._here())
            self.at += 1
            return Constant(bits)
        name = self._name("net")
        if self.tokens[self.at] != "[":
            return Select(name)
        self.at += 1
        msb = lsb = self._integer()
        if self._is(":"):
            self.at += 1
            lsb = self._integer()
        self._take("]")
        return Select(name, msb, lsb)

    def _concatenation(self, depth: int) -> Expression:
        self.at += 1
        repeat = 1
        if self.tokens[self.at].isdecimal() and self.tokens[self.at + 1] == "{":
            repeat = int(self.tokens[self.at][:9])
            if repeat > MAX_BITS:
                self.fail(f"a replication of {repeat:,}; at most {MAX_BITS:,}")
            self.at += 1
            inner = self._concatenation(depth + 1)
            self._take("}")
            return Concatenation((inner,), repeat)
        parts = [self._expression(depth + 1)]
        while self._is(","):
            self.at += 1
            parts.append(self._expression(depth + 1))
        self._take("}")
        return Concatenation(tuple(parts))

    # Small steps.

    def _module(self) -> Module:
        if self.module is None:
            self.fail("outside a module")
        return self.module

    def _here(self) -> Line:
        return Line(self.chunk, self.at)

    def _is(self, token: str) -> bool:
        return self.tokens[self.at] == token

    def _take(self, token: str) -> None:
        if self.tokens[self.at] != token:
            found = self.tokens[self.at][:40]
            self.fail(f"expected '{token}', found '{found}'" if found else f"the file ends where '{token}' is expected")
        self.at += 1

    def _name(self, what: str) -> str:
        word = self.tokens[self.at]
        if not is_name(word):
            self.fail(f"expected the {what}, found '{word[:40]}'" if word else f"the file ends before the {what}")
        self.at += 1
        return plain_name(word)

    def _balanced(self) -> None:
        """Skips '#( … )' or '# number'."""
        self.at += 1
        if not self._is("("):
            self.at += 1
            return
        depth = 0
        while self.tokens[self.at]:
            depth += {"(": 1, ")": -1}.get(self.tokens[self.at], 0)
            self.at += 1
            if depth == 0:
                return
        self.fail("'#(' without its ')'")
