"""Topologies as data: derived, read from JSON, scaled, shared out; and over REST."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from backend.jobs.topology import (
    RoleKey,
    default_topology,
    fair_shares,
    learning_keys,
    queue_counts,
    role_keys,
    scaled,
    shortages,
)
from backend.schemas import CellPatch, TopologySpec
from backend.services import Services

TWO_CELLS = {"cells": [{"name": "east", "actors": 3, "caches": 2}, {"name": "west", "replay_shards": 0}]}


@pytest.mark.parametrize(
    ("method", "workers", "optimisers", "actors"),
    [("auto", 1, 1, 1), ("auto", 2, 1, 1), ("auto", 5, 3, 2), ("rl", 4, 1, 3), ("rl", 1, 1, 1)],
)
def test_workers_are_shared_out(method: str, workers: int, optimisers: int, actors: int) -> None:
    topology = default_topology(method, workers)
    assert topology is not None
    assert (topology.optimisers, topology.learners, topology.start_smaller) == (optimisers, 1, True)
    (cell,) = topology.cells
    assert (cell.name, cell.actors, cell.caches, cell.replay_shards) == ("main", actors, 1, 1)


def test_what_does_not_learn_has_none() -> None:
    assert default_topology("search", 4) is None


def test_keys_queues_and_order() -> None:
    keys = role_keys(TopologySpec.model_validate(TWO_CELLS))
    assert [str(key) for key in keys] == [
        "replay east 0",
        "learner 0",
        "cache east 0",
        "cache west 0",
        "cache east 1",
        "actor east 0",
        "actor west 0",
        "actor east 1",
        "actor east 2",
        "optimiser 0",
    ]
    learning = learning_keys(TopologySpec.model_validate(TWO_CELLS))
    assert queue_counts(learning) == {
        "learner": 1,
        "actor.east": 3,
        "actor.west": 1,
        "cache.east": 2,
        "cache.west": 1,
        "replay.east": 1,
    }
    assert RoleKey("learner", "", 0).queue == "learner"
    assert shortages({"learner": 1, "actor.east": 3}, {"learner": 1, "actor.east": 1}) == ["actor.east: 1 of 3"]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"cells": []}, "at least 1 item"),
        ({"cells": [{"name": "a b"}]}, "match pattern"),
        ({"cells": [{"name": "a"}, {"name": "a"}]}, "cell 'a' is there 2 times"),
        ({"cells": [{"name": "a", "actors": 0}]}, "0 actors in all cells together, allowed are 1 to 4096"),
        ({"cells": [{"name": f"c{n}", "actors": 1024} for n in range(5)]}, "5120 actors"),
        ({"cells": [{"name": "a", "replay_shards": 0}]}, "0 replay shards"),
        ({"cells": [{"name": "a", "caches": 17}]}, "less than or equal to 16"),
        ({"cells": [{"name": "a"}], "learners": 0}, "greater than or equal to 1"),
        ({"cells": [{"name": "a"}], "hosts": 3}, "Extra inputs"),
    ],
)
def test_bad_topologies_are_refused_by_name(wrong: dict, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        TopologySpec.model_validate(wrong)


def test_scaling_changes_what_is_named_only() -> None:
    before = TopologySpec.model_validate(TWO_CELLS)
    after = scaled(before, [CellPatch(name="east", actors=1), CellPatch(name="north", actors=2)])
    counts = {cell.name: (cell.actors, cell.caches, cell.replay_shards) for cell in after.cells}
    assert counts == {"east": (1, 2, 1), "west": (1, 1, 0), "north": (2, 0, 0)}
    with pytest.raises(ValidationError, match="0 replay shards"):
        scaled(before, [CellPatch(name="east", replay_shards=0)])


@given(st.integers(0, 60), st.lists(st.integers(0, 20), max_size=6))
def test_shares_are_fair(slots: int, wanted: list[int]) -> None:
    """Max-min: nothing is left while someone is hungry, and who is hungry has at most one less than anyone."""
    wants = {str(job): count for job, count in enumerate(wanted)}
    shares = fair_shares(slots, wants)
    assert sum(shares.values()) == min(slots, sum(wanted))
    assert all(0 <= shares[job] <= wants[job] for job in wants)
    for job in wants:
        if shares[job] < wants[job]:
            assert all(shares[job] >= other - 1 for other in shares.values())


def test_the_oldest_keeps_what_cannot_be_shared() -> None:
    assert fair_shares(1, {"old": 1, "new": 1}) == {"old": 1, "new": 0}


# --- over REST


@pytest.fixture
def job(client: TestClient, ready_design) -> str:
    answer = client.post("/api/v1/jobs", json={"design_id": ready_design(), "topology": TWO_CELLS})
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


def path(job_id: str, rest: str = "topology") -> str:
    return f"/api/v1/jobs/{job_id}/{rest}"


def test_a_job_has_the_topology_that_it_was_given(client: TestClient, job: str) -> None:
    shown = client.get(path(job)).json()
    assert shown["desired"]["cells"][0] == {"name": "east", "actors": 3, "caches": 2, "replay_shards": 1}
    assert shown["desired"] == client.get(f"/api/v1/jobs/{job}").json()["topology"]
    assert (shown["local"], shown["roles"], shown["waiting_for"]) == (True, [], [])
    assert {"queue": "actor.east", "wanted": 3, "present": 0, "allowed": None} in shown["queues"]


def test_roles_are_shown_with_their_figures(client: TestClient, services: Services, job: str) -> None:
    store = services.store
    assert store.claim(job, "run", "host", 1)
    learner = store.register_role(job, "learner", "", 0, "10.0.0.1:7000", 10, "a")
    actor = store.register_role(job, "actor", "east", 1, None, 11, "b")
    told = {"policy_version": 9, "learner_steps_per_s": 2.5, "rejected_unrolls": 4, "data_wait_share": 0.25}
    store.role_heartbeat(learner, "running", told)
    store.role_heartbeat(actor, "running", {"model_version": 7, "steps_per_s": 300.0, "model_age_s": 1.5})
    shown = client.get(path(job)).json()
    roles = {role["role"]: role for role in shown["roles"]}
    assert (roles["learner"]["model_version"], roles["learner"]["steps_per_s"]) == (9, 2.5)
    assert (roles["learner"]["refused_unrolls"], roles["learner"]["data_wait_share"]) == (4, 0.25)
    assert (roles["actor"]["cell"], roles["actor"]["index"], roles["actor"]["versions_behind"]) == ("east", 1, 2)
    assert roles["actor"]["alive"]
    assert "actor.east: 1 of 3" in shown["waiting_for"]
    assert "learner: 0 of 1" not in shown["waiting_for"]


def test_scaling_over_rest(client: TestClient, job: str) -> None:
    answer = client.patch(path(job), json={"cells": [{"name": "east", "actors": 5}, {"name": "north", "actors": 1}]})
    assert answer.status_code == 200, answer.text
    cells = {cell["name"]: cell["actors"] for cell in answer.json()["desired"]["cells"]}
    assert cells == {"east": 5, "west": 1, "north": 1}
    assert client.get(f"/api/v1/jobs/{job}").json()["topology"] == answer.json()["desired"]
    for body, words in (
        ({"cells": [{"name": "east", "replay_shards": 0}]}, "0 replay shards"),
        ({"cells": [{"name": "east", "actors": 70}]}, "allowed are 64"),
        ({"cells": [{"name": "east", "actors": -1}]}, "greater than or equal to 0"),
        ({"cells": []}, "at least 1 item"),
    ):
        refused = client.patch(path(job), json=body)
        assert refused.status_code == 422
        assert words in refused.json()["detail"]
    client.delete(f"/api/v1/jobs/{job}")
    assert client.patch(path(job), json={"cells": [{"name": "east", "actors": 1}]}).status_code == 409


def test_restarts_are_asked_for_by_role_cell_and_index(client: TestClient, services: Services, job: str) -> None:
    assert client.post(path(job, "roles/restart"), json={}).json()["type"].endswith("job-not-running")
    store = services.store
    assert store.claim(job, "run", "host", 1)
    assert client.post(path(job, "roles/restart"), json={}).json()["type"].endswith("role-not-found")
    for index in range(2):
        store.register_role(job, "actor", "east", index, None, 10 + index, "b")
    store.register_role(job, "learner", "", 0, None, 20, "b")
    answer = client.post(path(job, "roles/restart"), json={"role": "actor", "index": 1})
    assert answer.status_code == 202, answer.text
    assert [(r["role"], r["index"]) for r in answer.json()["roles"] if r["restarting"]] == [("actor", 1)]
    assert client.post(path(job, "roles/restart"), json={"role": "boss"}).status_code == 422
    everyone = client.post(path(job, "roles/restart"), json={}).json()["roles"]
    assert all(role["restarting"] for role in everyone)


def test_what_does_not_learn_has_no_topology(client: TestClient, ready_design) -> None:
    design = ready_design()
    answer = client.post("/api/v1/jobs", json={"design_id": design, "method": "search", "topology": TWO_CELLS})
    assert answer.status_code == 422
    assert "nothing learns" in answer.json()["detail"]
    job = client.post("/api/v1/jobs", json={"design_id": design, "method": "search"}).json()
    assert job["topology"] is None
    assert client.get(path(job["id"])).json()["type"].endswith("job-does-not-learn")
    assert client.get(path("nosuchjob")).status_code == 404


def test_prometheus_metrics(client: TestClient, services: Services, job: str) -> None:
    from prometheus_client.parser import text_string_to_metric_families

    store = services.store
    assert store.claim(job, "run", "host", 1)
    actor = store.register_role(job, "actor", "east", 1, None, 11, "b")
    store.role_heartbeat(actor, "running", {"steps_per_s": 300.0, "model_version": 7})
    answer = client.get("/metrics")
    assert answer.status_code == 200, answer.text
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    assert samples["placewright_jobs", ("state", "running")] == 1
    labels = (("cell", "east"), ("index", "1"), ("job", job), ("role", "actor"))
    assert samples["placewright_role_steps_per_s", *labels] == 300
    assert samples["placewright_roles_wanted", ("job", job), ("queue", "actor.east")] == 3
    assert samples["placewright_roles_present", ("job", job), ("queue", "actor.east")] == 1
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 401
