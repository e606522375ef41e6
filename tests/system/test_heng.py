"""M6: an online judge that was written for heng-controller works with a whole service."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx

from tests.heng_client import HengClient, make_client, program, task
from tests.pipeline.deliver.receiver import Receiver, receiving
from tests.services.npm_packages import npm_packages
from tests.system.compat_service import CompatService, new_client, run_client
from tests.system.conftest import SECRET, RunningService
from tests.waiting import until

CHECKER = """
#include "testlib.h"
int main(int argc, char *argv[]) {
    registerTestlibCmd(argc, argv);
    int sum = inf.readInt() + inf.readInt();
    if (ouf.readInt() != sum) quitf(_wa, "expected %d", sum);
    quitf(_ok, "the sum is %d", sum);
}
"""
INTERACTOR = """
#include "testlib.h"
#include <iostream>
int main(int argc, char *argv[]) {
    registerInteraction(argc, argv);
    int number = inf.readInt();
    for (int left = 20; left > 0; left--) {
        int guess = ouf.readInt(1, 1000);
        std::cout << (guess < number ? 1 : guess > number ? -1 : 0) << std::endl;
        if (guess == number) quitf(_ok, "%d guesses", 21 - left);
    }
    quitf(_wa, "too many guesses");
}
"""
GUESS = """
low, high = 1, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    answer = int(input())
    if answer == 0:
        break
    low, high = (middle + 1, high) if answer > 0 else (low, middle - 1)
"""
UMLAUT = "a, b = map(int, input().split())\nprint(a + b)  # zäh\n"
NPM_SCRIPT = Path(__file__).with_name("heng_script.mjs")
HALF_RIGHT = "a, b = map(int, input().split())\nprint(a + b if a == 1 else 0)\n"


async def test_normal_special_and_interactive_tasks_get_their_callbacks_in_order(
    shared_service: RunningService,
) -> None:
    served = await new_client(shared_service)
    async with (
        receiving() as oj,
        httpx.AsyncClient(base_url=served.url, timeout=60, verify=False) as http,
    ):
        client = await make_client(served.service.pool, http, SECRET.encode())
        sent = {
            "normal": task(),
            "all": task(program(HALF_RIGHT)),
            "fuse": task(program("print(0)"), policy="fuse"),
            "special": task(spj=program(CHECKER, "cpp", testlib=True)),
            "interactive": task(
                program(GUESS),
                cases=(("700\n", ""), ("1\n", "")),
                interactor=program(INTERACTOR, "cpp"),
            ),
            "broken": task(program("int main() {", "cpp")),
            "bad-checker": task(spj=program("int main() {", "cpp")),
        }
        results = await asyncio.gather(
            *(send(client, oj, name, each) for name, each in sent.items())
        )
        found = dict(zip(sent, results, strict=True))
        kinds = {name: [case["kind"] for case in each["cases"]] for name, each in found.items()}
        assert kinds == {
            "normal": ["Accepted", "Accepted"],
            "all": ["Accepted", "WrongAnswer"],
            "fuse": ["WrongAnswer", "Unjudged"],
            "special": ["Accepted", "Accepted"],
            "interactive": ["Accepted", "Accepted"],
            "broken": ["CompileError", "CompileError"],
            "bad-checker": ["SystemCompileError", "SystemCompileError"],
        }
        case = found["special"]["cases"][0]
        assert case["extraMessage"] == "ok the sum is 3"
        assert case["memory"] > 1 << 18
        assert "error" in found["broken"]["extra"]["user"]["compileMessage"]
        await check_npm_s_client(served, client, oj)
        problems = await served.service.value("SELECT count(*) FROM problem WHERE unlisted")
        assert problems == 5, "the same data is one problem, whatever the program"


async def check_npm_s_client(served: CompatService, client: HengClient, oj: Receiver) -> None:
    """heng-sign-js signs, and axios sends, both unmodified."""
    packages = await asyncio.to_thread(npm_packages)
    asked = json.dumps(task(program(UMLAUT), callbacks=oj.url), ensure_ascii=False)
    keys = (client.access_key, client.secret_key)
    found = await run_client("node", NPM_SCRIPT, packages, served.url, *keys, asked)
    assert found["accepted"] == {"status": 201, "data": ""}
    assert found["refused"]["status"] == 403
    assert found["refused"]["data"]["code"] == 403
    await until(lambda: [each for each in oj.got if each.path == "/hook/finish"])


async def send(
    client: HengClient, oj: Receiver, name: str, asked: dict[str, Any]
) -> dict[str, Any]:
    """The result of a task, after its callbacks have come in the right order."""
    path = f"/{name}"
    base = oj.url.removesuffix("/hook") + path
    asked = {**asked, "callbackUrls": {"update": f"{base}/u", "finish": f"{base}/f"}}
    answer = await client.send(asked)
    assert (answer.status_code, answer.content) == (201, b""), answer.text
    await until(lambda: [each for each in oj.got if each.path == f"{path}/f"])
    got = [each for each in oj.got if each.path.startswith(f"{path}/")]
    states = [json.loads(each.body) for each in got[:-1]]
    assert states == [{"state": each} for each in ("confirmed", "pending", "judging")]
    assert {each.method for each in got} == {"POST"}
    assert "x-heng-signature" not in got[-1].headers
    result: dict[str, Any] = json.loads(got[-1].body)["result"]
    return result
