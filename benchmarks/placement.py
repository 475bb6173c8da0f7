"""What placement makes of real designs against its targets, and how fast the costs are.

    PLACEWRIGHT_BENCHMARKS=… placewright bench placement [--designs ibm01 …] [--seconds 60] [--workers 1] [--seed 0]
        [--method analytic] [--starts given scratch] [--cpu] [--resume] [--out FILE]

Each design from its `initial.plc` and from scratch (the positions of all that may move ignored). One worker: a
portfolio of one member in this process, in CPU seconds, so that other work on the machine does not matter; reading and
legalising come on top. More workers: the job of `placewright place`, in seconds of the clock, all in; with --cpu the
same portfolio, each member with so many CPU seconds, waiting for the others where they exchange. Every result is
written, read back, checked and scored by `placewright check` in a process of its own, and has no overlap in float32 or
float64. Full evaluation and trial (a random step of a random macro, exact, dropped again) are measured at the start.

Prints tables; writes each row as soon as it is measured to benchmarks/results/placement_<seconds>s_<workers>w.json
(…_cpu.json). A row replaces the one of the same design and start that was there; --resume leaves out what is there from
the same seconds, workers, method, seed and engine (the state of its folders in git).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parent.parent
# Run as a script, this file would hide the package that it measures.
sys.path[:] = [str(ROOT), *(entry for entry in sys.path if Path(entry or ".").resolve() != ROOT / "benchmarks")]
if TYPE_CHECKING:
    from workers.exchange import Standing

IBM = ("ibm01", "ibm02", "ibm03", "ibm04", "ibm07", "ibm08", "ibm10", "ibm11", "ibm13")
DESIGNS = (*IBM, "ariane133_ng45", "ariane_ct")
STARTS = ("given", "scratch")
ENGINE = ("analytic", "cost", "env", "legal", "search")  # what a row depends on
SAME = ("seconds", "workers", "method", "seed", "engine")
# CPU seconds 60, one thread, from the same starts: a public optimiser of the exact cost (benchmark folder's README).
YARDSTICK = dict(
    zip(DESIGNS, (0.856, 1.051, 1.006, 1.059, 1.065, 1.096, 1.153, 0.966, 1.049, 0.6452, 0.878), strict=True)
)
# (seconds, workers) -> name -> yardstick, reach, beyond
TARGETS: dict[tuple[float, int], dict[str, tuple[float | None, float, float]]] = {
    (60.0, 1): {
        "mean of ibm": (1.033, 0.99, 0.95),
        "ariane133_ng45": (0.6452, 0.640, 0.625),
        "ariane_ct": (0.878, 0.85, 0.80),
    },
    (600.0, 2): {"mean of ibm": (None, 0.94, 0.90)},
}
SCRATCH_REACH, SCRATCH_BEYOND = 1.03, 1.0  # from scratch against from the given start, mean of ratios
# name -> (evaluation, trial) in ms
SPEED_TARGETS = {"ibm01": (0.6, 0.03), "ibm10": (3.0, 0.05), "ariane133_ng45": (0.8, None)}
LINE = "{:28}{:>12}{:>10}{:>10}{:>12}{:>12}"


def evaluation_ms(design: Any, placement: Any) -> float:
    """Best of 20 full evaluations, in ms."""
    from placement.cost import evaluate

    times = []
    for _ in range(20):
        begin = time.process_time()
        evaluate(design, placement)
        times.append(time.process_time() - begin)
    return 1e3 * min(times)


def trial_us(design: Any, placement: Any, trials: int = 20_000) -> float:
    """CPU time of one exact trial that is dropped, in µs: best of 3 means."""
    from placement.cost.incremental import new_state
    from placement.cost.problem import problem_of
    from placement.search.board import new_board
    from placement.search.loop import time_trials

    p = problem_of(design)
    s = new_state(p, placement)
    board = new_board(design, p, s, 0)
    time_trials(p, s, board, 10)
    times = []
    for _ in range(3):
        begin = time.process_time()
        time_trials(p, s, board, trials)
        times.append((time.process_time() - begin) / trials)
    return 1e6 * min(times)


def measure_speed(folder: Path) -> dict[str, Any]:
    """Evaluation and trial of one design at its start."""
    from netlists.load import load_design
    from workers.start import legal_start

    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    start = legal_start(design).placement
    return {"evaluation_ms": evaluation_ms(design, start), "trial_us": trial_us(design, start)}


Context = multiprocessing.get_context("spawn")
fallen = None  # Event of the members' processes: one of them failed, nobody waits for it


def share(event: Any) -> None:
    global fallen
    fallen = event


def search_member(
    folder: Path, out: Path, start: str, seconds: float, seed: int, method: str, member: int, members: int
) -> tuple[Standing, float]:
    """One member of a portfolio in this process, in CPU seconds. Returns what it holds and the seconds it used."""
    from netlists.load import load_design
    from placement.search import improve
    from placement.search.portfolio import GLOBAL_SECONDS, plan
    from workers.exchange import Exchange
    from workers.optimiser import Allowance, Optimiser
    from workers.start import legal_start

    try:
        design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
        if start == "scratch":
            design = design.without_start()
        first = legal_start(design)
        improve(design, first.placement, trials=10)  # compiles
        exchange = Exchange(out / "exchange", design)
        rounds = plan(method, member=member, seed=seed, with_global=seconds >= GLOBAL_SECONDS, seconds=seconds)
        begin_s = time.process_time()
        until_s = begin_s + seconds
        Optimiser(
            design=design,
            rounds=rounds,
            member=member,
            members=members,
            allowance=Allowance(begin_s=begin_s, until_s=until_s, clock=time.process_time, patience_s=float("inf")),
            exchange=exchange,
            take_episode=lambda: None,
            report=lambda *_: None,
            should_stop=lambda: fallen is not None and fallen.is_set(),
        ).run(first)
        return exchange.newest(member, len(rounds)) or first, time.process_time() - begin_s
    except BaseException:
        if fallen is not None:
            fallen.set()
        raise


def place_here(
    folder: Path, out: Path, start: str, seconds: float, seed: int, method: str, workers: int
) -> dict[str, Any]:
    """A portfolio in CPU seconds, one member in this process, more in their own. Writes `placement.plc` into `out`."""
    from netlists.circuit_training.writer import write_plc
    from netlists.load import load_design
    from placement.cost import evaluate
    from workers.start import legal_start

    words = (folder, out, start, seconds, seed, method)
    if workers == 1:
        held = [search_member(*words, 0, 1)]
    else:
        event = Context.Event()
        with ProcessPoolExecutor(workers, mp_context=Context, initializer=share, initargs=(event,)) as pool:
            members = [pool.submit(search_member, *words, member, workers) for member in range(workers)]
            held = [member.result() for member in members]
    design = load_design([folder / "netlist.pb.txt.gz"], folder / "initial.plc")
    given = evaluate(design, design.start).proxy_cost
    if start == "scratch":
        design = design.without_start()
    used_s = max(seconds for _, seconds in held)
    best, _ = min(held, key=lambda result: result[0].cost)
    write_plc(out / "placement.plc", design, best.placement, evaluate(design, best.placement).as_dict())
    return {"given": given, "start": legal_start(design).cost, "seconds_used": used_s, "stages": list(best.stages)}


def place_job(
    folder: Path, out: Path, start: str, seconds: float, seed: int, method: str, workers: int
) -> dict[str, Any]:
    """The product's own command. Writes `placement.plc` into `out`. Raises CalledProcessError if it fails."""
    words = [sys.executable, "-m", "workers.cli.main", "place", str(folder), "--json", "--out", str(out)]
    words += ["--method", method, "--seconds", str(seconds), "--workers", str(workers), "--seed", str(seed)]
    words += ["--from-scratch"] if start == "scratch" else []
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return {
        "start": report["start_proxy_cost"],
        "seconds_used": report["seconds"],
        "stages": report["stages"],
    }


