"""Designs over REST: what an upload leaves on the disk and in the database, and what it never does."""

from __future__ import annotations

import errno
import gzip
import json
import shutil
from pathlib import Path

import pytest
import sqlalchemy as sa
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

from backend.core.broker import IO_QUEUE, PARSE_DESIGN
from backend.core.tables import DesignRow, JobRow
from backend.designs import service
from backend.designs.upload import natural_order, shown_name, stored_name
from backend.schemas import ReadingOptions
from backend.services import Services
from netlists.options import Options

DESIGNS = "/api/v1/designs"


@pytest.fixture
def sent(services: Services, monkeypatch: pytest.MonkeyPatch) -> list[tuple]:
    """What was enqueued."""
    messages: list[tuple] = []

    def send(task: str, *args: object, queue: str) -> bool:
        messages.append((task, *args, queue))
        return True

    monkeypatch.setattr(services.broker, "send", send)
    return messages


def files(*named: tuple[str, bytes]) -> list:
    return [("files", (name, content)) for name, content in named]


def stored(services: Services) -> list[Path]:
    """All uploaded files on the disk, and folders of uploads under way."""
    data = services.settings.data
    return sorted([*data.glob("designs/*/files/*"), *data.glob("uploads/*")])


def count(services: Services) -> int:
    return (
        services.database.read(lambda session: session.scalar(sa.select(sa.func.count()).select_from(DesignRow))) or 0
    )


def test_upload(client: TestClient, services: Services, sent: list) -> None:
    answer = client.post(
        DESIGNS,
        files=files(("netlist.pb.txt", b"node {}"), ("initial.plc.gz", b"\x1f\x8b...")),
        data={"name": "my chip"},
    )
    assert answer.status_code == 202
    design = answer.json()
    assert (design["state"], design["name"]) == ("parsing", "my chip")
    assert design["files"] == [{"name": "initial.plc.gz", "bytes": 5}, {"name": "netlist.pb.txt", "bytes": 7}]
    assert answer.headers["location"] == f"{DESIGNS}/{design['id']}"
    assert [path.name for path in stored(services)] == ["file-00.plc.gz", "file-01.pb.txt"]
    assert [path.read_bytes() for path in stored(services)] == [b"\x1f\x8b...", b"node {}"]
    assert sent == [(PARSE_DESIGN, design["id"], IO_QUEUE)]
    assert client.get(f"{DESIGNS}/{design['id']}").json() == design


def test_default_name_is_the_first_files(client: TestClient, sent: list) -> None:
    assert client.post(DESIGNS, files=files(("ariane.pb.txt.gz", b"x"))).json()["name"] == "ariane"


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "/etc/passwd", "..\\..\\boot.ini", "..", "", "a\x00b.plc", "x" * 3000, "CON", "ü[0]$ .plc"],
)
def test_no_name_of_the_clients_reaches_the_disk(client: TestClient, services: Services, sent: list, name: str) -> None:
    head = f'--b\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    answer = client.post(
        DESIGNS,
        content=f"{head}data\r\n--b--\r\n".encode(),
        headers={"Content-Type": "multipart/form-data; boundary=b"},
    )
    assert answer.status_code == 202
    shown = answer.json()["files"][0]["name"]
    assert "/" not in shown
    assert "\\" not in shown
    assert shown.isprintable()
    assert 1 <= len(shown) <= 200
    assert [path.name[:7] for path in stored(services)] == ["file-00"]
    assert stored(services)[0].parent.parent.parent == services.settings.data / "designs"


@given(st.text(max_size=300))
def test_names_are_safe(name: str) -> None:
    shown = shown_name(name)
    assert shown
    assert len(shown) <= 200
    path = Path(stored_name(3, shown))
    assert path.name == str(path)
    assert path.name.startswith("file-03.")


def test_parts_come_in_natural_order(client: TestClient, services: Services, sent: list) -> None:
    named = [("n.part10.pb.txt", b"10"), ("n.part2.pb.txt", b"2"), ("n.part1.pb.txt", b"1")]
    client.post(DESIGNS, files=files(*named))
    assert [path.read_bytes() for path in stored(services)] == [b"1", b"2", b"10"]


def test_initial_plc_comes_before_other_plc_files() -> None:
    names = ["a.plc", "initial.plc", "z10.plc", "z9.plc"]
    assert sorted(names, key=natural_order) == ["initial.plc", "a.plc", "z9.plc", "z10.plc"]


def test_declared_size_over_the_limit_is_refused_at_once(client: TestClient, services: Services, sent: list) -> None:
    body = b"x" * 100
    limit = services.settings.max_upload_bytes
    answer = client.post(
        DESIGNS,
        content=body,
        headers={"Content-Type": "multipart/form-data; boundary=b", "Content-Length": str(limit + 1)},
    )
    assert answer.status_code == 413
    assert f"{limit:,}" in answer.json()["detail"]
    assert stored(services) == []


