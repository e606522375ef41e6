"""Unmodified clients of other services against a running service."""

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from deemster.api.http.socket_token import TOKEN_PREFIX
from tests.services.npm_packages import npm_packages
from tests.system.compat_service import CompatService, new_client, run_client
from tests.system.conftest import RunningService
from tests.system.piston_socket import (
    PATHS,
    PistonSocket,
    dumps,
    init,
    text_of,
    typed,
    until_closed,
    until_text,
    without_data,
)
from tests.waiting import PATIENCE_S, until

SCRIPT = Path(__file__).parent / "piston_script.py"
NPM_SCRIPT = SCRIPT.with_suffix(".mjs")
ASK = "name = input('name? ')\nprint('hi', name, end='')\nimport sys\nsys.exit(len(name))"
GREET = r"""
#include <stdio.h>
int main(void) { char name[9]; puts("name?"); fflush(stdout); scanf("%8s", name); puts(name); }
"""
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


@pytest.fixture
async def served(shared_service: RunningService) -> CompatService:
    return await new_client(shared_service)


async def test_clients_of_piston_jobe_and_sandboxfusion_work_unchanged(
    served: CompatService,
) -> None:
    url, token = f"{served.url}/api/v2/piston/", served.token
    # In a process of its own, because the client closes its session when it is deleted.
    check_piston(await run_client(sys.executable, "-W", "ignore", SCRIPT, url, token))
    async with httpx.AsyncClient(
        base_url=served.url, headers={"X-API-KEY": token}, timeout=PATIENCE_S, verify=False
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


async def test_f2_programs_talk_over_piston_s_websocket(served: CompatService) -> None:
    """Every message, and every close code."""
    client = PistonSocket(served)
    await a_prompt_is_answered(client)
    await compiling_is_a_stage(client)
    await programs_end_in_every_way(client)
    await wrong_messages_close_the_connection(client)
    await errors_are_told(client)
    await a_browser_sends_its_token_as_a_subprotocol(client, served)
    await a_program_ends_when_its_client_leaves(client, served)
    await a_program_ends_with_its_token(client, served)


async def a_prompt_is_answered(client: PistonSocket) -> None:
    """On all paths; what was sent with the program comes first."""
    for path in PATHS:
        async with client.open(path) as socket:
            await socket.send(dumps(init("python", ASK)))
            found = await until_text(socket, "name? ")
            assert found[0]["type"] == "runtime"
            assert found[0]["language"] == "python"
            assert found[0]["version"].startswith("3.")
            assert found[1] == {"type": "stage", "stage": "run"}
            await socket.send(dumps(typed("Ada\n")))
            found, code, reason = await until_closed(socket)
        assert text_of(found) == "hi Ada"
        assert found[-1] == {"type": "exit", "stage": "run", "code": 3, "signal": None}
        assert (code, reason) == (4999, "Job Completed")
    found, code, _ = await client.talk(init("python", ASK, stdin="Bob"))
    assert (text_of(found), code) == ("name? hi Bob", 4999)


async def compiling_is_a_stage(client: PistonSocket) -> None:
    """It is told while the program waits for its input."""
    async with client.open() as socket:
        await socket.send(dumps(init("c", GREET)))
        found = await until_text(socket, "name?\n")
        await socket.send(dumps(typed("Ada\n")))
        more, code, _ = await until_closed(socket)
    assert without_data([*found, *more]) == [
        ("runtime", None, None, None),
        ("stage", "compile", None, None),
        ("exit", "compile", 0, None),
        ("stage", "run", None, None),
        ("exit", "run", 0, None),
    ]
    assert (text_of(more), code) == ("Ada\n", 4999)
    found, code, _ = await client.talk(init("c", "int main() { return x; }"))
    assert "error" in text_of(found, "stderr")
    assert without_data(found)[1:] == [
        ("stage", "compile", None, None),
        ("exit", "compile", 1, None),
    ]
    assert code == 4999


async def programs_end_in_every_way(client: PistonSocket) -> None:
    endless = "print('go', flush=True)\nwhile True: pass"
    for message, code, signal in (
        (init("python", "print("), 1, None),
        (init("python", "import sys; sys.exit(5)"), 5, None),
        (init("python", endless, run_cpu_time=300), None, "SIGKILL"),
        (init("python", "import time; time.sleep(60)", run_timeout=300), None, "SIGKILL"),
    ):
        found, closed, _ = await client.talk(message)
        assert found[-1] == {"type": "exit", "stage": "run", "code": code, "signal": signal}
        assert closed == 4999
    for signal in ("SIGTERM", "SIGKILL"):
        async with client.open() as socket:
            waiting = "print('go', flush=True)\nimport time\ntime.sleep(60)"
            await socket.send(dumps(init("python", waiting)))
            await until_text(socket, "go")
            await socket.send(dumps({"type": "signal", "signal": signal}))
            found, closed, _ = await until_closed(socket)
        assert found[-1] == {"type": "exit", "stage": "run", "code": None, "signal": signal}
        assert closed == 4999


async def wrong_messages_close_the_connection(client: PistonSocket) -> None:
    program = init("python", "input()")
    for messages, code, reason in (
        ([program, program], 4000, "Already Initialized"),
        ([], 4001, "Initialization Timeout"),
        ([{"type": "ping"}, {"type": [1]}, {}], 4001, "Initialization Timeout"),
        ([typed("x")], 4003, "Not yet initialized"),
        ([{"type": "signal", "signal": "SIGINT"}], 4003, "Not yet initialized"),
        ([program, typed("x", "stdout")], 4004, "Can only write to stdin"),
        ([program, {"type": "signal", "signal": "SIGNONE"}], 4005, "Invalid signal"),
        ([program, {"type": "signal", "signal": [9]}], 4005, "Invalid signal"),
    ):
        found, closed, said = await client.talk(*messages)
        assert (closed, said) == (code, reason), messages
        assert not [each for each in found if each["type"] == "error"]


async def errors_are_told(client: PistonSocket) -> None:
    program = init("python", "input()")
    for messages, text in (
        (["{"], "not valid JSON"),
        ([b"\xff"], "not valid JSON"),
        (["[]"], "not a JSON object"),
        (['{"type": "\\ud800"}'], "not valid JSON"),
        ([{"type": "init"}], "language is required as a string"),
        ([init("klingon", "x")], "klingon-* runtime is unknown"),
        ([init("python", "x", run_timeout=10**9)], "run_timeout cannot exceed"),
        ([init("python", "")], "The source is empty"),
        ([program, typed(5)], "data must be a string"),
        ([program, "nothing"], "not valid JSON"),
    ):
        found, closed, said = await client.talk(*messages)
        assert (closed, said) == (4002, "Notified Error"), messages
        assert found[-1]["type"] == "error"
        assert text in found[-1]["message"]
    found, closed, _ = await client.talk(program, token="nobody")
    assert (closed, [each["type"] for each in found]) == (4002, ["error"])


async def a_browser_sends_its_token_as_a_subprotocol(
    client: PistonSocket, served: CompatService
) -> None:
    protocols = [Subprotocol("piston"), Subprotocol(TOKEN_PREFIX + served.token)]
    url = served.url.replace("http", "ws", 1) + PATHS[0]
    async with connect(url, subprotocols=protocols) as socket:
        assert socket.subprotocol == "piston"
        await socket.send(dumps(init("python", "print(1)")))
        found, code, _ = await until_closed(socket)
    assert (text_of(found), code) == ("1\n", 4999)


async def a_program_ends_when_its_client_leaves(
    client: PistonSocket, served: CompatService
) -> None:
    async with client.open() as socket:
        await socket.send(dumps(init("python", "print('go', flush=True)\ninput()")))
        await until_text(socket, "go")
    headers = {"Authorization": f"Bearer {served.token}"}
    async with httpx.AsyncClient(base_url=served.url, headers=headers, verify=False) as http:

        async def have_ended() -> bool:
            listed = (await http.get("/v1/executions?limit=100")).json()["items"]
            assert listed[0]["status"] in {"RUNNING", "CANCELLED"}
            return all(each["status"] not in {"QUEUED", "RUNNING"} for each in listed)

        await until(have_ended)


async def a_program_ends_with_its_token(client: PistonSocket, served: CompatService) -> None:
    """O6"""
    headers = {"Authorization": f"Bearer {served.token}"}
    async with (
        httpx.AsyncClient(base_url=served.url, headers=headers, verify=False) as http,
        client.open() as socket,
    ):
        await socket.send(dumps(init("python", "print('go', flush=True)\ninput()")))
        await until_text(socket, "go")
        (token,) = (await http.get("/v1/tokens")).json()["items"]
        assert (await http.delete(f"/v1/tokens/{token['id']}")).is_success
        await socket.send(dumps(typed("x\n")))
        found, closed, _ = await until_closed(socket)
    assert (closed, found[-1]["type"]) == (4002, "error")
    assert "revoked" in found[-1]["message"]
