"""Settings of the service and its workers: environment variables `PLACEWRIGHT_*` in, one frozen object out.

Checked once, at the start; every setting is described in docs/operations.md. Processes started by others (runs, roles)
read the same environment, so what `placewright serve` was given on its command line is exported to them
(`Settings.environment`). Knows nothing of the database or of FastAPI.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from netlists.errors import PlacewrightError

PREFIX = "PLACEWRIGHT_"
GIB = 1 << 30


class SettingsError(PlacewrightError):
    """The settings contradict each other or have no meaning; the message names each one."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix=PREFIX, frozen=True, extra="ignore")

    data: Path = Field(Path("data"), description="Folder of everything that is stored")
    database_url: str = Field("", description="SQLAlchemy URL; empty = SQLite in the data folder")
    broker_url: str = Field("", description="Celery broker: filesystem://FOLDER or redis://…; empty = DATA/broker")
    broker_prefix: str = Field("", description="Prefix of all keys in Redis, where several services share one")
    host: str = "127.0.0.1"
    port: int = Field(8000, ge=0, le=65535, description="0 = any free port")
    token: SecretStr | None = Field(None, description="Bearer token; unset = one is made at first start")
    behind_tls_proxy: bool = Field(False, description="A proxy in front ends TLS; session cookies are marked Secure")
    roles: Literal["local", "queues"] = Field("local", description="Where a run starts its roles")
    role_bind: str = Field("", description="IPv4 address that roles listen at; empty = loopback, on queues all")
    frontend: Path = Field(
        Path(__file__).resolve().parents[2] / "frontend" / "dist", description="Folder of the built pages"
    )

    max_upload_bytes: int = Field(2 * GIB, ge=1, description="One request, all its files together")
    max_files: int = Field(16, ge=1, description="Files of one design")
    max_inflated_bytes: int = Field(8 * GIB, ge=1, description="One design's files after gunzip, together")
    max_ratio: float = Field(200, gt=1, description="Inflated over stored size; text of netlists stays below 40")
    parse_seconds: float = Field(900, gt=0, description="Wall-clock limit of reading one design")
    parse_memory_bytes: int = Field(8 * GIB, ge=256 << 20, description="Address space of the reading process")
    max_streams: int = Field(256, ge=1, description="Open event streams of one API process")

    heartbeat_seconds: float = Field(5, gt=0, description="Runs, roles and workers write at least this often")
    role_heartbeat_seconds: float = Field(2, gt=0, description="Roles of a job write this often")
    sweep_seconds: float = Field(5, gt=0, description="Between two rounds of the sweeper")
    attempts: int = Field(3, ge=1, description="Starts of one job before it counts as failed")
    cancel_grace_seconds: float = Field(10, ge=0, description="From a cancel to SIGTERM; as long again to SIGKILL")
    run_slots: int = Field(1, ge=1, description="Runs of one worker at a time")
    io_slots: int = Field(2, ge=1, description="Designs read at a time by one worker")
    role_slots: int = Field(1, ge=1, description="Roles of one role queue at a time, by one worker")
    run_command: str = Field("", description="Command in place of `python -m workers.run`; gets `--job ID`")

    @field_validator("data")
    @classmethod
    def _absolute(cls, value: Path) -> Path:
        return value.expanduser().resolve()

    @field_validator("role_bind")
    @classmethod
    def _an_address(cls, value: str) -> str:
        if value:
            try:
                ipaddress.IPv4Address(value)
            except ValueError:
                raise ValueError(f"is {value!r}, must be an IPv4 address such as 10.0.0.5") from None
        return value

    @field_validator("token")
    @classmethod
    def _long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        if value is None or not value.get_secret_value():
            return None
        if len(value.get_secret_value()) < 16:
            raise ValueError("is shorter than 16 characters")
        return value

    @model_validator(mode="after")
    def _urls(self) -> Self:
        # Frozen only from here on: the defaults of the two URLs need the data folder.
        if not self.database_url:
            object.__setattr__(self, "database_url", f"sqlite:///{self.data / 'placewright.db'}")
        if not self.broker_url:
            object.__setattr__(self, "broker_url", f"filesystem://{self.data / 'broker'}")
        if not self.database_url.startswith(("sqlite:///", "postgresql")):
            raise ValueError(
                f"PLACEWRIGHT_DATABASE_URL: '{self.database_url.split(':')[0]}' is neither sqlite nor postgresql"
            )
        if not self.broker_url.startswith(("filesystem://", "redis://", "rediss://")):
            raise ValueError(
                f"PLACEWRIGHT_BROKER_URL: '{self.broker_url.split(':')[0]}' is neither filesystem nor redis"
            )
        return self

    @property
    def stale_after_seconds(self) -> float:
        """A lease, role or worker not heard of for this long is taken for dead: three missed heartbeats."""
        return 3 * self.heartbeat_seconds

    @property
    def role_stale_seconds(self) -> float:
        """The same for a role of a job."""
        return 3 * self.role_heartbeat_seconds

    def check_binding(self) -> None:
        """Refuse to listen beyond this machine with nothing but a token made by chance. Raises SettingsError."""
        if is_loopback(self.host) or self.token is not None or self.behind_tls_proxy:
            return
        raise SettingsError(
            f"PLACEWRIGHT_HOST={self.host} is reachable from other machines. Set PLACEWRIGHT_TOKEN to a secret of your "
            "own (16 characters or more), or PLACEWRIGHT_BEHIND_TLS_PROXY=1 if a proxy with TLS stands in front, "
            "or listen on 127.0.0.1."
        )

    def environment(self) -> dict[str, str]:
        """What a child process must have in its environment to see the same data, database and broker."""
        return {
            f"{PREFIX}DATA": str(self.data),
            f"{PREFIX}DATABASE_URL": self.database_url,
            f"{PREFIX}BROKER_URL": self.broker_url,
            f"{PREFIX}BROKER_PREFIX": self.broker_prefix,
        }


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a socket bound to `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(overrides: Mapping[str, object] | None = None) -> Settings:
    """Settings of the environment with some replaced. Raises SettingsError naming each wrong one."""
    try:
        return Settings(**(overrides or {}))  # type: ignore[arg-type]
    except ValidationError as error:
        lines = []
        for item in error.errors():
            name = "".join(f"{PREFIX}{str(part).upper()}: " for part in item["loc"][:1])
            lines.append(f"{name}{item['msg'].removeprefix('Value error, ')} (is {_shown(name, item.get('input'))})")
        raise SettingsError("\n".join(lines)) from None


def _shown(name: str, value: object) -> str:
    return "hidden" if "TOKEN" in name or "URL" in name or isinstance(value, dict) else repr(value)


@cache
def get_settings() -> Settings:
    """The settings of this process, read at the first call. Tests call `get_settings.cache_clear()`."""
    return load_settings()


def export(settings: Settings) -> None:
    """Make the settings those of this process and of all it starts."""
    os.environ.update(settings.environment())
    get_settings.cache_clear()
