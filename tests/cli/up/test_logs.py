"""Logs of the roles go to bounded files, and warnings are shown."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from deemster.cli.up import logs
from deemster.cli.up.logs import MAX_SHOWN, WINDOW_S, Log, to_show
from tests.waiting import until


def line(**entry: object) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def opened(path: Path, shown: list[str]) -> Log:
    log = Log(path, shown.append)
    log.rotate()
    return log


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b'{"event": "job.done", "level": "info"}', None),
        (
            b'{"event": "relay.away", "level": "warning", "error": "x", "role": "relay"}',
            "relay.away error=x",
        ),
        (b'{"event": "said \\"warning\\"", "level": "info"}', None),
        (b'{"event": "oops", "level": "error", "exception": "a\\nb"}', "oops"),
        (b'{"event": "Traceback:\\n  x\\nOSError: no\\n", "level": "error"}', "OSError: no"),
        (b"Traceback (most recent call last):", "Traceback (most recent call last):"),
        (b'{"warning" broken', '{"warning" broken'),
        (b"", None),
    ],
)
def test_warnings_and_lines_that_are_not_json_are_shown(line: bytes, shown: str | None) -> None:
    assert to_show(line) == shown


def test_a_line_can_arrive_in_pieces(tmp_path: Path) -> None:
    shown: list[str] = []
    log = opened(tmp_path / "api.log", shown)
    whole = line(event="slow", level="warning")
    for piece in (whole[:5], whole[5:20], whole[20:]):
        log.take(piece, 0)
    assert shown == ["api: slow"]
    assert log.last == "slow"
    assert log.path.read_bytes() == whole
    log.close()


def test_only_some_of_very_many_warnings_are_shown(tmp_path: Path) -> None:
    shown: list[str] = []
    log = opened(tmp_path / "api.log", shown)
    many = line(event="x", level="warning") * 100
    log.take(many, 1.0)
    assert len(shown) == MAX_SHOWN + 1
    assert str(log.path) in shown[-1]
    log.take(many, 1.0 + WINDOW_S)
    assert len(shown) == 2 * (MAX_SHOWN + 1)
    log.close()


def test_files_are_private_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MAX_FILE_BYTES", 1000)
    log = opened(tmp_path / "logs" / "api.log", [])
    for _ in range(100):
        log.take(b"x" * 99 + b"\n", 0)
    log.close()
    files = sorted(log.path.parent.iterdir())
    assert [file.name for file in files] == ["api.log", "api.log.1"]
    assert all(file.stat().st_size <= 1200 for file in files)
    assert stat.S_IMODE(log.path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


async def test_closing_does_not_wait_for_a_process_that_holds_the_pipe(tmp_path: Path) -> None:
    """The children of a dead role may outlive it for a while."""
    async with Log.open(tmp_path / "api.log", lambda _: None) as (log, output):
        process = await asyncio.create_subprocess_exec("sleep", "600", stdout=output)
        os.write(output, b"said\n")
        await until(lambda: b"said" in log.path.read_bytes())
    process.kill()
    await process.wait()
