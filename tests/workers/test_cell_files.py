"""Cells on their way into files: DEF and .pl hold what was placed, and the wirelength told is that of the file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from sqlalchemy.orm import Session

from backend.core.tables import JobRow
from backend.jobs.private import create_private_job
from backend.schemas import JobState
from netlists.clustering.files import GROUPS, read_groups
from netlists.lefdef.def_reader import read_def
from netlists.load import load_design
from netlists.model import NodeKind
from placement.cost.hpwl import hpwl
from workers.cell_files import cells_refusal, flat_placement, write_with_cells
from workers.cli.main import cli
from workers.layout_files import clustered

CELLS = 120
LEF = """\
UNITS
  DATABASE MICRONS 2000 ;
END UNITS
MANUFACTURINGGRID 0.005 ;
SITE core
  CLASS CORE ; SIZE 0.5 BY 2 ;
END core
MACRO RAM
  CLASS BLOCK ;
  SIZE 10 BY 4 ;
  SYMMETRY X Y ;
  PIN D DIRECTION INPUT ; PORT LAYER M1 ; RECT 0 1 0.1 1.1 ; END END D
  PIN Q DIRECTION OUTPUT ; PORT LAYER M1 ; RECT 9.9 1 10 1.1 ; END END Q
END RAM
MACRO INV
  CLASS CORE ;
  SIZE 1.5 BY 2 ;
  SITE core ;
  PIN A DIRECTION INPUT ; PORT LAYER M1 ; RECT 0.1 1.3 0.2 1.4 ; END END A
  PIN Z DIRECTION OUTPUT ; PORT LAYER M1 ; RECT 1.3 0.5 1.4 0.6 ; END END Z
