"""Gives tests a stub of a server, and a directory in memory."""

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deemster.directory_store import remove_tree
from deemster.domain.judge_host import HostKey, JudgeHostId
from tests.judgehost.stub_server import StubServer, serving


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    key = HostKey(JudgeHostId("hst_1"), secrets.token_bytes(32))
    with serving(StubServer(key)) as server:
        yield server


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="deemster-test-"))
    path.chmod(0o1777)  # for every user, as /dev/shm is
    yield path
    remove_tree(path)
