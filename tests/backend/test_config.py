"""Settings: defaults, refusals in words, and what children inherit."""

from __future__ import annotations

from pathlib import Path

import pytest

from backend.core.config import SettingsError, export, get_settings, is_loopback, load_settings


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in [name for name in os.environ if name.startswith("PLACEWRIGHT_")]:
        monkeypatch.delenv(name)
    get_settings.cache_clear()


def test_defaults_need_no_server(tmp_path: Path) -> None:
    settings = load_settings({"data": tmp_path})
    assert settings.database_url == f"sqlite:///{tmp_path}/placewright.db"
    assert settings.broker_url == f"filesystem://{tmp_path}/broker"
    assert settings.host == "127.0.0.1"
    settings.check_binding()


def test_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLACEWRIGHT_DATA", str(tmp_path))
    monkeypatch.setenv("PLACEWRIGHT_BROKER_URL", "redis://127.0.0.1:6379/5")
    monkeypatch.setenv("PLACEWRIGHT_ROLES", "queues")
    settings = load_settings()
    assert (settings.data, settings.broker_url, settings.roles) == (tmp_path, "redis://127.0.0.1:6379/5", "queues")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "placewright.example"])
def test_beyond_loopback_needs_a_secret_or_a_proxy(host: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="PLACEWRIGHT_TOKEN") as caught:
        load_settings({"host": host, "data": tmp_path}).check_binding()
    assert host in str(caught.value)
    load_settings({"host": host, "data": tmp_path, "token": "0123456789abcdef"}).check_binding()
    load_settings({"host": host, "data": tmp_path, "behind_tls_proxy": True}).check_binding()


def test_loopback() -> None:
    assert all(map(is_loopback, ["127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"]))
    assert not any(map(is_loopback, ["0.0.0.0", "10.0.0.1", "localhost.example", ""]))


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PLACEWRIGHT_PORT", "70000", "PLACEWRIGHT_PORT"),
        ("PLACEWRIGHT_ROLES", "both", "'local' or 'queues'"),
        ("PLACEWRIGHT_DATABASE_URL", "mysql://secret:pass@h/x", "neither sqlite nor postgresql"),
        ("PLACEWRIGHT_BROKER_URL", "amqp://secret:pass@h", "neither filesystem nor redis"),
        ("PLACEWRIGHT_MAX_UPLOAD_BYTES", "lots", "PLACEWRIGHT_MAX_UPLOAD_BYTES"),
        ("PLACEWRIGHT_TOKEN", "short", "shorter than 16"),
        ("PLACEWRIGHT_ROLE_BIND", "eth0", "is .eth0., must be an IPv4 address"),
    ],
)
def test_wrong_settings_are_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=words) as caught:
        load_settings()
    assert "pass" not in str(caught.value)
    assert "short)" not in str(caught.value)


def test_children_see_the_same_service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DATA", "DATABASE_URL", "BROKER_URL", "BROKER_PREFIX"):
        monkeypatch.setenv(f"PLACEWRIGHT_{name}", "")  # restored when the test ends
        monkeypatch.delenv(f"PLACEWRIGHT_{name}")
    given = load_settings({"data": tmp_path / "x"})
    export(given)
    seen = get_settings()
    assert (seen.data, seen.database_url, seen.broker_url) == (given.data, given.database_url, given.broker_url)
    get_settings.cache_clear()


def test_the_token_does_not_show(tmp_path: Path) -> None:
    assert "0123456789abcdef" not in repr(load_settings({"data": tmp_path, "token": "0123456789abcdef"}))


def test_frozen(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="frozen"):
        load_settings({"data": tmp_path}).port = 1
