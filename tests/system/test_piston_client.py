"""Unmodified clients of other services against a running service."""

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.services.npm_packages import npm_packages
from tests.system.compat_service import CompatService, make_client, run_client
from tests.system.conftest import RunningService
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {"compat": "piston,jobe,sandboxfusion"}
SCRIPT = Path(__file__).parent / "piston_script.py"
NPM_SCRIPT = SCRIPT.with_suffix(".mjs")
BROKEN_C = "int main() { return x; }"
JAVA = """
public class Hello {
    public static void main(String[] args) {
        System.out.println("hello");
    }
}
"""
CODERUNNER = (
    ("c", "__tester__.c", '#include <stdio.h>\nint main() { puts("hello"); }'),
    ("cpp", "__tester__.cpp", '#include <iostream>\nint main() { std::cout << "hello\\n"; }'),
    ("java", "Hello.java", JAVA),
    ("nodejs", "__tester__.nodejs", "console.log('hello')"),
    ("python3", "__tester__.python3", "print('hello')"),
)
"""As CodeRunner names the files of these languages."""


@pytest_asyncio.fixture(loop_scope="module")
async def served(running_service: RunningService) -> CompatService:
    token = await make_client(running_service.service)
    return CompatService(running_service.service, running_service.address.url, token)


async def test_clients_of_piston_jobe_and_sandboxfusion_work_unchanged(
    served: CompatService,
) -> None:
    url, token = f"{served.url}/api/v2/piston/", served.token
    # In a process of its own, because the client closes its session when it is deleted.
    check_piston(await run_client(sys.executable, "-W", "ignore", SCRIPT, url, token))
    async with httpx.AsyncClient(
        base_url=served.url, headers={"X-API-KEY": token}, timeout=PATIENCE_S
    ) as http:
        await check_jobe(http)
        http.headers["Authorization"] = f"Bearer {token}"
        await check_sandboxfusion(http)


async def test_npm_s_client_of_piston_works_unchanged(served: CompatService) -> None:
    """Its token is in the address, because it can send no header."""
    packages = await asyncio.to_thread(npm_packages)
    found = await run_client("node", NPM_SCRIPT, packages, served.url_with_token)
    assert {"python", "javascript", "c", "c++"} <= set(found["languages"])
    hello = found["hello"]
    assert (hello["language"], hello["run"]["stdout"]) == ("python", "Hello World!\n")
    assert (hello["run"]["code"], hello["run"]["signal"]) == (0, None)
    assert found["configured"]["run"]["output"] == "[ '1', '2', '3' ]\n"
    assert found["unknown"] == {"message": "klingon-* runtime is unknown"}
    assert list(found["stranger"]) == ["message"]


def check_piston(found: dict[str, Any]) -> None:
    assert "python" in found["languages"]
    assert found["runtimes"] == ["python"]
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
    for language, name, source in CODERUNNER:
        spec = {
            "language_id": language,
            "sourcecode": source,
            "sourcefilename": name,
            "input": "",
            "file_list": [],
            "parameters": {"cputime": 10, "numprocs": 100, "memorylimit": 200},
        }
        ran = (await http.post(f"{root}/runs", json={"run_spec": spec})).json()
        assert (ran["outcome"], ran["stdout"]) == (15, "hello\n"), (language, ran)
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
