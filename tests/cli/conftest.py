"""The command as users start it: a process of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.toolchain import Missing, locate

PATIENCE_S = 120


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
    """Runs the command in an empty directory; afterwards no work directory may be left."""
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
    """Puts a program into the directory; skips where its language isn't installed."""
    catalogue = load_catalogue()

    def write_program(name: str, text: str) -> str:
        found = locate(catalogue.for_file(name))
        if isinstance(found, Missing):
            pytest.skip(found.reason)
        (tmp_path / "here" / name).write_text(text)
        return name

    return write_program
