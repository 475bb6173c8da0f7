"""`placewright cluster DESIGN --out FOLDER`: standard cells into soft macros, as the files that `place` takes."""

from __future__ import annotations

from pathlib import Path

import click

from netlists.options import Options
from workers.cli.options import (
    NETLIST_HELP,
    Finite,
    design_report,
    json_option,
    netlist_argument,
    reading_options,
    show,
)


@click.command(
    help="Cluster the standard cells of a flat design into soft macros and write netlist.pb.txt.gz and initial.plc.\n\n"
    + NETLIST_HELP
)
@netlist_argument
@click.option("--groups", type=click.IntRange(1, 10**6), default=None, help="Groups beside those at macros and ports.")
@click.option("--bloat", type=Finite(min=0.01, max=100), default=None, help="Area of a soft macro / its cells'.")
@reading_options
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), default=0, show_default=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder to write to.")
@json_option
def cluster(
    netlist: tuple[Path, ...],
    groups: int | None,
    bloat: float | None,
    reading: Options,
    seed: int,
    out: Path,
    as_json: bool,
) -> None:
    from netlists.clustering import ClusterOptions
    from netlists.clustering import cluster as cluster_design
    from netlists.clustering.files import write_clustered
    from netlists.load import load_design
    from placement.cost import evaluate

    defaults = ClusterOptions()
    options = ClusterOptions(groups=groups or defaults.groups, bloat=bloat or defaults.bloat, seed=seed)
    flat = load_design(list(netlist), options=reading)
    clustering = cluster_design(flat, options)
    design = clustering.design
    files = write_clustered(out, design, clustering.node_of)
    costs = evaluate(design, design.start).as_dict() if design.has_start else {}
    report = {**costs, **design_report(design), "files": [str(path) for path in files]}
    show(report, as_json=as_json, title=f"{design.name}, clustered")
