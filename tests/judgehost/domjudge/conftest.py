"""Judgehosts of this process, with a real sandbox, and the stub server that they judge for."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from deemster.judgehost.backoff import Backoff
from deemster.judgehost.domjudge.host import DomjudgeHost
from deemster.judgehost.domjudge.server import Login
from deemster.settings import Settings
from deemster.wiring.domjudge_host import open_domjudge_hosts
from tests.judgehost.domjudge.domserver import PASSWORD, USER, DomServerStub, JudgingStub
from tests.judgehost.domjudge.http_server import serving
from tests.waiting import until

QUICK = Backoff(first_s=0.01, longest_s=0.05, tries=4)
RUNNER = Path(os.environ["DEEMSTER_RUNNER"]) if "DEEMSTER_RUNNER" in os.environ else None


def settings_in(directory: Path) -> Settings:
    return Settings(
        data_dir=directory / "data",
        work_dir=directory / "work",
        judgehost_name="room-a",
        runner=RUNNER,
        warm_up_mb=0,
    )


@dataclass(frozen=True, slots=True)
class Site:
    """A server and the hosts that judge for it."""

    server: DomServerStub
    hosts: list[DomjudgeHost]
    running: list[asyncio.Task[None]]

    async def judged(self, judging: JudgingStub) -> JudgingStub:
        await until(
            lambda: judging.is_over or any(task.done() for task in self.running),
            why=lambda: (judging, self.server.calls[-20:]),
        )
        for task in self.running:
            assert not task.done(), task.result()
        return judging


@asynccontextmanager
async def judging_for(
    server: DomServerStub, directory: Path, slots: int = 1
) -> AsyncIterator[Site]:
    async with serving(server.handle) as url:
        login = Login(f"{url}/domjudge", USER, PASSWORD)
        async with (
            open_domjudge_hosts(settings_in(directory), login, slots, QUICK) as hosts,
            asyncio.TaskGroup() as group,
        ):
            running = [group.create_task(host.run()) for host in hosts]
            try:
                yield Site(server, hosts, running)
            finally:
                for host in hosts:
                    host.drain()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """One host for all tests of a module."""
    async with judging_for(DomServerStub(), tmp_path_factory.mktemp("domjudge")) as opened:
        yield opened
