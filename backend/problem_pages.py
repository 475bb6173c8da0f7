"""The kinds of problems: what each means and what to do about it, and the page at the address that `type` names.

One catalogue: the table of docs/rest.md has the same kinds, statuses and meanings (a test compares them), and the pages
under /docs/problems/ are made from it. Knows nothing of where the problems are raised.
"""

from __future__ import annotations

import html
import http
from typing import NamedTuple

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from backend.core.errors import PROBLEM_PAGES, NotFoundError


class Kind(NamedTuple):
    status: int
    meaning: str
    remedy: str


LOOK_IT_UP = "Look the id up in the list; what was deleted does not come back."
KINDS = {
    "bad-constraints": Kind(
        422,
        "the design cannot have these constraints; key, value and what is allowed are named",
        "Correct the key that `detail` names (docs/constraints.md) and send the job again.",
    ),
    "bad-cursor": Kind(422, "`cursor` is not from this service", "Send the `next_cursor` of the last page, or none."),
    "bad-multipart": Kind(
        400, "the multipart body is broken or ends too soon", "Send the upload again; let a library form the body."
    ),
    "bad-name": Kind(422, "`name` is too long", "Send a shorter name; `detail` says how long it may be."),
    "bad-option": Kind(
        422,
        "an option of reading has a value that it cannot have; both are named",
        "Correct the form field that `detail` names, or leave it out.",
    ),
    "bad-topology": Kind(
        422, "the numbers leave nothing to run, or exceed a limit, which is named", "Send numbers within the limits."
    ),
    "body-too-large": Kind(
        413, "over the limit of bytes, which is named", "Pack the files with gzip, or have MAX_UPLOAD_BYTES raised."
    ),
    "database-down": Kind(503, "try again in a moment", "Wait as long as `Retry-After` says and send it again."),
    "design-in-use": Kind(
        409, "cancel the jobs named first", "Cancel the jobs that `detail` names, then delete again."
    ),
    "design-not-found": Kind(404, "no such design", LOOK_IT_UP),
    "design-not-ready": Kind(
        409,
        "its files are still being read, or could not be used",
        "Ask for the design until its state is `ready`; if it is `failed`, its `error` says what to correct.",
    ),
    "disk-full": Kind(507, "no room for the upload", "Delete designs that are no longer needed, or add disk space."),
    "fault": Kind(500, "a fault of the service; its log says more", "Report it, with the lines of the service's log."),
    "file-lost": Kind(404, "the file was removed from the disk", "Restore it from a backup, or run the job again."),
    "file-not-ready": Kind(409, "the format is written when the job ends", "Wait until the job's state is final."),
    "format-not-available": Kind(
        404, "the formats that there are, are named", "Ask for one of the placement's `formats`."
    ),
    "idempotency-key-reused": Kind(409, "the key made another job", "Use a new key for each new job."),
    "infeasible-constraints": Kind(
        422,
        "no placement of the design can meet these constraints; the bound that is broken comes with its numbers",
        "Loosen the constraint that `detail` names: smaller halos or spacing, a larger region (docs/constraints.md).",
    ),
    "invalid-request": Kind(
        422, "fields, values and what is allowed", "Correct the fields that `errors` lists and send it again."
    ),
    "job-does-not-learn": Kind(
        409, "the job's method has no topology", "Start a job of method auto or rl to have actors and learners."
    ),
    "job-not-found": Kind(404, "no such job", LOOK_IT_UP),
    "job-not-running": Kind(409, "the job has no roles yet", "Wait until its state is `running`."),
    "job-over": Kind(409, "the job has ended", "Start another job; one that is over has no processes."),
    "method-not-allowed": Kind(
        405, "the address is right, the method is not", "Use a method that /api/v1/openapi.json lists for the address."
    ),
    "no-cells-to-place": Kind(
        422,
        "the design has no standard cells that a job could place, or no file to write them into",
        "Leave `place_cells` out, or upload the flat design: LEF and DEF, or Bookshelf files (docs/cells.md).",
    ),
    "no-files": Kind(422, "the form holds no file", "Send at least one part with a file name, as field `files`."),
    "no-such-route": Kind(
        404, "there is nothing at this address", "Compare the address with /api/v1/openapi.json, which lists them all."
    ),
    "not-multipart": Kind(
        415, "uploads are multipart/form-data", "Send the files as a form, as `curl -F files=@NAME` does."
    ),
    "other-origin": Kind(
        403,
        "a browser session used from another site's page",
        "Use the service's own pages, or a token in place of the session.",
    ),
    "placement-not-found": Kind(
        404,
        "no such placement, or it was pushed out of the leaderboard",
        "Ask for the job's placements; those listed are kept.",
    ),
    "role-not-found": Kind(
        404, "no living role matches", "Look the roles up in the job's topology; `alive` says which live."
    ),
    "too-many-files": Kind(
        413, "over the limit of files, which is named", "Join the parts of the netlist, or have MAX_FILES raised."
    ),
    "too-many-streams": Kind(429, "poll instead", "Close other streams, or ask GET /jobs/{id} now and then."),
    "topology-too-large": Kind(
        422,
        "more processes than one machine may bear",
        "Ask for fewer, or run the service with PLACEWRIGHT_ROLES=queues and workers on other hosts.",
    ),
    "unauthorized": Kind(
        401,
        "token or session missing or not valid",
        "Send `Authorization: Bearer TOKEN`; `placewright token` makes a new token.",
    ),
}
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} – Placewright</title>
<h1>{title}</h1>
<p><code>{kind}</code>, status {status} ({phrase}): {meaning}.</p>
<h2>What to do</h2>
<p>{remedy}</p>
<p><a href="/">Placewright</a></p></html>"""

router = APIRouter(include_in_schema=False)


@router.api_route(PROBLEM_PAGES + "{kind}", methods=["GET", "HEAD"])
def get_problem_page(kind: str) -> HTMLResponse:
    """What a kind of problem means. Needs no token: it says nothing of this service's contents."""
    if kind not in KINDS:
        raise NotFoundError("no-such-route", f"There is no kind of problem called {kind!r}")
    status, meaning, remedy = KINDS[kind]
    title = kind.replace("-", " ").capitalize()
    page = PAGE.format(
        title=title,
        kind=kind,
        status=status,
        phrase=http.HTTPStatus(status).phrase,
        meaning=_text(meaning),
        remedy=_text(remedy),
    )
    return HTMLResponse(page, headers={"Cache-Control": "no-cache"})


def _text(words: str) -> str:
    """Escaped, with what stands between backticks as code."""
    pieces = html.escape(words, quote=False).split("`")
    return "".join(f"<code>{piece}</code>" if i % 2 else piece for i, piece in enumerate(pieces))
