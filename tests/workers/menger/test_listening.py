"""A role's server is reached at the address that it was given, and at no other of the machine's."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from backend.core.config import get_settings
from workers.menger import listening
from workers.menger.listening import Binding, ListeningError, check_address, keep_to
from workers.menger.model_cache import ModelServer, ReverbSource
from workers.menger.protocol import Model
from workers.menger.reverb_native import newest_table, reachable, start_server
from workers.menger.roles import own_binding, own_host

INSIDE, OUTSIDE = "127.0.0.2", "127.0.0.1"  # both are this machine's, and a peer's packets carry either


def reaches(address: str, port: int) -> bool:
    return reachable(f"{address}:{port}", 0.5)


def test_a_server_is_reached_where_it_was_told_to_be_and_nowhere_else():
    server, port = start_server([newest_table("x")])
    assert reaches(OUTSIDE, port)  # Reverb listens everywhere
    server.Stop()
    server, port = start_server([newest_table("x")], Binding(INSIDE, required=True))
    assert reaches(INSIDE, port)
    assert not reaches(OUTSIDE, port)
    with pytest.raises(OSError, match="timed out"), socket.create_connection(("::1", port), timeout=0.5):
        pass
    server.Stop()


def test_a_filter_cannot_be_taken_off_again():
    with socket.create_server((INSIDE, 0)) as plain:
        keep_to(INSIDE, plain.getsockname()[1])
        with pytest.raises(PermissionError):
            plain.setsockopt(socket.SOL_SOCKET, 27, 0)  # SO_DETACH_FILTER


def test_models_go_through_a_server_that_is_kept_to_an_address():
    server = ModelServer(binding=Binding(INSIDE, required=True))
    server.publish(Model(1, np.arange(2_000_000, dtype=np.float32)))  # many packets
    taken = ReverbSource(f"{INSIDE}:{server.port}").newest(0, timeout_s=10)
    np.testing.assert_array_equal(taken.weights, np.arange(2_000_000))
    server.stop()


def test_a_port_that_nobody_here_listens_on():
    with socket.socket() as bound:
        bound.bind(("", 0))  # does not listen
        with pytest.raises(ListeningError, match="its socket was not found"):
            keep_to(INSIDE, bound.getsockname()[1])


def test_where_the_kernel_has_no_filters_it_is_told_or_refused(monkeypatch, caplog):
    monkeypatch.setattr(listening, "SO_ATTACH_FILTER", 9999)  # an option that no kernel knows
    with caplog.at_level(logging.WARNING, "placewright.listening"):
        server, port = start_server([newest_table("x")], Binding(INSIDE, required=False))
    assert f"port {port} cannot be kept to {INSIDE}" in caplog.text
    assert reaches(OUTSIDE, port)
    server.Stop()
    with pytest.raises(ListeningError, match="no filter of sockets"):
        start_server([newest_table("x")], Binding(INSIDE, required=True))


def test_an_address_of_another_machine_is_refused():
    check_address(INSIDE)
    with pytest.raises(ListeningError, match=r"192\.0\.2\.1 is not an address of this machine"):
        check_address("192.0.2.1")  # RFC 5737: nobody's


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    def give(**values: str) -> None:
        for name in ("ROLES", "ROLE_HOST", "ROLE_BIND"):
            monkeypatch.delenv(f"PLACEWRIGHT_{name}", raising=False)
        for name, value in values.items():
            monkeypatch.setenv(f"PLACEWRIGHT_{name}", value)
        get_settings.cache_clear()

    yield give
    get_settings.cache_clear()


def test_where_roles_listen_and_say_that_they_are(settings):
    settings()
    assert (own_binding(), own_host()) == (Binding("127.0.0.1", required=False), "127.0.0.1")
    settings(ROLE_BIND=INSIDE)
    assert (own_binding(), own_host()) == (Binding(INSIDE, required=True), INSIDE)
    settings(ROLES="queues", ROLE_HOST="actor-1")
    assert (own_binding(), own_host()) == (None, "actor-1")
    settings(ROLES="queues", ROLE_HOST="actor-1", ROLE_BIND=INSIDE)
    assert (own_binding(), own_host()) == (Binding(INSIDE, required=True), "actor-1")
