"""X11, O4: who follows "Many machines" of docs/operating.md gets a running system.

The commands, statements and settings come from the page itself. Two directories stand for two
machines; the database is Debian's.
"""

import asyncio
import os
import re
import shlex
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from redis.asyncio import Redis

from deemster.settings import load_settings
from deemster.store.pool import DatabaseRefuses
from deemster.wiring.metrics_server import PORT_OFFSETS
from deemster.wiring.resources import check_database
from tests.cli.up.privileges import check_least_privileges, has_runner_and_boxes
from tests.cli.up.service import with_descendants
from tests.services.old_postgres import fresh_server, other_binaries
from tests.services.ports import reserved_port
from tests.services.redis import OwnRedis
from tests.waiting import PATIENCE_S, until, until_ready

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
OWN_METRICS = {
    "relay": '\ndeemster_sent_jobs_total{task="submission:run"} 1.0\n',
    "worker": '\ndeemster_verdicts_total{language="python3",verdict="Accepted"} 1.0\n',
    "keeper": "\ndeemster_lost_jobs_total 0.0\n",
}
KINDS = ["sql", "", "", "toml", "sh", "sh", "sh", "sh"]


@dataclass(frozen=True)
class Page:
    """The blocks of the page, with the names of this machine."""

    statements: str
    access: str
    redis_user: str
    settings: str
    preparation: str
    roles: list[list[str]]
    judging_roles: list[list[str]]
    trial: str


def read_page(names: Mapping[str, str]) -> Page:
    page = (ROOT / "docs" / "operating.md").read_text()
    section = page.partition("\n## Many machines\n")[2].partition("\n## ")[0]
    for name, ours in names.items():
        assert name in section, name
        section = section.replace(name, ours)
    blocks = BLOCK.findall(section)
    assert [kind for kind, _ in blocks] == KINDS
    sql, access, user, toml, preparation, roles, worker, trial = [text for _, text in blocks]
    return Page(sql, access, user, toml, preparation, commands(roles), commands(worker), trial)


def commands(text: str) -> list[list[str]]:
    return [shlex.split(line, comments=True) for line in text.splitlines()]


@dataclass(frozen=True)
class Machine:
    directory: Path

    @classmethod
    def make(cls, directory: Path, settings: str) -> "Machine":
        directory.mkdir()
        file = directory / "deemster.toml"
        file.touch(mode=0o600)
        file.write_text(settings)
        return cls(directory)

    @property
    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "DEEMSTER_CONFIG": str(self.directory / "deemster.toml"),
            "DEEMSTER_DATA_DIR": str(self.directory / "data"),
            "DEEMSTER_WORK_DIR": str(self.directory / "work"),
            "DEEMSTER_EXECUTION_SLOTS": "4",
            "DEEMSTER_PRECOMPILE": "false",
            "DEEMSTER_WARM_UP_MB": "0",
        }

    async def run(self, script: str, **variables: str) -> str:
        """The output of a script that must succeed."""
        process = await asyncio.create_subprocess_exec(
            *("sh", "-euc", script),
            cwd=ROOT,
            env={**self.environment, **variables},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
        )
        async with asyncio.timeout(PATIENCE_S):
            output, _ = await process.communicate()
        assert process.returncode == 0, output.decode()
        return output.decode()

    @asynccontextmanager
    async def role(self, argv: list[str], **variables: str) -> AsyncIterator[Process]:
        log = self.directory / f"{argv[1]}.log"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *argv, env={**self.environment, **variables}, stdout=file, stderr=file
            )
        try:
            yield process
        except BaseException:
            print(log.read_text()[-3000:])
            raise
        finally:
            if process.returncode is None:
                process.terminate()
            async with asyncio.timeout(PATIENCE_S):
                code = await process.wait()
        assert code == 0, log.read_text()[-3000:]


@contextmanager
def debian_postgres(port: int, access: str, statements: str) -> Iterator[None]:
    options = ("listen_addresses=127.0.0.1", f"port={port}")
    with fresh_server(other_binaries()[0], options, access) as socket:
        url = f"postgresql://postgres@/postgres?host={socket}&port={port}"
        with psycopg.connect(url, autocommit=True) as link:
            for statement in statements.splitlines():
                link.execute(statement.encode())
        yield


@pytest.mark.skipif(not other_binaries(), reason="needs Debian's package postgresql")
async def test_x11_the_page_about_many_machines_leads_to_a_running_system(
    tmp_path: Path,
) -> None:
    """Every role runs with the least privileges; only root can read the settings file."""
    postgres, port = reserved_port(), reserved_port()
    async with OwnRedis(tmp_path / "redis") as redis:
        page = read_page(
            {
                "hostssl": "host",  # this server has no certificate
                "10.0.0.0/8": "127.0.0.1/32",
                "db.example:5432": f"127.0.0.1:{postgres}",
                "redis.example:6379": redis.url.removeprefix("redis://").removesuffix("/0"),
                "file:///srv/deemster": f"file://{tmp_path}/shared",
                "SECRET-KEY": "secret-key-0123456789",
                "http://127.0.0.1:8000": f"http://127.0.0.1:{port}",
            }
        )
        client: Any = Redis.from_url(redis.url)
        await client.execute_command("ACL", "SETUSER", *page.redis_user.split()[1:])
        await client.aclose()
        with debian_postgres(postgres, page.access, page.statements):
            await follow(page, tmp_path, port)
            wrong = f"postgresql://deemster_app:WRONG@127.0.0.1:{postgres}/deemster"
            with pytest.raises(DatabaseRefuses, match="check the role and the password"):
                await check_database(load_settings(database_url=wrong))


async def follow(page: Page, directory: Path, port: int) -> None:
    serving, judging = [
        Machine.make(directory / name, page.settings) for name in ("serving", "judging")
    ]
    prepared = await serving.run(page.preparation)
    token = next(line for line in prepared.splitlines() if line.startswith("deem_"))
    metrics = {name: reserved_port() for name in ("relay", "worker", "keeper")}
    roles = [
        serving.role(each, DEEMSTER_PORT=str(port), **metrics_port(each[1], metrics))
        for each in page.roles
    ]
    [judging_role] = [
        judging.role(each, **metrics_port(each[1], metrics)) for each in page.judging_roles
    ]
    api, relay, keeper = roles
    async with api as first, relay as second, keeper as third, judging_role as worker:
        await until_ready(f"http://127.0.0.1:{port}")
        trial = page.trial.replace("TOKEN-OF-ADA", token).replace("sum.py", f"{directory}/a.py")
        assert "Accepted" in await serving.run(trial)
        for process in (first, second, third):
            check_least_privileges(with_descendants(process.pid))
        found = check_least_privileges(with_descendants(worker.pid))
        if os.geteuid() == 0:
            assert has_runner_and_boxes(found)
        names = ("api", "relay", "keeper")
        logs = [serving.directory / f"{name}.log" for name in names]
        assert all("role.started" in log.read_text() for log in logs)
        await until(lambda: "role.started" in (judging.directory / "worker.log").read_text())
        for name, own in OWN_METRICS.items():
            await until_exported(metrics[name], own)


async def until_exported(port: int, metric: str) -> None:
    """O1: a role exports what only it counts, also as an ordinary user."""

    async def is_exported() -> bool:
        return metric in (await client.get(f"http://127.0.0.1:{port}/metrics")).text

    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        await until(is_exported)


def metrics_port(role: str, ports: Mapping[str, int]) -> dict[str, str]:
    """The setting with which this role has this port."""
    if role not in ports:
        return {}
    return {"DEEMSTER_METRICS_PORT": str(ports[role] - PORT_OFFSETS[role])}
