"""Modules in, one flat netlist out: leaf instances under hierarchical names, their pins, and nets of single bits.

Every bit of every net of every module instance has a number; bits that are one wire (ports, assigns) are joined. The
top module's bits come first, so a net is called by the highest of its names. Called by `reader.py` and wherever another
file (a DEF) needs a netlist's connections.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from netlists.errors import InputError, ParseError
from netlists.verilog.masters import Master
from netlists.verilog.syntax import MAX_BITS, Concatenation, Constant, Expression, Instance, Module, Select
from netlists.verilog.tokens import Line

MAX_DEPTH = 200  # of the hierarchy
UNKNOWN_PIN_SHARE = 0.05  # of all connections; more and the masters are not those of this netlist
CONSTANT, OPEN = -1, -2


@dataclass(eq=False)
class FlatNetlist:
    """I leaf instances, C connections, ports of the top. A connection's net is a number, or CONSTANT."""

    top: str
    instance_name: list[str] = field(default_factory=list)  # I, hierarchical, joined by /
    instance_master: list[str] = field(default_factory=list)
    pin_instance: array[int] = field(default_factory=lambda: array("i"))  # C
    pin_name: list[str] = field(default_factory=list)  # C, of the master's pin
    pin_net: array[int] = field(default_factory=lambda: array("q"))
    port_name: list[str] = field(default_factory=list)  # bits of the top's ports
    port_direction: list[str] = field(default_factory=list)  # input, output, inout
    port_net: array[int] = field(default_factory=lambda: array("q"))
    net_name: dict[int, str] = field(default_factory=dict)  # of the nets that pins or ports are on
    warnings: list[str] = field(default_factory=list)


def top_module(modules: Mapping[str, Module], masters: Mapping[str, Master], top: str | None) -> Module:
    """The module of this name, or the only one that no other uses. Raises InputError."""
    if top is not None:
        if top not in modules:
            raise InputError(f"no module '{top}' to be the top; modules are {_some(sorted(modules))}")
        return modules[top]
    used = {instance.master for module in modules.values() for instance in module.instances}
    tops = [name for name in modules if name not in used and name not in masters]
    if len(tops) != 1:
        found = _some(tops) if tops else "none"
        raise InputError(f"which module is the top? Of {len(modules):,} modules no other uses: {found}; name one")
    return modules[tops[0]]


def flatten(
    modules: Mapping[str, Module], masters: Mapping[str, Master], top: str | None = None, *, max_nodes: int = 2_000_000
) -> FlatNetlist:
    """A module whose name is a master's is a leaf. Raises InputError, ParseError with the instance's line."""
    root = top_module(modules, masters, top)
    _refuse_missing(modules, masters, root)
    return _Flattener(modules, masters, root, max_nodes).flat()


def _refuse_missing(modules: Mapping[str, Module], masters: Mapping[str, Master], root: Module) -> None:
    """One error for all types that neither a module nor a master defines, with their counts."""
    missing: Counter[str] = Counter()
    first: dict[str, str] = {}
    seen, waiting = {root.name}, [root]
    while waiting:
        module = waiting.pop()
        for instance in module.instances:
            name = instance.master
            if name in masters:
                continue
            if name not in modules:
                missing[name] += 1
                if name not in first:
                    first[name] = f"{module.path.name}:{int(instance.line)}"
            elif name not in seen:
                seen.add(name)
                waiting.append(modules[name])
    if missing:
        shown = ", ".join(
            f"'{name}' ({count:,} in the text, first at {first[name]})" for name, count in missing.items()
        )
        raise InputError(f"types that neither a module nor the library defines: {shown}")