def measure(folder: Path, start: str, options: argparse.Namespace) -> dict[str, Any]:
    """One row: a design from one start. Raises IllegalResultError if the written file is not legal."""
    from workers.results import IllegalResultError, check_independently

    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        place = place_here if options.cpu else place_job
        row = place(folder, out, start, options.seconds, options.seed, options.method, options.workers)
        plc = out / "placement.plc"
        report = check_independently([folder / "netlist.pb.txt.gz"], plc, folder / "initial.plc")
    if report["overlaps_in_float32"]:
        raise IllegalResultError(f"{folder.name}: {report['overlaps_in_float32']} overlaps in float32")
    costs = {name: value for name, value in report.items() if name.startswith(("proxy", "wire", "dens", "cong"))}
    return {"design": folder.name, "from": start, "result": costs, "legal": report["legal"], **row}


def head(options: argparse.Namespace) -> dict[str, Any]:
    """What a row must agree in to be kept by --resume (SAME), and what else to know of it."""

    from benchmarks._about import about, revision

    return about(options.seed) | {
        "seconds": options.seconds,
        "workers": options.workers,
        "method": options.method,
        "engine": "-".join(revision(f"HEAD:placement/{part}")[:10] for part in ENGINE),
    }


def show(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """The tables, of what has been measured."""
    costs = {(row["design"], row["from"]): row["result"]["proxy_cost"] for row in rows if "result" in row}
    unit = ("CPU s" if options.cpu else "s") + (f", {options.workers} workers" if options.workers > 1 else "")
    print(f"\nproxy cost after {options.seconds:g} {unit}, method {options.method}, seed {options.seed}")
    print(LINE.format("", "yardstick", "reach", "beyond", "measured", "scratch"))
    targets = TARGETS.get((options.seconds, options.workers), {})

    def line(name: str, label: str, values: list[float | None], yardstick: float | None) -> None:
        known, reach, beyond = targets.get(name, (yardstick, None, None))
        cells = [f"{value:.4f}" if value is not None else "–" for value in (known, reach, beyond, *values)]
        print(LINE.format(label, *cells))

    for name in options.designs:
        values = [costs.get((name, start)) for start in STARTS]
        line(name, name, values, YARDSTICK.get(name) if options.seconds == 60 and options.workers == 1 else None)
    ibm: list[float | None] = []
    for start in STARTS:
        found = [costs[name, start] for name in IBM if (name, start) in costs]
        ibm.append(mean(found) if found else None)
    count = max(sum((name, start) in costs for name in IBM) for start in STARTS)
    line("mean of ibm" if count == len(IBM) else "", f"mean of {count} ibm designs", ibm, None)
    ratios = [
        costs[n, "scratch"] / costs[n, "given"] for n in options.designs if {(n, s) for s in STARTS} <= set(costs)
    ]
    if ratios:
        label = f"scratch / given, {len(ratios)} designs"
        bounds = (f"{SCRATCH_REACH:.4f}", f"{SCRATCH_BEYOND:.4f}", f"{mean(ratios):.4f}", "")
        print(LINE.format(label, "–", *bounds))
    speeds = [row for row in rows if "speed" in row]
    if speeds:
        print(f"\n{'':28}{'evaluation ms':>16}{'target':>10}{'trial ms':>12}{'target':>10}")
    for row in speeds:
        evaluation, trial = SPEED_TARGETS.get(row["design"], (None, None))
        cells = [f"≤ {value}" if value is not None else "–" for value in (evaluation, trial)]
        now = row["speed"]["evaluation_ms"], row["speed"]["trial_us"] / 1e3
        print(f"{row['design']:28}{now[0]:16.2f}{cells[0]:>10}{now[1]:12.4f}{cells[1]:>10}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", nargs="*", default=DESIGNS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--method", choices=("search", "analytic", "anneal", "auto", "rl"), default="analytic")
    parser.add_argument("--starts", nargs="*", choices=STARTS, default=STARTS)
    parser.add_argument("--resume", action="store_true", help="keep rows of the same settings and engine")
    parser.add_argument("--cpu", action="store_true", help="CPU seconds of each worker; always so with one")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    root = os.environ.get("PLACEWRIGHT_BENCHMARKS", "")
    folder = Path(root) / "circuit_training"
    if not folder.is_dir():
        raise SystemExit("PLACEWRIGHT_BENCHMARKS does not name the folder of benchmark designs")
    options.cpu |= options.workers == 1
    if options.cpu and options.method in ("auto", "rl"):
        raise SystemExit(f"method {options.method} needs the processes of a job: give --workers 2 or more, no --cpu")
    name = f"placement_{options.seconds:g}s_{options.workers}w{'_cpu' if options.cpu and options.workers > 1 else ''}"
    out = options.out or ROOT / "benchmarks" / "results" / f"{name}.json"
    settings = head(options)
    older: list[dict[str, Any]] = json.loads(out.read_text())["rows"] if out.exists() else []
    same = [row for row in older if all(row.get(key) == settings[key] for key in SAME)]
    rows = same if options.resume else []

    def place_in_table(row: dict[str, Any]) -> tuple[str, str]:
        return row["design"], row.get("from", "speed")

    def keep(row: dict[str, Any]) -> None:
        rows.append({**row, **settings, "load_average": os.getloadavg()[0]})
        new = {place_in_table(row) for row in rows}
        kept = [row for row in older if place_in_table(row) not in new]  # of other commands or commits, until replaced
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps({"rows": [*kept, *rows]}, indent=1) + "\n")

    for name in options.designs:
        if not any(row["design"] == name and "speed" in row for row in rows):
            keep({"design": name, "speed": measure_speed(folder / name)})
        for start in options.starts:
            if any(row["design"] == name and row.get("from") == start for row in rows):
                continue
            row = measure(folder / name, start, options)
            keep(row)
            cost, used_s = row["result"]["proxy_cost"], row["seconds_used"]
            print(f"{name:18}{start:9}{row['start']:9.4f} → {cost:.4f} in {used_s:.1f} s", flush=True)
    show(rows, options)


if __name__ == "__main__":
    main()
