"""docker-compose.yml and Dockerfile kept true without a Docker engine.

They are parsed, and the very commands of the services run as plain processes, with the environment that the file gives
them, against a real PostgreSQL and a real Redis. Only addresses, the port and the data folder are exchanged.
"""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest
import yaml
from sqlalchemy.engine import make_url

from backend.jobs.topology import learning_keys, one_cell, queue_counts
from backend.schemas import TopologySpec
from benchmarks.menger.network import Network
from benchmarks.menger.relay import Relay
from netlists.samples import write_sample

ROOT = Path(__file__).parents[2]
OURS = ("api", "worker", "replay", "cache", "learner", "actor")
CLUSTER = tuple(f"{role}-{cell}" for cell in ("east", "west") for role in ("replay", "cache", "actor"))
TOKEN = "a-token-for-this-test-only"
TWO_CELLS = {"cells": [{"name": "east"}, {"name": "west"}], "start_smaller": False}
START_TIMEOUT_S = 120
DEADLINE_S = 300
BUDGET_S = 1200  # more than the test may take: it cancels the job when it has seen what it waits for
POLL_S = 0.5
AWAY = "database away"
SILENT_HEARTBEATS = 3  # after which a role counts as gone
LEAST_SENT_BYTES = 100_000  # of a cell: an unroll is some hundred kB, and its cache was sent a model


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
    return loaded


def dockerfile() -> list[tuple[str, str]]:
    """(instruction, words) of every instruction, continuation lines joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in lines]


def test_the_image_copies_what_is_there_and_starts_what_the_api_service_starts(compose: dict[str, Any]) -> None:
    stage_folder = ROOT
    for instruction, words in dockerfile():
        if instruction == "WORKDIR":
            stage_folder = ROOT / "frontend" if words.endswith("/frontend") else ROOT
        if instruction == "COPY" and "--from" not in words:
            for source in shlex.split(words)[:-1]:
                assert (ROOT / source).exists(), f"COPY {source} (stage in {stage_folder.name})"
    command = next(words for instruction, words in dockerfile() if instruction == "CMD")
    assert yaml.safe_load(command) == compose["services"]["api"]["command"]


def test_every_service_of_ours_is_one_image_and_only_the_command_differs(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {*OURS, *CLUSTER, "redis", "postgres"}
    assert len({services[name]["image"] for name in (*OURS, *CLUSTER)}) == 1
    assert len({str(services[name]["environment"]) for name in (*OURS, *CLUSTER)}) == 1
    queues = {q for name in OURS[1:] for q in services[name]["command"][-1].split(",")}
    assert queues == {"io", "run", *queue_counts(learning_keys(one_cell(1)))}
    assert {name for name in services if services[name].get("profiles") == ["cluster"]} == set(CLUSTER)
    two_cells = TopologySpec.model_validate(TWO_CELLS)
    served = {services[name]["command"][-1] for name in (*CLUSTER, "learner")}
    assert served == set(queue_counts(learning_keys(two_cells)))
    assert all(services["redis"]["command"][i] for i in (1, 2))
    for name, volume in ((n, v) for n in services for v in services[n].get("volumes", [])):
        assert volume.split(":")[0] in compose["volumes"], name


def test_dependencies_are_locked_for_the_image() -> None:
    install = next(words for instruction, words in dockerfile() if instruction == "RUN" and "require-hashes" in words)
    path = re.search(r"(requirements/\S+)", install)
    assert path is not None
    assert "--hash=sha256:" in (ROOT / path[1]).read_text()


def interpolated(value: str, variables: dict[str, str]) -> str:
    """Compose's ${NAME}, ${NAME:-default} and ${NAME:?message}."""

    def replace(match: re.Match[str]) -> str:
        name, mark, rest = match[1], match[2], match[3]
        if variables.get(name):
            return variables[name]
        if mark == ":-":
            return rest
        raise AssertionError(f"{name} is not set: {rest}")

    return re.sub(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}", replace, value)