END INV
END LIBRARY
"""


def chain_def() -> str:
    """A RAM, a port and a chain of inverters between them, of which one is fixed, one placed, the others nowhere."""
    cells = [f"- u\\[{number}\\] INV ;" for number in range(CELLS)]
    cells[3] = "- u\\[3\\] INV + FIXED ( 3000 2000 ) FS ;"
    cells[4] = "- u\\[4\\] INV + SOURCE TIMING + PLACED ( 4000 4000 ) N ;"
    rows = [
        f"ROW r{number} core 0 {2000 * number} {'FS' if number % 2 else 'N'} DO 80 BY 1 STEP 500 0 ;"
        for number in range(20)
    ]
    nets = ["- first ( PIN in ) ( u\\[0\\] A ) ;", f"- last ( u\\[{CELLS - 1}\\] Z ) ( ram D ) ;"]
    nets += [f"- n{number} ( u\\[{number}\\] Z ) ( u\\[{number + 1}\\] A ) ;" for number in range(CELLS - 1)]
    return "\n".join(
        ["VERSION 5.8 ;", "DESIGN chain ;", "UNITS DISTANCE MICRONS 1000 ;", "DIEAREA ( 0 0 ) ( 40000 40000 ) ;", *rows,
         f"COMPONENTS {CELLS + 1} ;", "- ram RAM + PLACED ( 20000 20000 ) N ;", *cells, "END COMPONENTS",
         "PINS 1 ;", "- in + NET first + DIRECTION INPUT + LAYER M1 ( 0 0 ) ( 10 10 ) + FIXED ( 0 5000 ) N ;",
         "END PINS", f"NETS {len(nets)} ;", *nets, "END NETS", "END DESIGN", ""]
    )  # fmt: skip


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    (tmp_path / "chain.lef").write_text(LEF)
    (tmp_path / "chain.def").write_text(chain_def())
    return [tmp_path / "chain.lef", tmp_path / "chain.def"]


def test_a_def_holds_the_cells_and_is_measured(files: list[Path], tmp_path: Path) -> None:
    flat = load_design(files)
    told = write_with_cells(tmp_path / "new.def", flat, flat.start, files)
    back = load_design([files[0], tmp_path / "new.def"])
    assert told.hpwl_after_um == hpwl(back, back.start).hpwl_um
    assert told.hpwl_before_um == hpwl(flat, flat.start).hpwl_um
    assert told.overflow < 0.5
    parts, before = read_def(tmp_path / "new.def").components, read_def(files[1]).components
    assert parts.name == before.name
    number = {name: at for at, name in enumerate(parts.name)}
    fixed, ram = number["u\\[3\\]"], number["ram"]
    assert (parts.x[fixed], parts.y[fixed], parts.status[fixed]) == (3000, 2000, before.status[fixed])
    assert (parts.x[ram], parts.y[ram]) == (20000, 20000)
    cells = [at for at in range(len(parts.name)) if at not in (fixed, ram)]
    assert {int(status) for status in parts.status[cells]} == {int(before.status[number["u\\[4\\]"]])}  # PLACED
    assert not np.any(parts.x[cells] % 500)
    assert not np.any(parts.y[cells] % 2000)
    old, new = chain_def().splitlines(), (tmp_path / "new.def").read_text().splitlines()
    assert [line for line in new if " INV" not in line and " RAM" not in line] == [
        line for line in old if " INV" not in line and " RAM" not in line
    ]
    assert any(line.startswith("- u\\[4\\] INV + SOURCE TIMING + PLACED (") for line in new)


def test_the_command_places_the_cells_of_a_clustered_design(
    files: list[Path], tmp_path: Path, partitioner: None
) -> None:
    out, runner = tmp_path / "out", CliRunner()
    done = runner.invoke(cli, ["cluster", *map(str, files), "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    words = ["export", str(out), "--plc", str(out / "initial.plc"), "--out", str(tmp_path / "new.def"), "--json"]
    given = ["--def", str(files[1]), "--lef", str(files[0]), "--cells"]
    done = runner.invoke(cli, [*words, *given])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)["cell_placement"]
    back = load_design([files[0], tmp_path / "new.def"])
    assert told["hpwl_after_um"] == hpwl(back, back.start).hpwl_um
    flat, made = load_design(files), load_design([out])
    groups = read_groups(out, flat, made)
    assert groups is not None
    start = flat_placement(flat, made, made.start, groups)
    assert told["hpwl_before_um"] == hpwl(flat, start).hpwl_um
    first = (tmp_path / "new.def").read_bytes()
    assert runner.invoke(cli, [*words, *given]).exit_code == 0
    assert (tmp_path / "new.def").read_bytes() == first
    done = runner.invoke(cli, words)
    assert done.exit_code == 2
    assert "--def FILE" in done.output
    done = runner.invoke(cli, [*words, "--def", str(files[1]), "--flat", str(files[0])])
    assert done.exit_code == 2
    assert "--cells places" in done.output


def test_groups_of_another_design_are_not_taken(files: list[Path], tmp_path: Path, partitioner: None) -> None:
    flat = load_design(files)
    design, made = clustered(flat, tmp_path / "clustered")
    assert GROUPS not in {path.name for path in made}
    groups = read_groups(tmp_path / "clustered", flat, design)
    assert groups is not None
    cell = flat.netlist.nodes_of(NodeKind.CELL)[0]
    assert design.netlist.node_kind[groups[cell]] == NodeKind.SOFT_MACRO
    assert read_groups(tmp_path / "clustered", design, design) is None
    assert read_groups(tmp_path, flat, design) is None
    (tmp_path / "clustered" / GROUPS).write_bytes(b"no array")
    assert read_groups(tmp_path / "clustered", flat, design) is None


def test_designs_without_cells_or_files_to_write_are_refused(files: list[Path], tmp_path: Path) -> None:
    flat = load_design(files)
    assert cells_refusal(flat, files) is None
    assert "neither is among its files" in str(cells_refusal(flat, files[:1]))
    without = load_design(files, require_hard_macros=False).without_start()
    assert cells_refusal(without, files) is None
    (tmp_path / "none.def").write_text(
        "VERSION 5.8 ;\nDESIGN d ;\nUNITS DISTANCE MICRONS 1000 ;\nDIEAREA ( 0 0 ) ( 40000 40000 ) ;\n"
        "COMPONENTS 1 ;\n- ram RAM + PLACED ( 20000 20000 ) N ;\nEND COMPONENTS\nNETS 0 ;\nEND NETS\nEND DESIGN\n"
    )
    bare = [files[0], tmp_path / "none.def"]
    assert "no standard cells" in str(cells_refusal(load_design(bare), bare))
    out = str(tmp_path / "out")
    done = CliRunner().invoke(cli, ["place", *map(str, bare), "--cells", "--seconds", "1", "--out", out])
    assert done.exit_code == 2
    assert "no standard cells" in done.output


SHELF = {
    "t.aux": "RowBasedPlacement : t.nodes t.nets t.pl t.scl\n",
    "t.nodes": "UCLA nodes 1.0\nNumNodes : 42\nNumTerminals : 1\np 1 1 terminal\nM 8 8\n"
    + "".join(f"c{number} 2 1\n" for number in range(40)),
    "t.nets": "UCLA nets 1.0\nNumNets : 41\nNumPins : 82\n"
    + "".join(f"NetDegree : 2 n{n}\n  c{n} O : 0.5 0\n  c{n + 1} I : -0.5 0\n" for n in range(39))
    + "NetDegree : 2 a\n  p O : 0 0\n  c0 I : 0 0\nNetDegree : 2 b\n  c39 O : 0 0\n  M I : 3 3\n",
    "t.pl": "UCLA pl 1.0\np -1 5 : N /FIXED\nM 5 5 : N\n"
    + "".join(f"c{number} 0 0 : N\n" for number in range(40)),
    "t.scl": "UCLA scl 1.0\nNumRows : 20\n"
    + "".join(
        f"CoreRow Horizontal\n  Coordinate : {row}\n  Height : 1\n  Sitewidth : 1\n  Sitespacing : 1\n"
        f"  Siteorient : N\n  SubrowOrigin : 0 NumSites : 20\nEnd\n"
        for row in range(20)
    ),
}  # fmt: skip


def test_a_pl_holds_the_cells_and_is_measured(tmp_path: Path) -> None:
    for name, text in SHELF.items():
        (tmp_path / name).write_text(text)
    files = [tmp_path / name for name in SHELF]
    flat = load_design(files)
    assert flat.netlist.counts()["cells"] == 40
    out = tmp_path / "new"
    out.mkdir()
    told = write_with_cells(out / "t.pl", flat, flat.start, files)
    back = load_design([*(path for path in files if path.suffix not in (".pl", ".aux")), out / "t.pl"])
    assert told.hpwl_after_um == pytest.approx(hpwl(back, back.start).hpwl_um, rel=1e-12)
    cells, macro = back.netlist.nodes_of(NodeKind.CELL), back.netlist.nodes_of(NodeKind.HARD_MACRO)[0]
    assert back.start.x_um[macro] == 9.0
    away_x = np.abs(back.start.x_um[cells] - 9) >= 4 + 1 - 1e-9
    away_y = np.abs(back.start.y_um[cells] - 9) >= 4 + 0.5 - 1e-9
    assert np.all(away_x | away_y)
    assert told.hpwl_after_um < 3 * 40
    (tmp_path / "t.pl").unlink()
    left = [path for path in files if path.suffix not in (".pl", ".aux")]
    assert "no .pl" in str(cells_refusal(flat, left))


@pytest.mark.slow
def test_place_with_cells_writes_them_after_the_macros(files: list[Path], tmp_path: Path, partitioner: None) -> None:
    out = tmp_path / "out"
    words = ["place", *map(str, files), "--cells", "--trials", "300", "--method", "search", "--workers", "1"]
    done = CliRunner().invoke(cli, [*words, "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    report = json.loads(done.output)
    back = load_design([files[0], out / "placement.def.gz"])
    assert report["cell_placement"]["hpwl_after_um"] == hpwl(back, back.start).hpwl_um
    made = load_design([out / "clustered"], out / "placement.plc")
    macro, placed = back.netlist.node_name.index("ram"), made.netlist.node_name.index("ram")
    assert back.start.x_um[macro] == made.start.x_um[placed]
    assert back.start.fixed[macro]
    assert read_def(out / "placement.def.gz").components.status.min() > 0  # none is UNPLACED


@pytest.mark.slow
def test_a_job_places_the_cells_on_request_and_its_entry_says_so(
    files: list[Path], tmp_path: Path, partitioner: None
) -> None:
    design, made = clustered(load_design(files), tmp_path / "clustered")
    job = create_private_job(
        tmp_path / "data", files, name=design.name, method="search", seconds=600, trials=300, seed=0, workers=1,
        clustered=made,
    )  # fmt: skip

    def with_cells(session: Session) -> None:
        session.execute(sa.update(JobRow).where(JobRow.id == job.job_id).values(place_cells=True))

    job.store.database.write(with_cells)
    ran = subprocess.run(
        [sys.executable, "-m", "workers.run", "--job", job.job_id],
        env=dict(job.environment()), capture_output=True, text=True, check=False,
    )  # fmt: skip
    record = job.store.job(job.job_id)
    assert (ran.returncode, record.state) == (0, JobState.DONE), ran.stderr[-3000:]
    best = job.store.placements(job.job_id)[0]
    back = load_design([files[0], best.folder / "placement.def.gz"])
    told = best.provenance["cells"]
    assert told["hpwl_after_um"] == hpwl(back, back.start).hpwl_um
    assert read_def(best.folder / "placement.def.gz").components.status.min() > 0
    assert "def" in best.formats
    assert "warnings" not in best.provenance or not any("cells" in text for text in best.provenance["warnings"])
