"""Fixtures that run the `deemster` command."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deemster.cli.app import run as run_command
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, locate
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
        "DEEMSTER_EXECUTION_SLOTS": "4",
        "DEEMSTER_WARM_UP_MB": "0",
        "COLUMNS": "200",
    }


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The directory in which commands run: empty."""
    (tmp_path / "here").mkdir()
    return tmp_path / "here"


@pytest.fixture
def deemster(here: Path, environment: dict[str, str]) -> Deemster:
    """Runs the command as a process in an empty directory; it must leave no work directory."""

    def run(*arguments: str, stdin: bytes = b"", **variables: str) -> Done:
        done = subprocess.run(
            [*COMMAND, *arguments],
            input=stdin,
            capture_output=True,
            timeout=PATIENCE_S,
            cwd=here,
            env={**environment, **variables},
            check=False,
        )
        assert_no_work_is_left(here.parent)
        return Done(done.returncode, done.stdout, done.stderr.decode())

    return run


def assert_no_work_is_left(directory: Path) -> None:
    work = directory / "work"
    assert not work.exists() or not list(work.iterdir())


Write = Callable[[str, str], str]


@pytest.fixture
def write(here: Path) -> Write:
    """Writes a program into the directory; skips if its language isn't installed."""
    catalogue = load_catalogue()

    def write_program(name: str, text: str) -> str:
        found = locate(catalogue.for_file(name))
        if isinstance(found, Missing):
            pytest.skip(found.reason)
        (here / name).write_text(text)
        return name

    return write_program


@pytest.fixture
def call(
    here: Path,
    environment: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Deemster:
    """Like `deemster`, but in this process: another would spend its time on importing."""
    monkeypatch.chdir(here)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str, **variables: str) -> Done:
        code = 0
        with monkeypatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["deemster", *arguments])
            patch.setattr(sys, "stdin", io.StringIO())
            try:
                run_command()
            except SystemExit as end:
                code = int(end.code or 0)
        assert_no_work_is_left(here.parent)
        out, err = capfdbinary.readouterr()
        return Done(code, out, err.decode())

    return run


@pytest.fixture
def operate(call: Deemster, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Deemster:
    """Like `call`, on a migrated database of the test's own."""
    monkeypatch.setenv("DEEMSTER_DATABASE_URL", database_url)

    def run_in_thread(*arguments: str) -> Done:
        """A thread has no event loop yet; the test may have one."""
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(call, *arguments).result(PATIENCE_S)

    return run_in_thread
