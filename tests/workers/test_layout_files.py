"""What a job writes for a design from LEF/DEF: on the grid, scored from the file, and the DEF says the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from netlists.lefdef.def_writer import read_places
from netlists.load import load_design
from netlists.model import Design, NodeKind
from netlists.options import Options
from placement.cost import evaluate
from workers.cli.main import cli
from workers.layout_files import clustered, export_formats
from workers.results import write_result

LEF = """\
UNITS
  DATABASE MICRONS 2000 ;
END UNITS
MANUFACTURINGGRID 0.005 ;
MACRO RAM
  CLASS BLOCK ;
  SIZE 10 BY 4 ;
  SYMMETRY X Y ;
  PIN D DIRECTION INPUT ; PORT LAYER M1 ; RECT 0 1 0.1 1.1 ; END END D
  PIN Q DIRECTION OUTPUT ; PORT LAYER M1 ; RECT 9.9 1 10 1.1 ; END END Q
END RAM
END LIBRARY
"""
DEF = """\
VERSION 5.8 ;
DESIGN two ;
UNITS DISTANCE MICRONS 1000 ;
DIEAREA ( 1000 2000 ) ( 51000 42000 ) ;
COMPONENTS 3 ;
- u/a\\[0\\] RAM + PLACED ( 2000 3000 ) N ;
- b RAM + PLACED ( 30000 30000 ) FS ;
- c RAM + FIXED ( 20000 20000 ) N ;
END COMPONENTS
PINS 1 ;
- in + NET n0 + DIRECTION INPUT + LAYER M1 ( 0 0 ) ( 10 10 ) + FIXED ( 1000 5000 ) N ;
END PINS
NETS 3 ;
- n0 ( PIN in ) ( u/a\\[0\\] D ) ;
- n1 ( u/a\\[0\\] Q ) ( b D ) ( c D ) ;
- n2 ( b Q ) ( c Q ) ;
END NETS
END DESIGN
"""


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "two.lef").write_text(LEF)
    (tmp_path / "two.def").write_text(DEF)
    return [tmp_path / "two.lef", tmp_path / "two.def"]


@pytest.fixture
def design(files: list[Path]) -> Design:
    return load_design(files)


def test_a_result_is_on_the_grid_and_its_def_scores_the_same(design: Design, files: list[Path], tmp_path: Path) -> None:
    x = design.start.x_um.copy()
    x[1:3] += 0.00137
    written = write_result(design, design.start.moved(x_um=x), tmp_path / "placements")
    assert export_formats(design, written.placement, files, written.folder) == ("def", "tcl")
    back = read_places(written.folder / "placement.def.gz", design)
    assert evaluate(design, back).as_dict() == written.costs.as_dict()
    text = gzip.decompress((written.folder / "placement.def.gz").read_bytes()).decode()
    assert "- u/a\\[0\\] RAM + FIXED ( 2000 3000 ) N ;" in text
    assert "- c RAM + FIXED ( 20000 20000 ) N ;" in text
    assert (written.folder / "placement.tcl").read_text().count("place_macro") == 2


def test_designs_of_other_formats_have_no_such_files(design: Design, tmp_path: Path) -> None:
    assert export_formats(design, design.start, [], tmp_path) == ()
    assert clustered(design, tmp_path / "clustered") == (design, [])  # no cells


def test_commands_cluster_and_export(files: list[Path], tmp_path: Path) -> None:
    out, runner = tmp_path / "out", CliRunner()
    done = runner.invoke(cli, ["cluster", *map(str, files), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    words = ["export", str(out), "--plc", str(out / "initial.plc"), "--def", str(files[1])]
    words += ["--out", str(tmp_path / "new.def"), "--tcl", str(tmp_path / "new.tcl"), "--status", "placed", "--json"]
    done = runner.invoke(cli, words)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "new.def").read_text() == DEF
    done = runner.invoke(cli, [*words, "--snap", "tracks"])
    assert done.exit_code == 2
    assert "needs the LEF files" in done.output
    done = runner.invoke(cli, [*words, "--snap", "tracks", "--lef", str(files[0])])
    assert done.exit_code == 0, done.output  # a DEF without tracks: the grid alone holds
    assert (tmp_path / "new.def").read_text() == DEF
    flat, made = load_design(files), load_design([out])
    assert made.database == flat.database
    assert made.start.fixed.tolist() == [True, False, False, True]
    done = runner.invoke(cli, ["cluster", *map(str, files), "--lock-placed", "--out", str(tmp_path / "l"), "--json"])
    assert done.exit_code == 0, done.output
    assert load_design([tmp_path / "l"]).start.fixed.all()
    hard = made.netlist.nodes_of(NodeKind.HARD_MACRO)
    assert np.array_equal(made.start.x_um[hard], flat.start.x_um[flat.netlist.nodes_of(NodeKind.HARD_MACRO)])


def test_what_is_placed_is_locked_on_request(files: list[Path], tmp_path: Path) -> None:
    flat = load_design(files, options=Options(lock_placed=True))
    assert flat.start.fixed.all()
    locked, made = clustered(
        flat, tmp_path / "clustered", reading=Options(lock_placed=True)
    )  # no cells: only these files say it
    assert made
    assert load_design(made).start.fixed.all()
    assert np.array_equal(locked.start.x_um, flat.start.x_um)
    assert locked.database == flat.database


VERILOG = """\
module two(in);
  input in;
  wire n1, n2;
  RAM \\u/a[0] (.D(in), .Q(n1));
  RAM b (.D(n1), .Q(n2));
  RAM c (.D(n1), .Q(n2));
