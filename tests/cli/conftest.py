"""Fixtures that run the `deemster` command."""

import io
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deemster.cli.app import run as run_command
from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.toolchain import Missing, locate
from deemster.store.pool import Pool, open_pool
from tests.waiting import PATIENCE_S


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: bytes
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Deemster = Callable[..., Done]

COMMAND = (sys.executable, "-m", "deemster")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {
        **os.environ,
        "DEEMSTER_DATA_DIR": str(tmp_path / "data"),
        "DEEMSTER_WORK_DIR": str(tmp_path / "work"),
        "COLUMNS": "200",
    }


@pytest.fixture
def deemster(tmp_path: Path, environment: dict[str, str]) -> Deemster:
    """Runs the command as a process in an empty directory; it must leave no work directory."""
    (tmp_path / "here").mkdir()

    def run(*arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            timeout=PATIENCE_S,
            cwd=tmp_path / "here",
            env={**environment, **variables},
            check=False,
        )
        work = tmp_path / "work"
        assert not work.exists() or not list(work.iterdir())
        return Done(done.returncode, done.stdout, done.stderr.decode())

    return run


Write = Callable[[str, str], str]


@pytest.fixture
def write(tmp_path: Path, deemster: Deemster) -> Write:
    """Writes a program into the directory; skips if its language isn't installed."""
    catalogue = load_catalogue()

    def write_program(name: str, text: str) -> str:
        found = locate(catalogue.for_file(name))
        if isinstance(found, Missing):
            pytest.skip(found.reason)
        (tmp_path / "here" / name).write_text(text)
        return name

    return write_program


@pytest.fixture
def operate(
    database_url: str, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Deemster:
    """Runs the command in this process, on a migrated database of the test's own."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("DEEMSTER_DATABASE_URL", database_url)

    def run(*arguments: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["deemster", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO())
        out, err, code = io.StringIO(), io.StringIO(), 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                run_command()
            except SystemExit as end:
                code = int(end.code or 0)
        return Done(code, out.getvalue().encode(), err.getvalue())

    def run_in_thread(*arguments: str) -> Done:
        """A thread has no event loop yet; the test may have one."""
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(run, *arguments).result(PATIENCE_S)

    return run_in_thread


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    """On the database of `operate`."""
    async with open_pool(database_url, name="test") as opened:
        yield opened
