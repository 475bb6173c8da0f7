"""Reverb's server answers at one address of this machine only.

Reverb listens on all addresses and cannot be told otherwise. What it has are ordinary sockets of this process, and a
listening socket may have a filter (socket(7), SO_ATTACH_FILTER; classic BPF, no privilege needed) that sees every
packet before TCP does: one that is addressed to another of the machine's addresses is dropped, as a firewall would.
Connections inherit the filter. Between the server's start and the filter lies a moment; what is sent in it is still
refused without the job's seal (seal.py).
"""

from __future__ import annotations

import contextlib
import ctypes
import ipaddress
import logging
import os
import socket
import struct
from collections.abc import Iterator
from typing import NamedTuple

from netlists.errors import PlacewrightError

SO_ATTACH_FILTER, SO_LOCK_FILTER = 26, 44  # asm-generic/socket.h
NETWORK_HEADER = 0xFFF00000  # SKF_NET_OFF of linux/filter.h: offsets count from the IP header
LOAD_BYTE, LOAD_WORD, SHIFT_RIGHT, JUMP_IF_EQUAL, RETURN = 0x30, 0x20, 0x74, 0x15, 0x06
KEEP_ALL, DROP = 0xFFFFFFFF, 0
DESTINATION = 16  # offset of the destination address in an IPv4 header


log = logging.getLogger("placewright.listening")


class Binding(NamedTuple):
    """Where a role's server is to be reached."""

    address: str  # IPv4
    required: bool  # asked for: a server that cannot be kept to it must not be


class ListeningError(PlacewrightError):
    """A server cannot be kept to one address."""


def check_address(address: str) -> None:
    """Raises ListeningError unless this machine has the address."""
    try:
        with socket.socket() as probe:
            probe.bind((address, 0))
    except OSError as error:
        raise ListeningError(f"{address} is not an address of this machine that can be listened at: {error}") from None


def keep_to(address: str, port: int) -> None:
    """Let this process's listeners on `port` take packets for `address` alone. Raises ListeningError."""
    program = _program(address)
    code = b"".join(struct.pack("=HBBI", *step) for step in program)
    held = ctypes.create_string_buffer(code, len(code))
    pointer = struct.pack("@HP", len(program), ctypes.addressof(held))
    count = 0
    for listener in _listeners(port):
        try:
            listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pointer)
            listener.setsockopt(socket.SOL_SOCKET, SO_LOCK_FILTER, 1)
        except OSError as error:
            raise ListeningError(f"port {port} cannot be kept to {address}, no filter of sockets: {error}") from None
        count += 1
    if not count:
        raise ListeningError(f"port {port} cannot be kept to {address}: its socket was not found in /proc/self/fd")


def bind(binding: Binding, port: int) -> None:
    """`keep_to`; where it cannot be had and was not asked for, a warning. Raises ListeningError."""
    try:
        keep_to(binding.address, port)
    except ListeningError as error:
        if binding.required:
            raise
        log.warning("%s; it listens on all addresses", error)


def _program(address: str) -> list[tuple[int, int, int, int]]:
    """Steps (code, jump if true, jump if false, operand) that keep IPv4 packets for the address and drop all others."""
    return [
        (LOAD_BYTE, 0, 0, NETWORK_HEADER),  # version and length of the header
        (SHIFT_RIGHT, 0, 0, 4),
        (JUMP_IF_EQUAL, 0, 3, 4),
        (LOAD_WORD, 0, 0, NETWORK_HEADER + DESTINATION),
        (JUMP_IF_EQUAL, 0, 1, int(ipaddress.IPv4Address(address))),
        (RETURN, 0, 0, KEEP_ALL),
        (RETURN, 0, 0, DROP),
    ]


def _listeners(port: int) -> Iterator[socket.socket]:
    """This process's listening sockets on a port; there may be several (SO_REUSEPORT)."""
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # closed meanwhile, or no socket
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            with socket.socket(fileno=os.dup(int(name))) as found:
                if found.family not in (socket.AF_INET, socket.AF_INET6) or found.getsockname()[1] != port:
                    continue
                if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    yield found
