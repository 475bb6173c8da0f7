"""How fast netlists are read and how much memory that takes.

    PLACEWRIGHT_BENCHMARKS=… python benchmarks/parsing.py [--repeats 3]

Each netlist is read in a process of its own, which reports CPU seconds (one thread; the best of the repeats), wall
seconds and its peak memory. MB/s are 10^6 bytes of text a CPU second, unpacking included where it is packed.
Prints a table and writes benchmarks/results/parsing.json. The generated netlist is one of
netlists.samples with the seed given. Linux only (peak memory is VmHWM of /proc).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "parsing.json"


def peak_mb() -> float:
    """Most resident memory this process has had, MiB."""
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def measure(path: Path, repeats: int) -> dict[str, float]:
    """In the process of its own: reads the netlist, several times, and says what that took."""
    from netlists.circuit_training.reader import read_netlist
    from netlists.files import read_blocks

    size = sum(len(block) for block in read_blocks(path))
    before = peak_mb()
    cpu, wall = [], []
    for _ in range(repeats):
        start, wall_start = time.process_time(), time.perf_counter()
        parsed = read_netlist([path])
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - wall_start)
    netlist = parsed.netlist
    return {
        "nodes": netlist.node_count + len(netlist.pin_name) - netlist.counts()["ports"] - netlist.counts()["cells"],
        "text_mb": size / 1e6,
        "file_mb": path.stat().st_size / 1e6,
        "cpu_s": min(cpu),
        "wall_s": min(wall),
        "mb_per_cpu_s": size / 1e6 / min(cpu),
        "peak_mb": peak_mb(),
        "before_reading_mb": before,
    }


def measure_lefdef(paths: list[Path], repeats: int) -> dict[str, float]:
    """The same for LEF files and a DEF: reads them into the flat netlist."""
    from netlists.files import read_blocks
    from netlists.lefdef.def_reader import read_def
    from netlists.lefdef.load import kind_of, read_lefdef

    kinds = {path: kind_of(path) for path in paths}
    size = sum(len(block) for path in paths for block in read_blocks(path))
    before = peak_mb()
    defs = [path for path in paths if kinds[path] == "def"]
    lefs = [path for path in paths if kinds[path] == "lef"]
    cpu, wall, peak_of_def = [], [], 0.0
    for _ in range(repeats):
        start, wall_start = time.process_time(), time.perf_counter()
        read_def(defs[0])
        def_s, peak_of_def = time.process_time() - start, peak_of_def or peak_mb()
        start, wall_start = time.process_time(), time.perf_counter()
        nodes = read_lefdef(lefs, defs).netlist.node_count
        cpu.append((time.process_time() - start, def_s))
        wall.append(time.perf_counter() - wall_start)
    return {
        "nodes": nodes,
        "text_mb": size / 1e6,
        "file_mb": sum(path.stat().st_size for path in paths) / 1e6,
        "cpu_s": min(cpu)[0],
        "def_alone_cpu_s": min(cpu)[1],
        "wall_s": min(wall),
        "mb_per_cpu_s": size / 1e6 / min(cpu)[0],
        "peak_mb": peak_mb(),
        "def_alone_peak_mb": peak_of_def,
        "before_reading_mb": before,
    }


def measure_source(paths: list[Path], repeats: int) -> dict[str, float]:
    """The same for files of any format, as `load_design` reads them, without what it derives."""
    from netlists.files import DEFAULT_LIMITS, read_blocks
    from netlists.sources import source_of

    paths = source_of(paths, DEFAULT_LIMITS, []).paths
    size = sum(len(block) for path in paths for block in read_blocks(path))
    before = peak_mb()
    cpu, wall = [], []
    for _ in range(repeats):
        start, wall_start = time.process_time(), time.perf_counter()
        netlist = source_of(paths, DEFAULT_LIMITS, []).read().netlist
        cpu.append(time.process_time() - start)
        wall.append(time.perf_counter() - wall_start)
    return {
        "nodes": netlist.node_count,
        "text_mb": size / 1e6,
        "file_mb": sum(path.stat().st_size for path in paths) / 1e6,
        "cpu_s": min(cpu),
        "wall_s": min(wall),
        "mb_per_cpu_s": size / 1e6 / min(cpu),
        "peak_mb": peak_mb(),
        "before_reading_mb": before,
    }


def generated_verilog(folder: Path, cells: int) -> list[Path]:
    """A LEF of one macro and one cell, and a module of that many cells in a chain, one connection a line."""
    lef, path = folder / "chain.lef", folder / "chain.v"
    pin = "PIN {0} DIRECTION {1} ; PORT LAYER M1 ; RECT 0 0 0.1 0.1 ; END END {0}\n"
    pins = pin.format("A", "INPUT") + pin.format("B", "INPUT") + pin.format("Z", "OUTPUT")
    ram = "MACRO RAM\nCLASS BLOCK ; SIZE 100 BY 40 ;\n" + pin.format("D", "INPUT") + "END RAM\n"
    lef.write_text(f"{ram}MACRO CELL\nCLASS CORE ; SIZE 0.4 BY 2 ;\n{pins}END CELL\nEND LIBRARY\n")
    with path.open("w") as file:
        file.write(f"module chain (input [31:0] a, output z);\n  wire [{cells}:0] w;\n  RAM ram (.D(w[0]));\n")
        for i in range(cells):
            file.write(f"  CELL u_{i} (\n    .A(w[{i}]),\n    .B(a[{i % 32}]),\n    .Z(w[{i + 1}])\n  );\n")
        file.write("endmodule\n")
    return [lef, path]


def generated_def(folder: Path, components: int) -> list[Path]:
    """A LEF of one macro and one cell, and a DEF of that many cells in a grid, each driving a net to three others."""
    lef, path = folder / "generated.lef", folder / "generated.def"
    pin = "PIN {0} DIRECTION {1} ; PORT LAYER M1 ; RECT 0 0 0.1 0.1 ; END END {0}\n"
    cell = (
        "CLASS CORE ; SIZE 0.4 BY 2 ;\n"
        + "".join(pin.format(name, "INPUT") for name in "ABC")
        + pin.format("Y", "OUTPUT")
    )
    lef.write_text(f"MACRO RAM\nCLASS BLOCK ; SIZE 100 BY 40 ;\nEND RAM\nMACRO CELL\n{cell}END CELL\nEND LIBRARY\n")
    side = int(components**0.5) + 1
    with path.open("w") as file:
        file.write(
            "VERSION 5.8 ;\nDESIGN generated ;\nUNITS DISTANCE MICRONS 1000 ;\n"
            f"DIEAREA ( 0 0 ) ( {side * 1000} {side * 2000} ) ;\n"
        )
        file.write(f"COMPONENTS {components + 1} ;\n- block/ram RAM + PLACED ( 0 0 ) N ;\n")
        for i in range(components):
            file.write(
                f"- block_{i % 97}/unit_{i // 97}/u{i} CELL + PLACED ( {i % side * 1000} {i // side * 2000} ) N ;\n"
            )
        file.write(f"END COMPONENTS\nNETS {components} ;\n")
        for i in range(components):
            sinks = ((i + 1) % components, (i + side) % components, (i * 7919) % components)
            to = " ".join(f"( block_{s % 97}/unit_{s // 97}/u{s} {pin} )" for s, pin in zip(sinks, "ABC", strict=True))
            file.write(f"- block_{i % 97}/net_{i} ( block_{i % 97}/unit_{i // 97}/u{i} Y ) {to} + USE SIGNAL ;\n")
        file.write("END NETS\nEND DESIGN\n")
    return [lef, path]


def generated(folder: Path, seed: int) -> Path:
    """A netlist of 100,000 nodes as plain text."""
    from netlists.circuit_training.writer import write_netlist
    from netlists.samples import SampleSize, make_sample

    size = SampleSize(macros=1200, clusters=3600, ports=2000, data_bits=16, terminals=17, scale_um=40)
    design = make_sample(size, seed)
    path = folder / "generated.pb.txt"
    write_netlist(path, design, design.start)
    return path


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default="", help="measure the cases whose name holds this text; others stay as they were"
    )
    parser.add_argument("--one", type=Path, nargs="+", help=argparse.SUPPRESS)  # the process of one netlist
    options = parser.parse_args()
    if options.one:
        names = " ".join(path.name for path in options.one)
        if ".def" in names:
            row = measure_lefdef(options.one, options.repeats)
        elif ".aux" in names or ".v" in names:
            row = measure_source(options.one, options.repeats)
        else:
            row = measure(options.one[0], options.repeats)
        print(json.dumps(row))
        return
    benchmarks = Path(os.environ["PLACEWRIGHT_BENCHMARKS"])
    with tempfile.TemporaryDirectory() as folder:
        lefdef = benchmarks / "lefdef/ariane_ct"
        cases: dict[str, Path | list[Path] | Callable[[], Path | list[Path]]] = {
            "ariane_ct (LEF/DEF, .gz)": [lefdef / "ariane.lef", lefdef / "ariane.def.gz"],
            "generated LEF/DEF, 10^6 cells": lambda: generated_def(Path(folder), 1_000_000),
            "ibm01 (Bookshelf, .gz)": [benchmarks / "bookshelf/ibm01/ibm01.aux.gz"],
            "ibm13 (Bookshelf, .gz)": [benchmarks / "bookshelf/ibm13/ibm13.aux.gz"],
            "generated Verilog, 200,000 cells": lambda: generated_verilog(Path(folder), 200_000),
            "ariane133_ng45 (clustered, .gz)": benchmarks / "circuit_training/ariane133_ng45/netlist.pb.txt.gz",
            "ibm10 (clustered, .gz)": benchmarks / "circuit_training/ibm10/netlist.pb.txt.gz",
            "ariane133_ng45 (flat, .gz)": benchmarks / "flat_protobuf/ariane133_ng45.pb.txt.gz",
            "generated, 100,000 nodes": lambda: generated(Path(folder), options.seed),
        }
        before = json.loads(RESULT.read_text()) if options.only and RESULT.exists() else {}
        rows: dict[str, dict[str, float]] = dict(before.get("netlists", {}))
        measured = []
        print(f"{'netlist':34} {'nodes':>8} {'text MB':>8} {'CPU s':>7} {'MB/s':>6} {'peak MB':>8} {'before MB':>9}")
        for name, path in cases.items():
            if options.only and options.only not in name:
                continue
            path = path() if callable(path) else path
            paths = path if isinstance(path, list) else [path]
            command = [sys.executable, __file__, "--one", *map(str, paths), "--repeats", str(options.repeats)]
            row = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
            rows[name] = row
            measured.append(name)
            print(
                f"{name:34} {row['nodes']:8,.0f} {row['text_mb']:8.1f} {row['cpu_s']:7.2f} {row['mb_per_cpu_s']:6.1f}"
                f" {row['peak_mb']:8.0f} {row['before_reading_mb']:9.0f}"
            )
    RESULT.parent.mkdir(exist_ok=True)
    document = about(options.seed)
    if before:  # the other rows stay as they were, under their own command and commit
        later = {**before.get("later", {}), options.only: {**document, "netlists": measured}}
        document = {**before, "later": later}
    document["netlists"] = rows
    RESULT.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
