"""Gives tests a stub of a server, and a directory in memory."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deemster.directory_store import remove_tree
from deemster.domain.judge_host import HostKey, JudgeHostId
from tests.judgehost.host_process import new_memory_directory
from tests.judgehost.stub_server import StubServer, serving


@contextmanager
def new_stub() -> Iterator[StubServer]:
    key = HostKey(JudgeHostId("hst_1"), secrets.token_bytes(32))
    with serving(StubServer(key)) as server:
        yield server


@contextmanager
def new_memory() -> Iterator[Path]:
    path = new_memory_directory()
    yield path
    remove_tree(path)


@pytest.fixture(scope="module")
def stub() -> Iterator[StubServer]:
    with new_stub() as server:
        yield server


@pytest.fixture(scope="module")
def memory() -> Iterator[Path]:
    with new_memory() as path:
        yield path
