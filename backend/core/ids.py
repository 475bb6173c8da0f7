"""Names of stored things: 128 random bits, so that knowing one tells nothing of another."""

from __future__ import annotations

import re
import secrets

ID_PATTERN = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """A fresh id: 32 hexadecimal digits, safe in URLs, file names and command lines."""
    return secrets.token_hex(16)
