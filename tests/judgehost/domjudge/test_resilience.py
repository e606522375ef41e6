"""A judgehost survives faults of the DOMjudge server, and gives unfinished work back (M7)."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from deemster.cli.exit_codes import ExitCode
from deemster.domain.errors import Refused
from deemster.judgehost.domjudge.server import Login
from deemster.wiring.domjudge_host import open_domjudge_hosts
from tests.judgehost.domjudge.conftest import QUICK, RUNNER, judging_for, settings_in
from tests.judgehost.domjudge.domserver import PASSWORD, USER, DomServerStub
from tests.judgehost.domjudge.http_server import Answer, Request, serving
from tests.judgehost.domjudge.packages import submit, words
from tests.sandbox.conftest import processes_under
from tests.system.traces import runners_of
from tests.waiting import until

ECHO = b"print(input())\n"
NAP = b"import time\ntime.sleep(1)\nprint(input())\n"
LONG_FIRST = b"""
import time
number = input()
time.sleep(5 if number == "0" else 0)
print(number)
"""
"""Runs long enough in the first case to be found on a busy machine."""
SLEEP = b"import time\ntime.sleep(600)\n"
CASES = words(*[(f"{n}\n", f"{n}\n") for n in range(3)], time_limit=900)
CALLS = (
    "POST judgehosts$", "GET config", "POST judgehosts/fetch-work", "get_version_commands",
    "get_files/source", "get_files/compile", "update-judging", "get_files/run",
    "get_files/compare", "get_files/testcase", "add-judging-run",
)  # fmt: skip
"""In the order of a judging."""


@pytest.mark.parametrize("status", [500, 503, 429, None])
async def test_calls_that_fail_for_now_are_repeated(tmp_path: Path, status: int | None) -> None:
    server = DomServerStub()
    server.faults.extend((call, status) for call in CALLS for _ in range(2))
    judging = submit(server, CASES, {"a.py": ECHO})
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
        await until(lambda: all(judging.results))
    assert judging.results == ["correct"] * 3
    assert not server.faults
    assert judging.compiled_by == ["room-a-0"]


async def test_a_report_that_never_arrives_is_judged_again(tmp_path: Path) -> None:
    server = DomServerStub()
    server.faults.extend([("add-judging-run", 500)] * (QUICK.tries or 0))
    judging = submit(server, CASES, {"a.py": ECHO})
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
    assert judging.results == ["correct"] * 3
    assert len(server.registered) > 1


async def test_a_judging_that_the_server_has_cancelled_does_not_stop_the_host(
    tmp_path: Path,
) -> None:
    server = DomServerStub()
    cancelled = submit(server, CASES, {"a.py": ECHO})

    def cancel(call: str) -> None:
        if "update-judging" in call and cancelled.runs:
            cancelled.runs.clear()

    server.before_answer = cancel
    later = submit(server, CASES, {"a.py": ECHO})
    async with judging_for(server, tmp_path) as site:
        await site.judged(later)
    assert later.results == ["correct"] * 3


async def test_unfinished_work_of_an_earlier_start_is_given_back_and_judged(
    tmp_path: Path,
) -> None:
    server = DomServerStub()
    judging = submit(server, CASES, {"a.py": ECHO})
    for run in judging.runs:
        run.host = "room-a-0"
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
    assert judging.results == ["correct"] * 3


async def test_a_host_waits_for_a_server_that_is_not_there_yet(
    tmp_path: Path, unused_tcp_port: int
) -> None:
    server = DomServerStub()
    judging = submit(server, CASES, {"a.py": ECHO})
    login = Login(f"http://127.0.0.1:{unused_tcp_port}/domjudge", USER, PASSWORD)
    async with (
        open_domjudge_hosts(settings_in(tmp_path), login, 1, QUICK) as [host],
        asyncio.TaskGroup() as group,
    ):
        running = group.create_task(host.run())
        await until(lambda: "unreachable" in str(host._lines))
        async with serving(server.handle, unused_tcp_port):
            await until(lambda: judging.is_over or running.done())
            host.drain()
            await running
    assert judging.results == ["correct"] * 3


async def test_a_wrong_url_is_refused_but_a_server_that_was_there_is_waited_for(
    tmp_path: Path,
) -> None:
    server = DomServerStub()
    async with serving(server.handle) as url:
        login = Login(f"{url}/elsewhere", USER, PASSWORD)
        async with open_domjudge_hosts(settings_in(tmp_path), login, 1, QUICK) as [host]:
            with pytest.raises(Refused, match="POST judgehosts"):
                await host.run()
    server.faults.extend([("fetch-work", 404), ("POST judgehosts$", 404)])
    judging = submit(server, CASES, {"a.py": ECHO})
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
    assert judging.results == ["correct"] * 3


async def test_sources_below_their_contest_as_in_version_10(tmp_path: Path) -> None:
    server = DomServerStub(contest="main")
    judging = submit(server, CASES, {"a.py": ECHO}, changes={"submitid": "s-7.a"})
    server.sources["s-7.a"] = server.sources[next(iter(server.sources))]
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
        server.contest = None
        old = submit(server, CASES, {"a.py": ECHO}, changes={"cid": 3})
        await site.judged(old)
    assert judging.results == old.results == ["correct"] * 3


async def test_servers_of_version_8_0_send_no_hashes(tmp_path: Path) -> None:
    server = DomServerStub()
    problem = words(("7\n", "7\n"), hash=None, pass_limit=None, overshoot=None)
    judging = submit(server, problem, {"a.py": ECHO}, changes={"testcase_hash": None})
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
    assert judging.results == ["correct"]


async def test_every_slot_is_a_host_of_its_own(tmp_path: Path) -> None:
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    server = DomServerStub()
    judgings = [submit(server, CASES, {"a.py": NAP}) for _ in range(2)]
    async with judging_for(server, tmp_path, slots=2) as site:
        for judging in judgings:
            await site.judged(judging)
    assert {host for each in judgings for host in each.compiled_by} == {
        "room-a-0",
        "room-a-1",
    }


async def test_two_processes_can_not_have_one_name(tmp_path: Path) -> None:
    login = Login("http://127.0.0.1:1", USER, PASSWORD)
    settings = settings_in(tmp_path)
    async with open_domjudge_hosts(settings, login, 1, QUICK):
        with pytest.raises(Refused, match="already runs"):
            async with open_domjudge_hosts(settings, login, 1, QUICK):
                pass


async def test_a_runner_that_dies_costs_no_result(tmp_path: Path) -> None:
    server = DomServerStub()
    judging = submit(server, CASES, {"a.py": LONG_FIRST})
    of_others = runners_of(os.getpid())
    async with judging_for(server, tmp_path) as site:
        await until(lambda: any("python3 a.py" in line for line in command_lines(os.getpid())))
        for runner in set(runners_of(os.getpid())).difference(of_others):
            os.kill(runner, signal.SIGKILL)
        await site.judged(judging)
        assert "sandbox_failed" in str(site.hosts[0]._lines)
    assert judging.results == ["correct"] * 3
    assert server.errors == []


def command_lines(process: int) -> list[str]:
    """Those of all processes that this one has started."""
    found = []
    for each in processes_under(process) - {process}:
        with suppress(OSError):
            found.append(Path(f"/proc/{each}/cmdline").read_text().replace("\0", " "))
    return found


async def test_a_host_that_can_not_judge_reports_itself(tmp_path: Path) -> None:
    server = DomServerStub()
    server.config["timelimit_overshoot"] = "some time"
    judging = submit(server, CASES, {"a.py": ECHO})
    async with judging_for(server, tmp_path) as site:
        await site.judged(judging)
        await until(lambda: "host_not_enabled" in str(site.hosts[0]._lines))
    [error] = server.errors
    assert json.loads(error["disabled"]) == {"kind": "judgehost", "hostname": "room-a-0"}
    assert "timelimit_overshoot" in error["description"]


# ---- processes ----


@asynccontextmanager
async def process(
    url: str, directory: Path, password: str = PASSWORD, *more: str
) -> AsyncIterator[Process]:
    secret = directory / "password"
    secret.write_text(password + "\n", encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "DEEMSTER_DATA_DIR": str(directory / "data"),
        "DEEMSTER_WORK_DIR": str(directory / "work"),
        "DEEMSTER_JUDGEHOST_NAME": "room-b",
        "DEEMSTER_WARM_UP_MB": "0",
        "DEEMSTER_DOMJUDGE_PASSWORD_FILE": str(secret),
        **({"DEEMSTER_RUNNER": str(RUNNER)} if RUNNER else {}),
    }
    argv = ("-m", "deemster", "judgehost", "--domjudge", url, "--slots", "1", *more)
    child = await asyncio.create_subprocess_exec(
        sys.executable, *argv, env=environment, stderr=PIPE
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def test_after_kill_9_a_new_start_judges_what_was_left(tmp_path: Path) -> None:
    server = DomServerStub()
    judging = submit(server, CASES, {"a.py": SLEEP})
    async with serving(server.handle) as url:
        async with process(f"{url}/domjudge", tmp_path) as first:
            await until(lambda: judging.compile_report or first.returncode is not None)
            first.kill()
            await first.wait()
        assert [run.host for run in judging.runs] == ["room-b-0"] * 3
        server.sources = {each: {"a.py": ECHO} for each in server.sources}
        async with process(f"{url}/domjudge", tmp_path) as second:
            await until(lambda: judging.is_over or second.returncode is not None)
    assert judging.results == ["correct"] * 3
    assert judging.compiled_by == ["room-b-0"] * 2


async def test_sigterm_ends_after_the_running_case_and_gives_the_rest_back(
    tmp_path: Path,
) -> None:
    server = DomServerStub()
    judging = submit(server, CASES, {"a.py": NAP})
    async with serving(server.handle) as url, process(f"{url}/domjudge", tmp_path) as child:
        await until(lambda: judging.compile_report or child.returncode is not None)
        child.send_signal(signal.SIGTERM)
        await until(lambda: child.returncode is not None)
    assert child.returncode == 0
    assert judging.results in (["correct", None, None], ["correct", "correct", None])
    assert [run.host for run in judging.runs if run.report is None][-1] is None


async def test_a_wrong_password_ends_the_process_with_a_message(tmp_path: Path) -> None:
    server = DomServerStub()
    async with (
        serving(server.handle) as url,
        process(f"{url}/domjudge", tmp_path, "not-this-one") as child,
    ):
        _, errors = await child.communicate()
    assert child.returncode == ExitCode.UNABLE
    assert b"DEEMSTER_DOMJUDGE_USER" in errors
    assert b"not-this-one" not in errors


async def test_an_answer_that_is_not_of_a_domserver_is_no_work(tmp_path: Path) -> None:
    def page(request: Request) -> Answer:
        seen.append(request.path)
        return Answer(content=b"<html>Welcome</html>")

    seen: list[str] = []
    async with serving(page) as url:
        login = Login(url, USER, PASSWORD)
        async with (
            open_domjudge_hosts(settings_in(tmp_path), login, 1, QUICK) as [host],
            asyncio.TaskGroup() as group,
        ):
            group.create_task(host.run())
            await until(lambda: "without JSON" in str(host._lines))
            host.drain()
    assert set(seen) == {"/api/v4/judgehosts"}


def test_the_process_imports_no_driver_of_a_database_or_queue() -> None:
    program = (
        "import sys, deemster.cli.judgehost, deemster.wiring.domjudge_host\n"
        "names = {name.partition('.')[0] for name in sys.modules}\n"
        "print(sorted(names & {'asyncpg', 'psycopg', 'redis', 'bullmq'}))"
    )
    argv = [sys.executable, "-c", program]
    found = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