class _Flattener:
    def __init__(
        self, modules: Mapping[str, Module], masters: Mapping[str, Master], root: Module, max_nodes: int
    ) -> None:
        self.max_nodes = max_nodes
        self.modules, self.masters, self.root = modules, masters, root
        self.result = FlatNetlist(root.name)
        self.parent: list[int] = []  # union-find over bits; the root of a wire is its lowest bit
        self.layouts: dict[str, tuple[dict[str, tuple[int, int, int]], int]] = {}
        self.bases: list[int] = []  # first bit of each module instance, rising
        self.scopes: list[tuple[str, Module]] = []
        self.bit_names: dict[str, tuple[list[int], list[str]]] = {}  # module -> first bits of its nets, names
        self.buses: dict[str, dict[str, list[str]]] = {}
        self.widths = 0  # connections to leaves of another width than the pin
        self.unknown: Counter[tuple[str, str]] = Counter()
        self.unknown_first: dict[tuple[str, str], str] = {}

    def flat(self) -> FlatNetlist:
        result, root = self.result, self.root
        base = self._enter("", root)
        layout = self._layout(root)[0]
        for name in root.ports:
            if name not in root.direction:
                raise ParseError(root.path, root.line, f"port '{name}' of module '{root.name}' has no direction")
            first, msb, lsb = layout[name]
            step = 1 if msb >= lsb else -1
            for offset in range(abs(msb - lsb) + 1):
                single = root.nets[name] is None
                result.port_name.append(name if single else f"{name}[{lsb + step * offset}]")
                result.port_direction.append(root.direction[name])
                result.port_net.append(base + first + offset)
        waiting = [(root, "", base, 1)]
        while waiting:
            module, path, base, depth = waiting.pop()
            if depth > MAX_DEPTH:
                raise ParseError(module.path, module.line, f"module '{module.name}' is {depth} levels deep: a loop?")
            for left, right, line in module.assigns:
                self._join(module, line, self._bits(module, base, left, line), self._bits(module, base, right, line))
            for instance in module.instances:
                name = f"{path}{instance.name}"
                if instance.master in self.masters:
                    self._leaf(module, base, instance, name)
                else:
                    child = self.modules[instance.master]
                    child_base = self._enter(f"{name}/", child)
                    self._ports(module, base, instance, child, child_base)
                    waiting.append((child, f"{name}/", child_base, depth + 1))
        self._finish()
        return result

    def _enter(self, path: str, module: Module) -> int:
        base, size = len(self.parent), self._layout(module)[1]
        if len(self.bases) > self.max_nodes or base + size > 20 * self.max_nodes:
            raise InputError(f"{module.path.name}: more than {self.max_nodes:,} instances once the hierarchy is flat")
        self.parent.extend(range(base, base + size))
        self.bases.append(base)
        self.scopes.append((path, module))
        return base

    def _layout(self, module: Module) -> tuple[dict[str, tuple[int, int, int]], int]:
        """Net -> (number of its lowest bit in the module, msb, lsb), and how many bits in all. Implicit nets too."""
        found = self.layouts.get(module.name)
        if found is None:
            layout: dict[str, tuple[int, int, int]] = {}
            size = 0
            for name in module.ports:
                module.nets.setdefault(name, None)
            for name, bits in module.nets.items():
                msb, lsb = bits or (0, 0)
                layout[name] = (size, msb, lsb)
                size += abs(msb - lsb) + 1
            for name in _implicit(module):
                if name not in layout:
                    layout[name] = (size, 0, 0)
                    size += 1
            found = self.layouts[module.name] = layout, size
        return found

    def _bits(self, module: Module, base: int, expression: Expression, line: Line) -> list[int]:
        """Numbers of the bits of an expression, least significant first."""
        if isinstance(expression, Constant):
            return [CONSTANT if bit in "01" else OPEN for bit in reversed(expression.bits)]
        if isinstance(expression, Concatenation):
            parts = [self._bits(module, base, part, line) for part in expression.parts]
            if sum(map(len, parts)) * expression.repeat > MAX_BITS:
                raise ParseError(module.path, int(line), f"a concatenation of more than {MAX_BITS:,} bits")
            return [bit for part in reversed(parts) for bit in part] * expression.repeat
        first, msb, lsb = self._layout(module)[0][expression.name]
        width, step = abs(msb - lsb) + 1, 1 if msb >= lsb else -1
        low, high = 0, width - 1
        if expression.msb is not None and expression.lsb is not None:
            low, high = (expression.lsb - lsb) * step, (expression.msb - lsb) * step
            if not 0 <= low <= high < width or (module.nets.get(expression.name) is None):
                shown = f"[{expression.msb}:{expression.lsb}]"
                words = f"'{expression.name}{shown}' is not within its range [{msb}:{lsb}]"
                raise ParseError(module.path, int(line), words)
        return list(range(base + first + low, base + first + high + 1))

    def _join(self, module: Module, line: Line, left: list[int], right: list[int]) -> None:
        if len(left) > len(right):
            right = right + [OPEN] * (len(left) - len(right))
        for a, b in zip(left, right, strict=False):
            if a < 0:
                raise ParseError(module.path, int(line), "assign to a constant")
            if b >= 0:
                a, b = self._root(a), self._root(b)
                self.parent[max(a, b)] = min(a, b)

    def _root(self, bit: int) -> int:
        parent = self.parent
        while parent[bit] != bit:
            parent[bit] = bit = parent[parent[bit]]
        return bit

    def _ports(self, module: Module, base: int, instance: Instance, child: Module, child_base: int) -> None:
        layout = self._layout(child)[0]
        if len(instance.connections) > len(child.ports):
            self._fail(
                module,
                instance,
                f"has {len(instance.connections)} connections, '{child.name}' {len(child.ports)} ports",
            )
        for number, (pin, value) in enumerate(instance.connections):
            name = pin or child.ports[number]
            if name not in child.ports:
                self._fail(module, instance, f"'{child.name}' has no port '{name}'; ports are {_some(child.ports)}")
            if value is None:
                continue
            first, msb, lsb = layout[name]
            inner = range(child_base + first, child_base + first + abs(msb - lsb) + 1)
            outer = self._bits(module, base, value, instance.line)
            if len(outer) != len(inner) and not isinstance(value, Constant):
                self._fail(module, instance, f"port '{name}' has {len(inner)} bits, {len(outer)} are connected")
            for a, b in zip(inner, outer, strict=False):
                if b >= 0:
                    a, b = self._root(a), self._root(b)
                    self.parent[max(a, b)] = min(a, b)

    def _leaf(self, module: Module, base: int, instance: Instance, name: str) -> None:
        result, master = self.result, self.masters[instance.master]
        number = len(result.instance_name)
        if number > self.max_nodes:
            raise InputError(f"{module.path.name}: more than {self.max_nodes:,} instances once the hierarchy is flat")
        result.instance_name.append(name)
        result.instance_master.append(instance.master)
        order = list(master.pins) if instance.connections and not instance.connections[0][0] else []
        if order and len(instance.connections) > len(order):
            self._fail(
                module, instance, f"has {len(instance.connections)} connections, '{instance.master}' {len(order)} pins"
            )
        for at, (pin, value) in enumerate(instance.connections):
            if value is None:
                continue
            bits = self._bits(module, base, value, instance.line)
            names = self._pins(instance.master, master, pin or order[at])
            if not names:
                key = (instance.master, pin)
                self.unknown[key] += 1
                if key not in self.unknown_first:
                    self.unknown_first[key] = f"{module.path.name}:{int(instance.line)}, instance '{name}'"
                names = [pin] if len(bits) == 1 else [f"{pin}[{bit}]" for bit in range(len(bits))]
            if len(names) != len(bits) and not isinstance(value, Constant):
                self.widths += 1
            for pin_name, bit in zip(names, bits, strict=False):
                if bit >= 0:
                    result.pin_instance.append(number)
                    result.pin_name.append(pin_name)
                    result.pin_net.append(bit)

    def _pins(self, master_name: str, master: Master, pin: str) -> list[str]:
        """The master's pins that a connection by this name reaches, lowest bit first; none = no such pin."""
        if pin in master.pins:
            return [pin]
        buses = self.buses.get(master_name)
        if buses is None:
            bits: dict[str, list[tuple[int, str]]] = {}
            for name in master.pins:
                stem, bracket, index = name.rpartition("[")
                if bracket and index[:-1].isdecimal() and index[-1] == "]":
                    bits.setdefault(stem, []).append((int(index[:-1]), name))
            buses = {stem: [name for _, name in sorted(found)] for stem, found in bits.items()}
            self.buses[master_name] = buses
        return buses.get(pin, [])

    def _finish(self) -> None:
        """Net numbers to the roots of their wires; names; what was odd."""
        result = self.result
        for numbers in (result.pin_net, result.port_net):
            for at, bit in enumerate(numbers):
                numbers[at] = self._root(bit)
        for net in {*result.pin_net, *result.port_net}:
            result.net_name[net] = self._name(net)
        if self.unknown:
            count = sum(self.unknown.values())
            total = len(result.pin_net)
            shown = "; ".join(
                f"'{pin}' of '{master}' x {times:,} (first: {self.unknown_first[master, pin]})"
                for (master, pin), times in self.unknown.most_common(10)
            )
            text = f"{count:,} connections to pins that their master does not have: {shown}"
            if count > UNKNOWN_PIN_SHARE * max(total, 20):
                raise InputError(
                    f"{text}; more than {UNKNOWN_PIN_SHARE:.0%} of all, so the library is another netlist's"
                )
            result.warnings.append(f"{text}; taken at the centre")
        if self.widths:
            result.warnings.append(f"{self.widths:,} connections of another width than their pin: joined from bit 0 on")

    def _name(self, bit: int) -> str:
        at = bisect_right(self.bases, bit) - 1
        path, module = self.scopes[at]
        offset = bit - self.bases[at]
        layout = self.layouts[module.name][0]
        firsts, names = self.bit_names.get(module.name, ([], []))
        if not firsts:
            firsts, names = [first for first, _, _ in layout.values()], list(layout)
            self.bit_names[module.name] = firsts, names
        name = names[bisect_right(firsts, offset) - 1]
        first, msb, lsb = layout[name]
        if module.nets.get(name) is None:
            return path + name
        return f"{path}{name}[{lsb + (offset - first) * (1 if msb >= lsb else -1)}]"

    def _fail(self, module: Module, instance: Instance, message: str) -> None:
        raise ParseError(module.path, int(instance.line), f"instance '{instance.name}' {message}")


def _implicit(module: Module) -> list[str]:
    """Names used without a declaration: nets of one bit (IEEE 1364-2005, 4.5)."""
    names: dict[str, None] = {}
    waiting: list[Expression | None] = [e for left, right, _ in module.assigns for e in (left, right)]
    for instance in module.instances:
        for _, value in instance.connections:
            if type(value) is Select:
                names[value.name] = None
            else:
                waiting.append(value)
    while waiting:
        value = waiting.pop()
        if isinstance(value, Select):
            names[value.name] = None
        elif isinstance(value, Concatenation):
            waiting += value.parts
    return list(names)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 10:,} more" if len(names) > 10 else ""
    return ", ".join(f"'{name}'" for name in names[:10]) + more
