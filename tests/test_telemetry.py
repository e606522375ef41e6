"""O2: every log event, also of a library, is one line of JSON and holds no local variable."""

import json
import subprocess
import sys

PROGRAM = """
import logging
import structlog
from deemster.telemetry import configure

early = structlog.get_logger()
configure("info", "api")
structlog.contextvars.bind_contextvars(requestId="r1")
early.info("ours.said", number=1, odd={1, 2} - {2})
early.debug("ours.not_said")
logging.getLogger("deemster.pipeline").info("ours too, %d", 2)
logging.getLogger("library").info("not said")
logging.getLogger("library").warning("a library")

def fail(source):
    raise ValueError("why")

for log in (early, logging.getLogger("library")):
    try:
        fail("PRIVATE" + "-WORDS")
    except ValueError:
        log.exception("failed\\nin two lines")
"""


def test_each_line_is_json_and_holds_no_local_variable() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    assert ran.stdout == ""
    lines = [json.loads(line) for line in ran.stderr.splitlines()]
    assert [line["event"] for line in lines] == [
        "ours.said",
        "ours too, 2",
        "a library",
        "failed\nin two lines",
        "failed\nin two lines",
    ]
    assert all(line["role"] == "api" for line in lines)
    assert all(line["requestId"] == "r1" for line in lines)
    assert [line["level"] for line in lines] == ["info", "info", "warning", "error", "error"]
    assert all(line["time"].endswith("Z") for line in lines)
    assert (lines[0]["number"], lines[0]["odd"]) == (1, "{1}")
    for line in lines[3:]:
        assert "ValueError: why" in line["exception"]
    assert "PRIVATE-WORDS" not in ran.stderr
