"""A job's own constraints: checked when it is posted, kept with it, told from jobs without."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from backend.designs.layout import write_layout
from backend.designs.service import design_folder
from backend.services import Services
from netlists.constraints_json.file import object_source, with_constraints
from netlists.samples import make_sample

JOBS = "/api/v1/jobs"


@pytest.fixture
def placed_design(services: Services, ready_design):
    """A ready design with the sample's layout, and one region in its side file. Returns its id and a macro's name."""
    from backend.core.tables import DesignRow

    design = make_sample("small", 0)
    rules = {"version": 1, "regions": {"left": [[0, 0, 50, 50]]}}
    design_id = ready_design()
    folder = design_folder(services.settings.data, design_id)
    (folder / "files" / "file-01.constraints.json").write_text(json.dumps(rules))
    write_layout(folder, with_constraints(design, [object_source(rules)]), design.start)

    def work(session) -> None:
        row = session.get(DesignRow, design_id)
        row.files = [*row.files, {"name": "a.constraints.json", "stored": "file-01.constraints.json", "bytes": 9}]

    services.database.write(work)
    netlist = design.netlist
    return design_id, netlist.node_name[int(netlist.nodes_of(0)[0])]


def test_kept_with_the_job(client: TestClient, services: Services, placed_design) -> None:
    design_id, name = placed_design
    rules = {"version": 1, "macro_spacing_um": 2, "macros": [{"name": name, "region": "left", "halo_um": [1, 0, 0, 0]}]}
    headers = {"Idempotency-Key": "the-same-rules"}
    body = {"design_id": design_id, "constraints": rules}
    answer = client.post(JOBS, json=body, headers=headers)
    assert answer.status_code == 201, answer.text
    assert answer.json()["constrained"] is True
    assert services.store.job(answer.json()["id"]).constraints == rules
    assert client.post(JOBS, json=body, headers=headers).json()["id"] == answer.json()["id"]
    assert client.post(JOBS, json={"design_id": design_id}, headers=headers).status_code == 409
    plain = client.post(JOBS, json={"design_id": design_id}).json()
    assert plain["constrained"] is False
    assert services.store.job(plain["id"]).constraints is None


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, "constraints: version is missing, must be 1"),
        ({"version": 1, "halo_um": 1}, "constraints: unknown key 'halo_um'; known are format, version,"),
        ({"version": 1, "macros": [{"name": "nobody"}]}, "macros[0].name: the design has no macro 'nobody'"),
        ({"version": 1, "macros": [{"pattern": "*", "region": "right"}]}, "macros[0].region is 'right', which is no"),
        ({"version": 1, "macro_spacing_um": -2}, "macro_spacing_um is -2, must be a number from 0"),
    ],
)
def test_wrong_ones_are_refused_by_key(client: TestClient, placed_design, rules: dict, words: str) -> None:
    answer = client.post(JOBS, json={"design_id": placed_design[0], "constraints": rules})
    assert answer.status_code == 422
    problem = answer.json()
    assert problem["type"].endswith("/bad-constraints")
    assert words in problem["detail"]
    assert client.get(JOBS).json()["items"] == []


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"macro_spacing_um": 500}, "µm² free of blockages and fixed macros: utilisation"),
        ({"boundary_spacing_um": 300}, "fits nowhere at least 300 µm from the canvas' edge"),
        ({"blockages_um": [[0, 0, 9e4, 9e4]]}, "without any free area"),
    ],
)
def test_those_that_nothing_can_meet_are_refused_with_the_numbers(
    client: TestClient, placed_design, rules: dict, words: str
) -> None:
    body = {"design_id": placed_design[0], "constraints": {"version": 1, **rules}}
    for from_scratch in (False, True):
        answer = client.post(JOBS, json={**body, "from_scratch": from_scratch})
        assert answer.status_code == 422, answer.text
        problem = answer.json()
        assert problem["type"].endswith("/infeasible-constraints")
        assert words in problem["detail"]
    assert client.get(JOBS).json()["items"] == []


def test_a_key_given_twice_is_refused_with_its_place(client: TestClient, placed_design) -> None:
    body = '{"design_id": "%s",\n "constraints": {"version": 1, "macro_spacing_um": 1,\n  "macro_spacing_um": 2}}'
    answer = client.post(JOBS, content=body % placed_design[0], headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["type"].endswith("/invalid-request")
    assert 'at line 3, column 3: The key "macro_spacing_um" is given twice in one object' in answer.json()["detail"]


def test_no_object_is_an_invalid_request(client: TestClient, placed_design) -> None:
    answer = client.post(JOBS, json={"design_id": placed_design[0], "constraints": [1]})
    assert answer.status_code == 422
    assert answer.json()["type"].endswith("/invalid-request")