class Services:
    """The services of ours, as processes."""

    def __init__(self, compose: dict[str, Any], folder: Path, postgres_url: str, redis_url: str, prefix: str) -> None:
        self.folder = folder
        self.services = compose["services"]
        self.port = self.port_here = free_port()
        exchanged = {
            "PLACEWRIGHT_DATA": str(folder / "data"),
            "PLACEWRIGHT_DATABASE_URL": postgres_url,
            "PLACEWRIGHT_BROKER_URL": redis_url,
        }
        given = self.services["api"]["environment"]
        assert set(exchanged) <= set(given)
        values = {name: interpolated(str(value), {"PLACEWRIGHT_TOKEN": TOKEN}) for name, value in given.items()}
        self.environment = {
            **os.environ,
            **values,
            **exchanged,
            "PLACEWRIGHT_BROKER_PREFIX": prefix,
            "PYTHONPATH": str(ROOT),
        }
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def words(self, command: list[str]) -> list[str]:
        words = [str(self.port) if word == "8000" else word for word in command]
        if words[0] == "placewright":
            return [sys.executable, "-m", "workers.cli.main", *words[1:]]
        return [sys.executable if words[0] == "python" else words[0], *words[1:]]

    def on_host(self, name: str, words: list[str]) -> tuple[list[str], dict[str, str]]:
        """Command and environment of a service where it runs."""
        return words, self.environment

    def start(self, names: tuple[str, ...]) -> None:
        for name in names:
            words, environment = self.on_host(name, self.words(self.services[name]["command"]))
            with (self.folder / f"{name}.log").open("wb") as log:
                self.processes[name] = subprocess.Popen(
                    words,
                    env=environment,
                    cwd=self.folder,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )

    def healthy(self) -> bool:
        test = [word.replace("8000", str(self.port)) for word in self.services["api"]["healthcheck"]["test"][1:]]
        words, _ = self.on_host("api", self.words(test))
        return subprocess.run(words, capture_output=True, check=False, timeout=30).returncode == 0

    def check_alive(self) -> None:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended: {(self.folder / f'{name}.log').read_text()[-3000:]}"

    def stop(self) -> list[psutil.Process]:
        """SIGTERM to all, in the order of the file. Returns what is left of anything they started."""
        families = [child for p in self.processes.values() for child in family(p.pid)]
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
        _, left = psutil.wait_procs(families, timeout=20)
        for survivor in left:
            survivor.kill()
        return left


