"""Unmodified clients of other services against a running service."""

import asyncio
import base64
import json
import sys
from pathlib import Path
from typing import Any

import httpx

from deemster.bench.load.processes import free_address
from deemster.domain.account import Role
from deemster.store import accounts
from deemster.store.pool import connection
from tests.builders import make_account
from tests.system.conftest import OpenService
from tests.waiting import PATIENCE_S, until_ready

SCRIPT = Path(__file__).parent / "piston_script.py"
BROKEN_C = "int main() { return x; }"


async def test_clients_of_piston_jobe_and_sandboxfusion_work_unchanged(
    open_service: OpenService,
) -> None:
    address = free_address()
    settings = {"host": address.host, "port": address.port}
    async with open_service(compat="piston,jobe,sandboxfusion", **settings) as service:
        account = await make_account(service.pool, "client", Role.USER)
        async with connection(service.pool) as acquired:
            token = await accounts.add_token(acquired, account, "test")
        service.start("api", "relay", "keeper", "worker")
        await until_ready(address.url)
        await service.until_workers(1)
        check_piston(await run_script(f"{address.url}/api/v2/piston/", token))
        async with httpx.AsyncClient(
            base_url=address.url, headers={"X-API-KEY": token}, timeout=PATIENCE_S
        ) as http:
            await check_jobe(http)
            http.headers["Authorization"] = f"Bearer {token}"
            await check_sandboxfusion(http)


async def run_script(url: str, token: str) -> dict[str, Any]:
    """In a process of its own, because the client closes its session when it is deleted."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "ignore", SCRIPT, url, token),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_S):
        said, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    found: dict[str, Any] = json.loads(said)
    return found


def check_piston(found: dict[str, Any]) -> None:
    assert "python3" in found["languages"]
    assert found["runtimes"] == ["python3"]
    assert found["hello"]["output"] == "hello ['x'] Ada\n"
    assert found["hello"]["code"] == 0
    assert found["module"]["output"] == "42\n"
    assert found["compiled"]["compile"]["code"] == 0
    assert found["compiled"]["run"]["stdout"] == "1\n"
    assert found["compiled"]["run"]["code"] == 3
    broken = found["broken"]
    assert broken["run"] == broken["compile"]
    assert "error" in broken["run"]["stderr"]
    assert (found["slow"]["signal"], found["slow"]["code"]) == ("SIGKILL", None)
    assert found["error"] == "klingon-* runtime is unknown"


async def check_jobe(http: httpx.AsyncClient) -> None:
    root = "/jobe/index.php/restapi"
    listed = (await http.get(f"{root}/languages")).json()
    assert "python3" in [name for name, _ in listed]
    contents = {"file_contents": base64.b64encode(b"from a file").decode()}
    assert (await http.put(f"{root}/files/0123456789", json=contents)).status_code == 204
    assert (await http.head(f"{root}/files/0123456789")).status_code == 204
    spec = {
        "language_id": "python3",
        "sourcecode": "print(open('data.txt').read(), input())",
        "sourcefilename": "__tester__.python3",
        "input": "and stdin",
        "file_list": [["0123456789", "data.txt"]],
        "parameters": {"cputime": 5, "memorylimit": 100},
    }
    ran = (await http.post(f"{root}/runs", json={"run_spec": spec})).json()
    assert (ran["outcome"], ran["stdout"]) == (15, "from a file and stdin\n"), ran
    spec = {"language_id": "c", "sourcecode": BROKEN_C}
    ran = (await http.post(f"{root}/runs", json={"run_spec": spec})).json()
    assert (ran["outcome"], "error" in ran["cmpinfo"]) == (11, True), ran


async def check_sandboxfusion(http: httpx.AsyncClient) -> None:
    body = {
        "code": "open('out', 'w').write(open('in').read() + input())",
        "language": "python",
        "stdin": "b",
        "files": {"in": base64.b64encode(b"a").decode()},
        "fetch_files": ["out"],
    }
    ran = (await http.post("/run_code", json=body)).json()
    assert ran["status"] == "Success", ran
    assert base64.b64decode(ran["files"]["out"]) == b"ab"
    ran = (await http.post("/run_code", json={"code": BROKEN_C, "language": "c"})).json()
    assert (ran["status"], ran["compile_result"]["return_code"]) == ("Failed", 1), ran
