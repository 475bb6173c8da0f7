"""Jobs and placements over REST."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient

from backend.core.broker import RUN_JOB, RUN_QUEUE
from backend.core.tables import DesignRow, JobRow
from backend.schemas import JobRead, JobState, PlacementRead
from backend.services import Services

JOBS = "/api/v1/jobs"


def create(client: TestClient, design_id: str, **spec: object) -> dict:
    answer = client.post(JOBS, json={"design_id": design_id, **spec})
    assert answer.status_code == 201, answer.text
    JobRead.model_validate(answer.json())
    return answer.json()


def add_placement(services: Services, job_id: str, costs: dict, cost: float) -> str:
    folder = services.store.new_placement_folder(job_id)
    for name in ("placement.plc", "placement.svg", "placement.png", "placement.json"):
        (folder / name).write_text(f"{name} {cost}")
    formats = ["plc", "svg", "png", "json"]
    return services.store.add_placement(job_id, folder, {**costs, "proxy_cost": cost}, True, [], {"seed": 0}, formats)


def test_create(client: TestClient, services: Services, ready_design, monkeypatch: pytest.MonkeyPatch) -> None:
    sent = []
    monkeypatch.setattr(services.broker, "send", lambda *args, queue: sent.append((*args, queue)) or True)
    answer = client.post(JOBS, json={"design_id": ready_design(), "seconds": 5, "seed": 7, "name": "first"})
    job = answer.json()
    assert (job["state"], job["method"], job["seconds"], job["seed"], job["name"]) == ("queued", "auto", 5, 7, "first")
    assert job["design_name"] == "adder"
    assert answer.headers["location"] == f"{JOBS}/{job['id']}"
    assert sent == [(RUN_JOB, job["id"], RUN_QUEUE)]
    assert client.get(answer.headers["location"]).json() == job


def test_a_budget_of_work(client: TestClient, ready_design) -> None:
    body = {"design_id": ready_design(), "method": "search", "trials": 5000, "from_scratch": True}
    job = client.post(JOBS, json=body).json()
    assert (job["trials"], job["seconds"], job["from_scratch"]) == (5000, 7 * 86400, True)
    limited = client.post(JOBS, json={**body, "seconds": 30}).json()
    assert (limited["trials"], limited["seconds"]) == (5000, 30)
    plain = client.post(JOBS, json={"design_id": body["design_id"]}).json()
    assert (plain["trials"], plain["seconds"], plain["from_scratch"]) == (None, 60, False)
    for method in ("auto", "rl"):
        answer = client.post(JOBS, json={**body, "method": method})
        assert answer.status_code == 422
        assert f"method {method}" in answer.json()["detail"]
        assert "search, analytic, anneal" in answer.json()["detail"]


def with_facts(services: Services, design_id: str, counts: dict[str, int], name: str, text: str) -> None:
    """Gives the design counts of its preview, and a file of this name."""
    (services.settings.data / "designs" / design_id / "files" / name).write_text(text)

    def work(session) -> None:
        row = session.get(DesignRow, design_id)
        row.facts = {"preview": {"counts": counts}}
        row.files = [{"name": name, "stored": name, "bytes": len(text)}]

    services.database.write(work)


def test_cells_are_placed_on_request_where_there_are_any(client: TestClient, services: Services, ready_design) -> None:
    design_id = ready_design()
    body = {"design_id": design_id, "place_cells": True}
    flat = {"cells": 3, "soft_macros": 0}
    cases = (
        ({}, "a.def", "VERSION 5.8 ;\nDESIGN a ;\n", "no standard cells"),
        ({"cells": 3, "soft_macros": 2}, "a.def", "VERSION 5.8 ;\nDESIGN a ;\n", "2 soft macros"),
        (flat, "a.pb.txt", "node {}", "neither is among its files"),
    )
    for counts, name, text, words in cases:
        with_facts(services, design_id, counts, name, text)
        answer = client.post(JOBS, json=body)
        assert answer.status_code == 422
        assert answer.json()["type"].endswith("/no-cells-to-place")
        assert words in answer.json()["detail"]
    with_facts(services, design_id, flat, "a.def", "VERSION 5.8 ;\nDESIGN a ;\n")
    job = client.post(JOBS, json=body).json()
    assert job["place_cells"] is True
    assert services.store.job(job["id"]).place_cells
    assert client.post(JOBS, json={"design_id": design_id}).json()["place_cells"] is False


def test_a_placement_says_what_placing_the_cells_gave(
    client: TestClient, services: Services, ready_design, costs
) -> None:
    job = client.post(JOBS, json={"design_id": ready_design()}).json()["id"]
    placement = add_placement(services, job, costs, 0.5)
    assert client.get(f"/api/v1/placements/{placement}").json()["cells"] is None
    cells = {"hpwl_before_um": 30.0, "hpwl_after_um": 20.5, "overflow": 0.1, "seconds": 1.5}
    services.store.set_provenance(placement, {"seed": 0, "cells": cells})
    assert client.get(f"/api/v1/placements/{placement}").json()["cells"] == {**cells, "warnings": []}


@pytest.mark.parametrize(("state", "words"), [("parsing", "still being read"), ("failed", "a.pb.txt:3: broken")])
def test_only_on_ready_designs(client: TestClient, ready_design, state: str, words: str) -> None:
    design_id = ready_design(state=state, error="a.pb.txt:3: broken" if state == "failed" else None)
    answer = client.post(JOBS, json={"design_id": design_id})
    assert answer.status_code == 409
    assert answer.json()["type"].endswith("design-not-ready")
    assert words in answer.json()["detail"]


def test_idempotency_key(client: TestClient, ready_design) -> None:
    design_id = ready_design()
    body = {"design_id": design_id, "seed": 1}
    headers = {"Idempotency-Key": "a-key-of-mine"}
    first = client.post(JOBS, json=body, headers=headers)
    again = client.post(JOBS, json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["id"] == again.json()["id"]
    other = client.post(JOBS, json={**body, "seed": 2}, headers=headers)
    assert other.status_code == 409
    assert len(client.get(JOBS).json()["items"]) == 1


def test_lists(client: TestClient, ready_design) -> None:
    one, two = ready_design(), ready_design()
    ids = [create(client, design)["id"] for design in (one, two, one)]
    client.delete(f"{JOBS}/{ids[0]}")
    assert [job["id"] for job in client.get(JOBS).json()["items"]] == ids[::-1]
    assert [job["id"] for job in client.get(JOBS, params={"design_id": one}).json()["items"]] == [ids[2], ids[0]]
    assert [job["id"] for job in client.get(JOBS, params={"state": "cancelled"}).json()["items"]] == [ids[0]]
    page = client.get(JOBS, params={"limit": 1, "design_id": one}).json()
    following = client.get(JOBS, params={"limit": 1, "design_id": one, "cursor": page["next_cursor"]}).json()
    assert [page["items"][0]["id"], following["items"][0]["id"]] == [ids[2], ids[0]]
    assert following["next_cursor"] is None


def test_cancel_of_a_waiting_job_is_immediate(client: TestClient, services: Services, ready_design) -> None:
    job = create(client, ready_design())
    cancelled = client.delete(f"{JOBS}/{job['id']}")
    assert cancelled.status_code == 200
    assert (cancelled.json()["state"], cancelled.json()["cause"]) == ("cancelled", "cancelled by the user")
    assert cancelled.json()["finished_at"]
    assert client.delete(f"{JOBS}/{job['id']}").json() == cancelled.json()
    assert not services.store.claim(job["id"], "a", "h", 1)


def test_cancel_of_a_running_job_asks_its_run(client: TestClient, services: Services, ready_design) -> None:
    job = create(client, ready_design())
    services.store.claim(job["id"], "a", "h", 1)
    answer = client.delete(f"{JOBS}/{job['id']}").json()
    assert (answer["state"], answer["stage"]) == ("running", "cancelling")
    assert services.store.heartbeat(job["id"], "a", progress=0.1, eta_s=1, stage="x").cancel_requested
    services.store.finish(job["id"], "a", JobState.CANCELLED, "cancelled by the user")
    assert client.get(f"{JOBS}/{job['id']}").json()["state"] == "cancelled"


def test_progress_and_costs(client: TestClient, services: Services, ready_design, costs: dict) -> None:
    job_id = create(client, ready_design())["id"]
    services.store.claim(job_id, "a", "h", 1)
    services.store.set_start_costs(job_id, {**costs, "proxy_cost": 2.0})
    best = add_placement(services, job_id, costs, 1.5)
    services.store.heartbeat(job_id, "a", progress=0.25, eta_s=45.0, stage="placing")
    job = client.get(f"{JOBS}/{job_id}").json()
    assert (job["state"], job["stage"], job["progress"], job["eta_s"], job["attempt"]) == (
        "running",
        "placing",
        0.25,
        45,
        1,
    )
    assert (job["start_costs"]["proxy_cost"], job["best_costs"]["proxy_cost"]) == (2.0, 1.5)
    assert job["best_placement_id"] == best


def test_metrics(client: TestClient, services: Services, ready_design) -> None:
    job_id = create(client, ready_design())["id"]
    for time_s in (3.0, 1.0, 2.0):
        services.store.add_metrics(job_id, time_s, {"best_proxy_cost": 1 / time_s})
    services.store.flush()
    points = client.get(f"{JOBS}/{job_id}/metrics").json()["points"]
    assert [point["time_s"] for point in points] == [1, 2, 3]
    assert points[0]["values"] == {"best_proxy_cost": 1.0}
    later = client.get(f"{JOBS}/{job_id}/metrics", params={"after_s": 1.5}).json()["points"]
    assert [point["time_s"] for point in later] == [2, 3]


def test_placements_and_files(client: TestClient, services: Services, ready_design, costs: dict) -> None:
    job_id = create(client, ready_design())["id"]
    worse, better = add_placement(services, job_id, costs, 2.0), add_placement(services, job_id, costs, 1.0)
    page = client.get(f"{JOBS}/{job_id}/placements").json()
    assert [(item["id"], item["rank"]) for item in page["items"]] == [(better, 1), (worse, 2)]
    one = client.get(f"/api/v1/placements/{worse}").json()
    assert one == page["items"][1]
    PlacementRead.model_validate(one)
    expected = {
        "plc": "text/plain; charset=utf-8",
        "svg": "image/svg+xml",
        "png": "image/png",
        "json": "application/json",
    }
    for kind, media_type in expected.items():
        answer = client.get(f"/api/v1/placements/{better}/files/{kind}")
        assert answer.status_code == 200
        assert answer.headers["content-type"] == media_type
        assert answer.text == f"placement.{kind} 1.0"
        assert answer.headers["content-disposition"] == f'attachment; filename="adder-1.0000-{better[:6]}.{kind}"'
        assert "sandbox" in answer.headers["content-security-policy"]


def test_files_that_are_not_there(client: TestClient, services: Services, ready_design, costs: dict) -> None:
    job_id = create(client, ready_design())["id"]
    placement = add_placement(services, job_id, costs, 1.0)
    early = client.get(f"/api/v1/placements/{placement}/files/pb")
    assert early.status_code == 409
    assert early.json()["type"].endswith("file-not-ready")
    for kind in ("gds", "def", "tcl", "pl", "exe", "..%2Fplacement.plc"):
        answer = client.get(f"/api/v1/placements/{placement}/files/{kind}")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
    assert "plc, svg, png, json" in client.get(f"/api/v1/placements/{placement}/files/gds").json()["detail"]
    folder = services.store.placements(job_id)[0].folder
    services.store.set_formats(placement, ["plc", "svg", "png", "json", "pb"])
    (folder / "placement.pb.txt.gz").write_bytes(b"netlist")
    answer = client.get(f"/api/v1/placements/{placement}/files/pb")
    assert answer.content == b"netlist"
    assert answer.headers["content-disposition"].endswith('.pb.txt.gz"')
    Path(folder / "placement.svg").unlink()
    assert client.get(f"/api/v1/placements/{placement}/files/svg").json()["type"].endswith("file-lost")


@pytest.mark.parametrize(
    ("name", "text", "own"),
    [
        ("top.def", "VERSION 5.8 ;\nDESIGN top ;\n", ("def", "tcl")),
        ("top.nodes", "UCLA nodes 1.0\nNumNodes : 0\n", ("pl",)),
    ],
)
def test_formats_of_a_design_s_own_come_when_the_job_ends(
    client: TestClient,
    services: Services,
    ready_design: Callable[[], str],
    costs: dict,
    name: str,
    text: str,
    own: tuple[str, ...],
) -> None:
    design = ready_design()
    (services.settings.data / "designs" / design / "files" / f"file-01{Path(name).suffix}").write_text(text)
    placement = add_placement(services, create(client, design)["id"], costs, 1.0)
    for kind in ("def", "tcl", "pl"):
        answer = client.get(f"/api/v1/placements/{placement}/files/{kind}")
        assert answer.status_code == (409 if kind in own else 404)


def test_health_counts_waiting_jobs(client: TestClient, services: Services, ready_design) -> None:
    from backend.jobs.recovery import worker_heartbeat

    job_id = create(client, ready_design())["id"]
    then = datetime.now(UTC) - timedelta(seconds=100)
    services.database.write(
        lambda session: session.execute(sa.update(JobRow).where(JobRow.id == job_id).values(enqueued_at=then))
    )
    health = client.get("/api/v1/healthz").json()
    assert (health["status"], health["worker"], health["queued_jobs"]) == ("degraded", "unknown", 1)
    assert 99 < health["oldest_queued_s"] < 200
    worker_heartbeat(services.store, "w", "h", 1, {"io": 1})
    health = client.get("/api/v1/healthz").json()
    assert (health["status"], health["worker"]) == ("ok", "ok")


def test_polls_share_queries_and_never_see_the_past(services: Services, ready_design, monkeypatch) -> None:
    """What is asked for while a query runs is answered by the next one; no answer is older than its question."""
    import asyncio

    from backend.core.errors import NotFoundError
    from backend.jobs import polls, service
    from backend.schemas import JobCreate

    spec = JobCreate(design_id=ready_design())
    job, _ = service.create(services.database, services.store, services.broker, spec, None)
    batches: list[list[str]] = []
    read = polls.read_jobs

    def counted(database: object, job_ids: list[str]) -> dict[str, bytes]:
        batches.append(list(job_ids))
        return read(services.database, job_ids)

    monkeypatch.setattr(polls, "read_jobs", counted)

    async def scenario() -> None:
        reader = polls.JobPolls(services.database)
        answers = await asyncio.gather(*(reader.get(job.id) for _ in range(200)))
        assert {JobRead.model_validate_json(answer).state for answer in answers} == {"queued"}
        assert len(batches) <= 2
        early = asyncio.create_task(reader.get(job.id))
        await asyncio.sleep(0)
        service.cancel(services.database, services.store, job.id)
        late = JobRead.model_validate_json(await reader.get(job.id))
        assert late.state == "cancelled"
        await early
        gone = asyncio.create_task(reader.get(job.id))
        await asyncio.sleep(0)
        other = asyncio.create_task(reader.get(job.id))
        await asyncio.sleep(0)
        gone.cancel()
        assert await other
        with pytest.raises(NotFoundError):
            await reader.get("0" * 32)

    asyncio.run(scenario())