def test_too_many_files(client: TestClient, services: Services, sent: list) -> None:
    answer = client.post(DESIGNS, files=files(*[(f"{n}.pb.txt", b"x" * 1000) for n in range(4)]))
    assert answer.status_code == 413
    assert answer.json()["type"].endswith("too-many-files")
    assert "3" in answer.json()["detail"]
    assert (stored(services), count(services), sent) == ([], 0, [])


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("multipart/form-data; boundary=b", b"", 400),
        (
            "multipart/form-data; boundary=b",
            b"--b\r\nContent-Disposition: form-data; name=f; filename=a\r\n\r\nhalf",
            400,
        ),
        ("multipart/form-data; boundary=b", b"junk that is no multipart at all", 400),
        ("multipart/form-data; boundary=b", b"--b\r\nX: " + b"y" * 20000 + b"\r\n\r\n", 400),
        (
            "multipart/form-data; boundary=b",
            b"--b\r\nContent-Disposition: form-data; name=x\r\n\r\nv\r\n--b--\r\n",
            422,
        ),
        ("multipart/form-data; boundary=b", b"--b--\r\n", 422),
        ("multipart/form-data", b"--b--\r\n", 415),
        ("application/octet-stream", b"node {}", 415),
        ("", b"node {}", 415),
    ],
)
def test_broken_bodies_leave_nothing(
    client: TestClient, services: Services, sent: list, content_type: str, body: bytes, status: int
) -> None:
    answer = client.post(DESIGNS, content=body, headers={"Content-Type": content_type})
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert (stored(services), count(services), sent) == ([], 0, [])


def test_long_name_field(client: TestClient, services: Services, sent: list) -> None:
    assert client.post(DESIGNS, files=files(("a.pb.txt", b"x")), data={"name": "n" * 201}).status_code == 422
    assert client.post(DESIGNS, files=files(("a.pb.txt", b"x")), data={"name": "n" * 100_000}).status_code == 422
    assert stored(services) == []
    assert client.post(DESIGNS, files=files(("a.pb.txt", b"x")), data={"name": "n" * 200}).status_code == 202


@pytest.mark.parametrize(
    ("form", "options"),
    [
        ({"lock_placed": "true", "macros_on_soft_blockages": "false"}, {"lock_placed": True}),
        ({"missing_cells_as_points": "true"}, {"missing_cells_as_points": True}),
        ({"macros_on_soft_blockages": "true"}, {"macros_on_soft_blockages": True}),
        ({"macro_height": "12.5"}, {"macro_height": 12.5}),
        ({"lock_placed": "", "macro_height": ""}, {}),
    ],
)
def test_options_of_reading(client: TestClient, services: Services, sent: list, form: dict, options: dict) -> None:
    answer = client.post(DESIGNS, files=files(("a.def", b"x")), data=form)
    assert answer.status_code == 202
    assert {name: answer.json()[name] for name in ReadingOptions.model_fields} == ReadingOptions(**options).model_dump()
    assert service.reading_options(services.database, answer.json()["id"]) == Options(**options)


@pytest.mark.parametrize(
    ("name", "word", "message"),
    [
        ("lock_placed", "perhaps", "lock_placed is 'perhaps', not true or false"),
        ("macro_height", "high", "macro_height is 'high': Input should be a valid number"),
        ("macro_height", "-1", "macro_height is '-1': Input should be greater than or equal to 0"),
        ("macro_height", "inf", "macro_height is 'inf': Input should be"),
        ("macro_height", "nan", "macro_height is 'nan': Input should be"),
    ],
)
def test_options_have_values_that_they_can_have(
    client: TestClient, services: Services, sent: list, name: str, word: str, message: str
) -> None:
    answer = client.post(DESIGNS, files=files(("a.def", b"x")), data={name: word})
    assert (answer.status_code, answer.json()["type"]) == (422, "/docs/problems/bad-option")
    assert answer.json()["detail"].startswith(message)
    assert (stored(services), count(services)) == ([], 0)


def test_little_free_space_is_refused_before_the_first_byte(
    client: TestClient, services: Services, sent: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage._replace(free=(64 << 20) + 10))
    answer = client.post(DESIGNS, files=files(("a.pb.txt", b"x" * 1000)))
    assert answer.status_code == 507
    assert "10 bytes" in answer.json()["detail"]
    assert stored(services) == []


