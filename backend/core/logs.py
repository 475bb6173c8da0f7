"""How a process of ours logs: lines for people, or with `PLACEWRIGHT_LOG=json` one JSON object a line.

Every object has time (UTC), level, logger, message, host and process, and job and role where the process has them.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
from datetime import UTC, datetime

FORMAT = "%(asctime)s %(name)s %(levelname)s %(message)s"
LOG_VARIABLE = "PLACEWRIGHT_LOG"


class JsonLines(logging.Formatter):
    """`fields` are part of every line."""

    def __init__(self, **fields: str | int) -> None:
        super().__init__()
        self._fields = {"host": socket.gethostname(), "pid": os.getpid(), **fields}

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, str | int] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._fields,
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def configure(level: int = logging.INFO, **fields: str | int) -> None:
    """Log to stderr in the form that PLACEWRIGHT_LOG asks for. Fields that are empty are left out."""
    handler = logging.StreamHandler(sys.stderr)
    if os.environ.get(LOG_VARIABLE) == "json":
        handler.setFormatter(JsonLines(**{name: value for name, value in fields.items() if value != ""}))
    else:
        handler.setFormatter(logging.Formatter(FORMAT))
    logging.basicConfig(level=level, handlers=[handler])