def family(pid: int) -> list[psutil.Process]:
    try:
        parent = psutil.Process(pid)
        return [parent, *parent.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class ServicesOnHosts(Services):
    """Each cell's services on a host of its own, the rest on a third; PostgreSQL and Redis are reached there, too."""

    def __init__(
        self,
        network: Network,
        relays: ExitStack,
        compose: dict[str, Any],
        folder: Path,
        urls: tuple[str, str],
        prefix: str,
    ) -> None:
        self.hosts = {name: network.add_host(name) for name in ("center", "east", "west")}
        self.servers: list[Relay] = []  # PostgreSQL, Redis
        center = self.hosts["center"]

        def reachable(url: str) -> str:
            parts = make_url(url)
            at, to = (center.address, parts.port or 0), (parts.host or "", parts.port or 0)
            self.servers.append(relays.enter_context(Relay(at, to, at_namespace=center.namespace)))
            return parts.set(host=center.address).render_as_string(hide_password=False)

        postgres_url, redis_url = map(reachable, urls)
        super().__init__(compose, folder, postgres_url, redis_url, prefix)
        api = Relay(("127.0.0.1", 0), (center.address, self.port), to_namespace=center.namespace)
        self.port_here = relays.enter_context(api).port

    def on_host(self, name: str, words: list[str]) -> tuple[list[str], dict[str, str]]:
        host = self.hosts.get(name.rpartition("-")[2], self.hosts["center"])
        environment = {**self.environment, "PLACEWRIGHT_ROLE_HOST": host.address}
        return ["ip", "netns", "exec", host.namespace, *words], environment

    def logs(self, job_id: str) -> dict[str, str]:
        """Of a job's run and roles, by file name."""
        folder = self.folder / "data" / "jobs" / job_id
        return {path.name: path.read_text() for path in (*folder.glob("*.log"), *folder.glob("roles/*.log"))}


@pytest.fixture
def services(
    compose: dict[str, Any],
    tmp_path: Path,
    postgres_url: str,
    redis_url: str,
    key_prefix: str,
    names: tuple[str, ...],
    request: pytest.FixtureRequest,
) -> Iterator[Services]:
    """The services of the test's `names`; with more than one cell on hosts of their own."""
    import redis

    with ExitStack() as stack:
        running: Services
        if names == OURS:
            running = Services(compose, tmp_path, postgres_url, redis_url, key_prefix)
        else:
            network: Network = request.getfixturevalue("network")
            running = ServicesOnHosts(network, stack, compose, tmp_path, (postgres_url, redis_url), key_prefix)
        yield running
        running.stop()
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter(f"{key_prefix}*"):
            client.delete(key)


def until(what: str, condition: Any, services: Services, timeout_s: float) -> Any:
    """The condition's first true value. A service that ends meanwhile is the failure."""
    end_s = time.monotonic() + timeout_s
    while time.monotonic() < end_s:
        services.check_alive()
        if value := condition():
            return value
        time.sleep(POLL_S)
    raise AssertionError(f"{what}: not within {timeout_s} s")


def check_hosts(services: ServicesOnHosts, roles: list[dict[str, Any]]) -> None:
    """Every role serves others at the address of its cell's host, and what the cells learn from crossed the network."""
    addresses = {name: host.address for name, host in services.hosts.items()}
    told = {(role["role"], role["cell"]): role["address"].rpartition(":")[0] for role in roles if role["address"]}
    wanted = {(role, cell): addresses[cell] for role in ("replay", "cache") for cell in ("east", "west")}
    assert told == {**wanted, ("learner", ""): addresses["center"]}
    for cell in ("east", "west"):
        assert services.hosts[cell].counters().sent_bytes > LEAST_SENT_BYTES


def let_database_and_broker_be_away(services: ServicesOnHosts, job_id: str) -> None:
    """Longer than a role may be silent; they work on with what they know, and none ends."""
    told = {name: text.count(AWAY) for name, text in services.logs(job_id).items()}
    for server in services.servers:
        server.away()

    def all_noticed() -> bool:
        now = services.logs(job_id)
        return all(now[name].count(AWAY) > count + SILENT_HEARTBEATS for name, count in told.items())

    until("word of an absent database", all_noticed, services, DEADLINE_S)
    for server in services.servers:
        server.back()


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "names", [OURS, ("api", "worker", "learner", *CLUSTER)], ids=["one cell", "two cells on three hosts"]
)
def test_the_services_commands_learn_and_place_on_postgresql_and_redis(
    services: Services, tmp_path: Path, names: tuple[str, ...]
) -> None:
    services.start(names)
    until("healthcheck", services.healthy, services, START_TIMEOUT_S)
    write_sample(tmp_path / "sample", "small", 3)
    with httpx.Client(
        base_url=f"http://127.0.0.1:{services.port_here}/api/v1",
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=60,
    ) as api:
        parts = [("files", (p.name, p.read_bytes())) for p in sorted((tmp_path / "sample").iterdir())]
        design = api.post("/designs", files=parts).raise_for_status().json()
        path = f"/designs/{design['id']}"
        until("parsing", lambda: api.get(path).json()["state"] == "ready", services, START_TIMEOUT_S)
        spec: dict[str, Any] = {"design_id": design["id"], "method": "auto", "seconds": BUDGET_S, "workers": 2}
        if names != OURS:
            spec["topology"] = TWO_CELLS
        job = api.post("/jobs", json=spec).raise_for_status().json()

        def state() -> dict[str, Any]:
            answer: dict[str, Any] = api.get(f"/jobs/{job['id']}").raise_for_status().json()
            assert answer["state"] not in ("done", "failed"), answer["cause"]
            return answer

        def newest_version() -> float:
            points = api.get(f"/jobs/{job['id']}/metrics").json()["points"]
            return max((p["values"].get("policy_version", 0) for p in points), default=0)

        def better() -> bool:
            best, start = state()["best_costs"], state()["start_costs"]
            return bool(best and start and best["proxy_cost"] < start["proxy_cost"])

        until("a version of the policy", lambda: newest_version() > 0, services, DEADLINE_S)
        until("a better placement", better, services, DEADLINE_S)
        shown = api.get(f"/jobs/{job['id']}/topology").json()
        cells = {role["cell"] for role in shown["roles"] if role["role"] == "actor"}
        assert cells == ({"main"} if names == OURS else {"east", "west"})
        if isinstance(services, ServicesOnHosts):
            check_hosts(services, shown["roles"])
            before = newest_version()
            attempts = state()["attempt"]
            let_database_and_broker_be_away(services, job["id"])
            until("further versions", lambda: newest_version() > before + 1, services, DEADLINE_S)
            assert state()["attempt"] == attempts
            after = {role["id"] for role in api.get(f"/jobs/{job['id']}/topology").json()["roles"]}
            assert {role["id"] for role in shown["roles"]} <= after
        api.delete(f"/jobs/{job['id']}").raise_for_status()
        until("end of the job", lambda: state()["state"] == "cancelled", services, DEADLINE_S)
        ended = state()
        plc = api.get(f"/placements/{ended['best_placement_id']}/files/plc").raise_for_status().content
        assert plc.startswith(b"#")
    assert services.stop() == []
