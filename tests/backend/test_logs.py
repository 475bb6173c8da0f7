"""Log lines for people and for machines."""

from __future__ import annotations

import json
import logging
import sys

import pytest

from backend.core.logs import JsonLines


@pytest.fixture
def failed() -> logging.LogRecord:
    try:
        raise ValueError("too\nmuch")
    except ValueError:
        return logging.LogRecord("placewright.actor", logging.ERROR, "x.py", 1, "lost %s", ("it",), sys.exc_info())


def test_a_json_line_has_ids_and_the_exception(failed: logging.LogRecord) -> None:
    text = JsonLines(job="j", role="actor east 1").format(failed)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["level"], line["message"], line["job"], line["role"]) == ("error", "lost it", "j", "actor east 1")
    assert line["time"].endswith("+00:00")
    assert "ValueError: too\nmuch" in line["exception"]
