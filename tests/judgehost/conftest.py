"""Gives tests a stub of a server, and a directory in memory."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from deemster.directory_store import remove_tree
from deemster.domain.judge_host import HostKey, JudgeHostId
from tests.judgehost.host_process import new_memory_directory
from tests.judgehost.stub_server import StubServer, serving


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    key = HostKey(JudgeHostId("hst_1"), secrets.token_bytes(32))
    with serving(StubServer(key)) as server:
        yield server


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    path = new_memory_directory()
    yield path
    remove_tree(path)