def test_disk_full_while_writing(
    client: TestClient, services: Services, sent: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("backend.designs.upload.Receiver._on_part_data", full)
    answer = client.post(DESIGNS, files=files(("a.pb.txt", b"x" * 1000)))
    assert answer.status_code == 507
    assert (stored(services), count(services)) == ([], 0)


def test_database_failure_leaves_no_files(
    client: TestClient, services: Services, sent: list, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(work: object) -> None:
        raise sa.exc.OperationalError("INSERT", {}, Exception("gone"))

    monkeypatch.setattr(services.database, "write", down)
    assert client.post(DESIGNS, files=files(("a.pb.txt", b"x"))).status_code == 503
    assert list(services.settings.data.glob("designs/*")) == []
    assert stored(services) == []


def test_broker_away_keeps_the_design_for_the_sweeper(
    client: TestClient, services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(services.broker, "send", lambda *_, **__: False)
    answer = client.post(DESIGNS, files=files(("a.pb.txt", b"x")))
    assert answer.status_code == 202
    assert client.get(f"{DESIGNS}/{answer.json()['id']}").json()["state"] == "parsing"


def test_pages(client: TestClient, sent: list) -> None:
    ids = [client.post(DESIGNS, files=files((f"{n}.pb.txt", b"x"))).json()["id"] for n in range(5)]
    seen, cursor = [], None
    for _ in range(3):
        page = client.get(DESIGNS, params={"limit": 2} | ({"cursor": cursor} if cursor else {})).json()
        seen += [design["id"] for design in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ids[::-1]
    assert cursor is None


def test_a_new_design_does_not_shift_pages(client: TestClient, sent: list) -> None:
    ids = [client.post(DESIGNS, files=files((f"{n}.pb.txt", b"x"))).json()["id"] for n in range(4)]
    first = client.get(DESIGNS, params={"limit": 2}).json()
    client.post(DESIGNS, files=files(("new.pb.txt", b"x")))
    second = client.get(DESIGNS, params={"limit": 2, "cursor": first["next_cursor"]}).json()
    assert [design["id"] for design in first["items"] + second["items"]] == ids[::-1]


def test_outcomes_of_parsing(client: TestClient, services: Services, ready_design) -> None:
    design_id = ready_design(state="parsing")
    data = services.settings.data
    assert client.get(f"{DESIGNS}/{design_id}/layout").status_code == 409
    assert service.start_parsing(services.database, design_id)
    assert not service.start_parsing(services.database, design_id)  # one reader at a time
    service.finish_parsing(services.database, design_id, {"warnings": ["2 drivers have no sinks"]})
    service.fail_parsing(services.database, data, design_id, "too late")
    design = client.get(f"{DESIGNS}/{design_id}").json()
    assert (design["state"], design["error"], design["warnings"]) == ("ready", None, ["2 drivers have no sinks"])

    failed = ready_design(state="parsing")
    service.fail_parsing(services.database, data, failed, "a.pb.txt:3: broken")
    service.finish_parsing(services.database, failed, {})
    design = client.get(f"{DESIGNS}/{failed}").json()
    assert (design["state"], design["error"]) == ("failed", "a.pb.txt:3: broken")
    assert not (data / "designs" / failed).exists()
    answer = client.get(f"{DESIGNS}/{failed}/layout")
    assert answer.status_code == 409
    assert "a.pb.txt:3: broken" in answer.json()["detail"]


def test_layout_is_sent_packed_to_those_who_can_unpack(client: TestClient, services: Services, ready_design) -> None:
    design_id = ready_design()
    folder = services.settings.data / "designs" / design_id
    text = json.dumps({"name": ["a"]})
    (folder / "layout.json").write_text(text)
    (folder / "layout.json.gz").write_bytes(gzip.compress(text.encode()))
    packed = client.get(f"{DESIGNS}/{design_id}/layout", headers={"Accept-Encoding": "gzip"})
    plain = client.get(f"{DESIGNS}/{design_id}/layout", headers={"Accept-Encoding": "identity"})
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.json() == plain.json() == {"name": ["a"]}


def test_delete(client: TestClient, services: Services, ready_design) -> None:
    design_id = ready_design()
    job_id = client.post("/api/v1/jobs", json={"design_id": design_id}).json()["id"]
    (services.settings.data / "jobs" / job_id).mkdir(parents=True)
    answer = client.delete(f"{DESIGNS}/{design_id}")
    assert answer.status_code == 409
    assert job_id in answer.json()["detail"]
    client.delete(f"/api/v1/jobs/{job_id}")
    assert client.delete(f"{DESIGNS}/{design_id}").status_code == 204
    assert client.get(f"{DESIGNS}/{design_id}").status_code == 404
    assert client.get(f"/api/v1/jobs/{job_id}").status_code == 404
    assert list(services.settings.data.glob("designs/*")) == list(services.settings.data.glob("jobs/*")) == []
    jobs = services.database.read(lambda session: session.scalar(sa.select(sa.func.count()).select_from(JobRow)))
    assert jobs == 0
