"""A6, A7: whatever a client sends, the answer is one that the document names."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.system.conftest import OpenService
from tests.system.service import Service
from tests.waiting import until_ready

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "unsupported_method",
    "allow_header_conformance",
    "ignored_auth",
)
WIDE = {
    "submit_interval_s": 0,
    "submits_per_minute_user": 1_000_000,
    "requests_per_second_user": 1_000_000,
    "refused_logins_per_minute_ip": 1_000_000,
    "sign_up": "true",
}
"""Else most of what is sent would only be told that it comes too fast."""
PATIENCE_S = 1800
ROOT = Path(__file__).parents[2]


async def test_a7_no_answer_is_a_fault_or_unnamed(
    open_service: OpenService, tmp_path: Path
) -> None:
    """As an admin, who may do everything. The soak test also sends requests of users, and the
    three thousand of the phase `coverage`, which try every bound of every field.
    """
    phases = "--phases=examples,fuzzing,stateful"
    await probe(open_service, tmp_path, Role.ADMIN, phases, "--max-examples=2", "--seed=1")


@pytest.mark.soak
@pytest.mark.parametrize("role", [Role.USER, Role.ADMIN])
async def test_a7_no_answer_of_many_is_a_fault_or_unnamed(
    open_service: OpenService, tmp_path: Path, role: Role
) -> None:
    await probe(open_service, tmp_path, role, "--max-examples=150")


async def probe(open_service: OpenService, tmp_path: Path, role: Role, *arguments: str) -> None:
    address = free_address()
    async with open_service(host=address.host, port=address.port, **WIDE) as service:
        token = await make_token(service, role)
        service.start("api", "relay", "worker", "keeper")
        await until_ready(address.url)
        code, said = await schemathesis(
            tmp_path,
            f"{address.url}/openapi.json",
            f"--header=Authorization: Bearer {token}",
            f"--checks={','.join(CHECKS)}",
            *arguments,
        )
    assert code == 0, said


async def make_token(service: Service, role: Role) -> str:
    async with connection(service.pool) as acquired:
        await accounts.add(acquired, "someone", Role.ADMIN)  # so that there is another admin
        account = await accounts.add(acquired, "prober", role)
        return await accounts.add_token(acquired, account.id, "for tests")


async def schemathesis(directory: Path, *arguments: str) -> tuple[int, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--no-color", "run"),
        *("--warnings=off", "--suppress-health-check=all", "--request-timeout=40", *arguments),
        cwd=directory,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCHEMATHESIS_HOOKS": "tests.system.hooks",
        },
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with asyncio.timeout(PATIENCE_S):
        said, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, said.decode(errors="replace")
