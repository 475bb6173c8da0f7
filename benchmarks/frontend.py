"""Weight of the browser application, and frames a second of its layout with the large sample.

    python benchmarks/frontend.py [--seconds 4] [--seed 0] [--pages frontend/dist]

Weight: every built file, as a first visit loads them, gzipped. Frames: headless Chromium without a GPU (software
rendering: the lower bound of what users see), 1440 x 900, one pointer dragging the layout a little in every frame; the
page gets the sample's real geometry, the service itself is not involved. Chromium's frame clock ends at 60. `busy_ms`
is the main thread's time from the start of a frame to the end of its drawing calls. Prints a table and writes
benchmarks/results/frontend.json. Needs the built pages (`make setup`) and Debian's chromium.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "frontend" / "dist"
RESULT = ROOT / "benchmarks" / "results" / "frontend.json"
LIMIT_KB = 400  # kB, gzipped
ORIGIN = "http://placewright.test"  # never resolved: every request is answered below
CHROMIUM_ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
MEDIA_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}

# Drags the layout by a few pixels in each frame, to and fro, and notes when frames begin and how long each was busy.
DRAG = """async seconds => {
  const target = document.querySelector('.layout-picture');
  const box = target.getBoundingClientRect();
  const send = (type, dx) => target.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, button: 0, bubbles: true,
    clientX: box.left + box.width / 2 + dx, clientY: box.top + box.height / 2 }));
  const starts = [], busy = [];
  send('pointerdown', 0);
  await new Promise(done => {
    const first = performance.now();
    const frame = now => {
      starts.push(now);
      send('pointermove', 60 * Math.sin(starts.length / 12));
      // Asked for after the layout's own request, so this runs right after its drawing in the next frame.
      requestAnimationFrame(begin => busy.push(performance.now() - begin));
      if (performance.now() - first < seconds * 1000) requestAnimationFrame(frame); else done();
    };
    requestAnimationFrame(frame);
  });
  send('pointerup', 0);
  return { starts, busy };
}"""


def weight(pages: Path) -> dict[str, Any]:
    """Bytes of each built file, gzipped, and their sum."""
    files = [path for path in sorted(pages.rglob("*")) if path.is_file() and path.suffix not in (".gz", ".br")]
    if not files:
        sys.exit(f"nothing is built in {pages}: run `make setup`")
    sizes = {str(path.relative_to(pages)): len(gzip.compress(path.read_bytes(), 9)) for path in files}
    return {"files": sizes, "total_kb": sum(sizes.values()) / 1000}


def answers(seed: int) -> dict[str, str]:
    """What the page asks of the API, for the large sample."""
    from backend.designs.layout import layout_read
    from netlists.samples import make_sample

    design = make_sample("large", seed)
    layout = layout_read(design, design.start)
    read = {
        "id": "large",
        "name": "large sample",
        "state": "ready",
        "error": None,
        "created_at": datetime.now(UTC).isoformat(),
        "files": [],
        "counts": {**design.netlist.counts(), "fixed": 0},
        "canvas": layout.canvas.model_dump(),
    }
    return {"/api/v1/designs/large": json.dumps(read), "/api/v1/designs/large/layout": layout.model_dump_json()}


def frames(pages: Path, seconds: float, seed: int) -> dict[str, dict[str, float]]:
    """Frames a second of panning in several views."""
    from playwright.sync_api import Route, sync_playwright

    chromium = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), None)
    if chromium is None:
        sys.exit("no chromium on this machine")
    api = answers(seed)

    def serve(route: Route) -> None:
        path = route.request.url.removeprefix(ORIGIN).split("?")[0]
        if path in api:
            route.fulfill(body=api[path], content_type="application/json")
            return
        file = pages / path.lstrip("/")
        file = file if file.is_file() else pages / "index.html"
        route.fulfill(body=file.read_bytes(), content_type=MEDIA_TYPES.get(file.suffix, "application/octet-stream"))

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
        page.route("**/*", serve)
        page.goto(f"{ORIGIN}/designs/large")
        page.wait_for_selector(".layout-picture canvas")
        views = {}
        views["all of it"] = drag(page, seconds)
        page.get_by_label("Nets").check()
        views["with nets"] = drag(page, seconds)
        page.get_by_label("Nets").uncheck()
        for _ in range(4):
            page.get_by_role("button", name="Zoom in").click()
        views["zoomed to 500 %"] = drag(page, seconds)
        browser.close()
    return views


def drag(page: Any, seconds: float) -> dict[str, float]:
    measured = page.evaluate(DRAG, seconds)
    starts, busy = measured["starts"], sorted(measured["busy"])
    gaps = sorted(after - before for before, after in itertools.pairwise(starts))
    return {
        "frames_per_s": 1000 * len(gaps) / (starts[-1] - starts[0]),
        "gap_p95_ms": gaps[int(0.95 * (len(gaps) - 1))],
        "busy_median_ms": busy[len(busy) // 2],
        "busy_p95_ms": busy[int(0.95 * (len(busy) - 1))],
    }


def main() -> None:
    from benchmarks._about import about

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=4, help="of panning in each view")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--pages", type=Path, default=DIST, help="folder of the built pages")
    options = parser.parse_args()
    load_before = os.getloadavg()[0]
    size = weight(options.pages)
    views = frames(options.pages, options.seconds, options.seed)
    print(f"{'file':<32}{'kB gzipped':>12}")
    for name, count in size["files"].items():
        print(f"{name:<32}{count / 1000:>12.1f}")
    print(f"{'total (limit ' + str(LIMIT_KB) + ')':<32}{size['total_kb']:>12.1f}\n")
    print(f"{'panning the large sample':<28}{'frames/s':>10}{'gap p95 ms':>12}{'busy ms':>10}{'busy p95':>10}")
    for name, row in views.items():
        print(
            f"{name:<28}{row['frames_per_s']:>10.1f}{row['gap_p95_ms']:>12.1f}"
            f"{row['busy_median_ms']:>10.1f}{row['busy_p95_ms']:>10.1f}"
        )
    result = {
        **about(options.seed),
        "load_before": load_before,
        "rendering": "headless Chromium, software",
        "weight": size,
        "panning": views,
    }
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    main()
