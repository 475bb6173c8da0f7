"""Hosts on one machine: network namespaces with addresses of their own, wired to a switch, with links of a given rate.

Network → hosts → processes in them; bytes and packets from the interfaces' counters. Linux, root, iproute2. Nothing of
it touches the machine's own interfaces: the switch lives in a namespace too. All names begin with one that is random,
and leaving the `with` block ends every process in the namespaces and removes them. Used by the benchmarks of this
folder and by tests/workers/menger/test_namespaces.py. Knows nothing of roles.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

SUBNET = "10.77.0"
HEADER_BYTES = 66  # of a data segment: Ethernet 14, IPv4 20, TCP 20 and its time stamps 12
QUEUE_BYTES = 64 << 20  # of a limited link: nothing is dropped, so that bytes are counted once


class NetworkError(Exception):
    """`ip` or `tc` refused; the message has its words."""


def why_not() -> str:
    """What keeps this process from making network namespaces; empty if nothing does."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"no `{program}` on this machine (Debian package: iproute2)"
    try:
        with Network() as network:
            network.add_host("probe").limit(1e6)
    except NetworkError as error:
        return f"network namespaces are not permitted here: {error}"
    return ""


def _run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise NetworkError(f"{' '.join(words)}: {done.stderr.strip() or f'code {done.returncode}'}")
    return done.stdout


@dataclass(frozen=True)
class Counters:
    """What an interface sent and received since it was made."""

    sent_bytes: int
    sent_packets: int
    received_bytes: int

    def since(self, before: Counters) -> Counters:
        return Counters(
            self.sent_bytes - before.sent_bytes,
            self.sent_packets - before.sent_packets,
            self.received_bytes - before.received_bytes,
        )

    @property
    def sent_stream_bytes(self) -> int:
        """Bytes sent without Ethernet, IP and TCP headers."""
        return self.sent_bytes - HEADER_BYTES * self.sent_packets


@dataclass(frozen=True)
class Host:
    """One namespace with one interface to the switch."""

    namespace: str
    address: str
    switch: str  # namespace
    port: str  # the switch's end of the host's link

    def start(self, command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
        """A process on this host; `options` are those of Popen."""
        return subprocess.Popen(["ip", "netns", "exec", self.namespace, *command], **options)

    def limit(self, bits_per_s: float, *, inward: bool = False) -> None:
        """Limit what the host sends; `inward`: what it receives. A bucket of two frames: nothing slips through."""
        namespace, device = (self.switch, self.port) if inward else (self.namespace, "eth0")
        bucket = ("rate", f"{round(bits_per_s)}bit", "burst", "3200", "limit", str(QUEUE_BYTES))
        _run("tc", "-n", namespace, "qdisc", "replace", "dev", device, "root", "tbf", *bucket)

    def counters(self) -> Counters:
        told = json.loads(_run("ip", "-n", self.namespace, "-j", "-s", "link", "show", "dev", "eth0"))[0]["stats64"]
        return Counters(told["tx"]["bytes"], told["tx"]["packets"], told["rx"]["bytes"])

    def dropped(self) -> int:
        """Packets that the host's limited links dropped."""
        lines = [
            json.loads(_run("tc", "-n", namespace, "-j", "-s", "qdisc", "show", "dev", device))
            for namespace, device in ((self.namespace, "eth0"), (self.switch, self.port))
        ]
        return sum(item.get("drops", 0) for items in lines for item in items)


class Network:
    """A switch and its hosts, as long as the `with` block lasts."""

    def __init__(self) -> None:
        self.name = f"pw{secrets.token_hex(4)}"
        self.hosts: list[Host] = []
        self._namespaces: list[str] = []

    def __enter__(self) -> Self:
        try:
            self.switch = self._add_namespace("switch")
            _run("ip", "-n", self.switch, "link", "add", "switch", "type", "bridge")
            _run("ip", "-n", self.switch, "link", "set", "switch", "up")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for namespace in self._namespaces:
            with suppress(NetworkError):
                for pid in _run("ip", "netns", "pids", namespace).split():
                    with suppress(ProcessLookupError):
                        os.kill(int(pid), signal.SIGKILL)
        for namespace in self._namespaces:
            with suppress(NetworkError):
                _run("ip", "netns", "delete", namespace)
        self._namespaces = []

    def _add_namespace(self, name: str) -> str:
        namespace = f"{self.name}-{name}"
        _run("ip", "netns", "add", namespace)
        self._namespaces.append(namespace)
        _run("ip", "-n", namespace, "link", "set", "lo", "up")
        return namespace

    def add_host(self, name: str) -> Host:
        """A host with the next address of 10.77.0.0/24. Segments leave it in frames of 1500 bytes, as on a wire."""
        number = len(self.hosts) + 1
        namespace, port = self._add_namespace(name), f"port{number}"
        wire = ("link", "add", port, "netns", self.switch, "type", "veth", "peer", "name", "eth0", "netns", namespace)
        _run("ip", *wire)
        _run("ip", "-n", self.switch, "link", "set", port, "master", "switch", "up")
        # gso_max_segs 1: the kernel hands on single frames, so packets are counted as a wire would carry them
        _run("ip", "-n", namespace, "link", "set", "eth0", "gso_max_segs", "1", "up")
        _run("ip", "-n", namespace, "address", "add", f"{SUBNET}.{number}/24", "dev", "eth0")
        host = Host(namespace, f"{SUBNET}.{number}", self.switch, port)
        self.hosts.append(host)
        return host