endmodule
"""


def test_a_floorplan_and_a_netlist_of_another_format_go_through_a_job(files: list[Path], tmp_path: Path) -> None:
    """The DEF places, the Verilog connects; what comes out is that DEF in its own spelling, nothing else moved."""
    floorplan = tmp_path / "two.def"
    floorplan.write_text(DEF[: DEF.index("NETS 3")] + "END DESIGN\n")
    (tmp_path / "two.v").write_text(VERILOG)
    inputs = [*files, tmp_path / "two.v"]
    words = ["place", *map(str, inputs), "--method", "search", "--trials", "5000", "--workers", "1", "--json"]
    done = CliRunner().invoke(cli, [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["state"], report["legal"], report["hard_macros"]) == ("done", True, 3)
    assert report["proxy_cost"] < report["start_proxy_cost"]
    design = load_design(inputs)
    back = read_places(tmp_path / "out/placement.def.gz", design)
    assert evaluate(design, back).proxy_cost == report["proxy_cost"]
    written = gzip.decompress((tmp_path / "out/placement.def.gz").read_bytes()).decode().splitlines()
    changed = [line for line in written if line not in floorplan.read_text().splitlines()]
    assert sorted(line.split()[1] for line in changed) == ["b", "u/a\\[0\\]"]
    assert (tmp_path / "out/placement.tcl").read_text().count("place_macro") == 2


@pytest.mark.slow
@pytest.mark.usefixtures("partitioner")
def test_clusters_of_the_real_design_cost_what_the_published_ones_do(benchmarks: Path, tmp_path: Path) -> None:
    """Start costs within 5 % of those of Circuit Training's own clustered netlist of this design."""
    design, files = clustered(load_design(benchmarks / "lefdef/ariane_ct"), tmp_path)
    costs = evaluate(design, design.start)
    found = (costs.wirelength_cost, costs.density_cost, costs.congestion_cost)
    assert found == pytest.approx((0.0502, 0.7564, 0.9846), rel=0.05)
    back = load_design(files)
    assert evaluate(back, back.start).proxy_cost == pytest.approx(costs.proxy_cost, rel=1e-12)
