"""Tests for a judge host that fetches its tasks: one process for all of them (M1, M2, M4)."""

import asyncio
import os
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from deemster.domain.execution import Stream
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.pipeline.remote.messages import (
    HostOrder,
    ProblemData,  # pytest would collect it
    TaskKind,
)
from tests.judgehost.host_process import (
    HostProcess,
    execution,
    judging,
    make_task,
    outcome,
    output_of,
    publish,
    result_of,
    running_host,
)
from tests.judgehost.stub_server import StubServer
from tests.system.programs import BROKEN, PACKAGE, RIGHT, WRONG, Program
from tests.waiting import wait_until

SLEEPS = "import time\nprint('asleep', flush=True)\ntime.sleep(60)"
SPINS = """
#include <stdio.h>
#include <time.h>
int main(void) {
    int a, b;
    if (scanf("%d %d", &a, &b) != 2) return 1;
    while (clock() < CLOCKS_PER_SEC / 20) {}
    printf("%d\\n", a + b);
}"""
PAUSES = """
#include <stdio.h>
#include <unistd.h>
int main(void) {
    int a, b;
    if (scanf("%d %d", &a, &b) != 2) return 1;
    usleep(200000);
    printf("%d\\n", a + b);
}"""
TALKS = """
import os, time
os.write(1, b"one \\xff ")
time.sleep(0.4)
os.write(2, b"warned")
time.sleep(0.4)
os.write(1, b"two")
"""
DRIVERS = re.compile(r"\|\s+(asyncpg|psycopg\w*|bullmq|redis|deemster\.(store|api))\b")


@pytest.fixture(scope="module")
def data(stub: StubServer, tmp_path_factory: pytest.TempPathFactory) -> ProblemData:
    return asyncio.run(publish(stub, PACKAGE, tmp_path_factory.mktemp("packed")))


@pytest.fixture(scope="module")
def host(
    stub: StubServer, memory: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[HostProcess]:
    with running_host(stub, tmp_path_factory.mktemp("host"), memory) as started:
        yield started


@pytest.fixture(autouse=True)
def quiet(stub: StubServer, host: HostProcess) -> Iterator[None]:
    """After each test the host has no task, and still runs."""
    yield
    wait_until(lambda: stub.heartbeats and not stub.running and not stub.heartbeats[-1].busy)
    assert host.process.poll() is None, host.said[-3000:]
    refused = {fault for fault in stub.refused if fault != "expired"}
    assert not refused, refused


def contents(folder: Path) -> list[bytes]:
    return [each.read_bytes() for each in folder.rglob("*") if each.is_file()]


def test_m4_a_host_announces_its_languages_slots_and_speed(stub: StubServer) -> None:
    said = stub.announcements[0]
    assert "gcc" in said.languages["c"].lower() or said.languages["c"][0].isdigit()
    assert (said.slots, said.execution_slots, said.address) == (1, 2, None)
    assert said.speed is not None
    assert 0.01 < said.speed < 100


@pytest.mark.parametrize("program", [RIGHT, WRONG, BROKEN], ids=lambda each: each.verdict)
def test_m1_a_submission_is_judged(
    stub: StubServer, data: ProblemData, program: Program
) -> None:
    finish = outcome(stub, judging(program.language, program.source, data))
    assert finish.judge is not None
    assert finish.judge.judgement.verdict is program.verdict
    assert stub.downloads.total() == 1, "the test data are kept"
    assert data.digest in wait_until(lambda: stub.heartbeats[-1].data)


def test_m1_test_data_are_in_memory_or_encrypted(
    stub: StubServer, host: HostProcess, data: ProblemData
) -> None:
    """X6: nobody who gets the disk can read test cases, or tell whose they are."""
    outcome(stub, judging(RIGHT.language, RIGHT.source, data))
    secret = b"05-largest"
    assert any(secret in each for each in stub.data.values())
    assert list(host.memory.rglob("05-largest.in"))
    kept = contents(host.data)
    assert max(map(len, contents(host.data / "judgehost-cache"))) >= len(stub.data[data.path])
    assert not any(secret in each for each in kept)
    names = [str(each) for each in host.data.rglob("*")]
    assert not any(data.digest in name or "largest" in name for name in names)


def test_m1_the_process_has_no_driver_and_no_credential_but_its_key(
    stub: StubServer, host: HostProcess, data: ProblemData
) -> None:
    outcome(stub, judging(RIGHT.language, RIGHT.source, data))
    assert "deemster.judgehost.task_runner" in host.said, "modules are listed"
    assert not DRIVERS.findall(host.said)
    process = Path(f"/proc/{host.process.pid}")
    maps = (process / "maps").read_text()
    assert "libpython" in maps or "python" in maps
    assert not re.search(r"asyncpg|psycopg|libpq|redis|bullmq", maps)
    environment = (process / "environ").read_text()
    assert not re.search(r"DATABASE|QUEUE|SECRET_KEY|TOKEN|dmh_", environment)
    for child in descendants(host.process.pid):
        assert "DEEMSTER" not in Path(f"/proc/{child}/environ").read_text()


def test_m1_a_program_cannot_read_the_key(stub: StubServer, host: HostProcess) -> None:
    key_file = host.directory / "key"
    reads = f"""
import os, pathlib
for path in [{str(key_file)!r}, "/proc/{host.process.pid}/environ", "/proc/1/environ"]:
    try:
        print(path, pathlib.Path(path).read_text())
    except OSError as fault:
        print(type(fault).__name__)
print([name for name in os.environ if "DEEMSTER" in name])
"""
    task = execution("python3", reads)
    outcome(stub, task)
    said = b"".join(each.content for each in output_of(stub, task)).decode()
    assert "dmh_" not in said
    assert said.endswith("[]\n")


def test_a_time_limit_is_multiplied_by_the_factor(stub: StubServer, data: ProblemData) -> None:
    tasks = [
        judging("c", SPINS, data, time_ms=25, time_factor=factor) for factor in (1.0, 20.0)
    ]
    stub.tasks += tasks
    found = [result_of(stub, task).judge for task in tasks]
    assert [each and each.judgement.verdict for each in found] == [
        Verdict.TIME_LIMIT,
        Verdict.ACCEPTED,
    ]


def test_j10_heartbeats_tell_the_progress(stub: StubServer, data: ProblemData) -> None:
    before = len(stub.heartbeats)
    task = judging("c", PAUSES, data, time_ms=2000, cases=9)
    outcome(stub, task)
    seen = [
        each.done
        for beat in stub.heartbeats[before:]
        for each in beat.running
        if each.judge_id == task.judge_id and each.total == 9
    ]
    assert seen == sorted(seen)
    assert len(set(seen)) > 2


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
def test_a_program_is_compiled_while_another_one_is_judged(
    stub: StubServer, data: ProblemData
) -> None:
    """Not the first one: compile slots are opened when they are wanted."""
    numbers = count(1)

    def is_compiled_ahead() -> bool:
        slow = judging("c", PAUSES, data, time_ms=2000)
        new = judging("c", f"{SPINS} // {next(numbers)}", data)
        stub.tasks += [slow, new]
        found = [result_of(stub, each).judge for each in (slow, new)]
        assert [each and each.judgement.verdict for each in found] == [Verdict.ACCEPTED] * 2
        assert found[1] is not None
        assert found[1].judgement.compiled is not None
        return found[1].judgement.compiled.cached

    wait_until(is_compiled_ahead)


def test_e5_output_is_sent_while_the_program_runs(stub: StubServer) -> None:
    task = execution("python3", TALKS)
    finish = outcome(stub, task)
    assert finish.execute is not None
    assert finish.execute.result.status is RunStatus.OK
    updates = stub.updates[task.judge_id]
    assert updates, "nothing was sent before the result"
    chunks = output_of(stub, task)
    assert [(each.number, each.stream, each.content) for each in chunks] == [
        (1, Stream.STDOUT, b"one \xff "),
        (2, Stream.STDERR, b"warned"),
        (3, Stream.STDOUT, b"two"),
    ]


def test_x6_an_analysis_runs_on_the_host(stub: StubServer, data: ProblemData) -> None:
    task = make_task(TaskKind.ANALYZE, "python3", "import os\nprint(1)\n", data=data)
    finish = outcome(stub, task)
    assert finish.failure is None
    assert finish.analyze is not None
    assert finish.analyze.sarif


def test_what_the_host_cannot_do_is_a_failure(stub: StubServer, data: ProblemData) -> None:
    unknown = data.model_copy(update={"digest": "0" * 64, "path": "/v1/judgehost/data/0?x=1"})
    cases = [
        (execution("brainfuck", ""), True, "brainfuck"),
        (judging("python3", "", unknown), False, "can't be fetched"),
        (execution("python3", SLEEPS, deadline_s=0.5), False, "took longer than 0.5 s"),
    ]
    for task, is_refusal, text in cases:
        failure = outcome(stub, task).failure
        assert failure is not None
        assert text in failure.error
        assert failure.is_refusal is is_refusal


def test_m1_damaged_test_data_are_refused(
    stub: StubServer, tmp_path: Path, host: HostProcess
) -> None:
    data = asyncio.run(publish(stub, PACKAGE.parent / "fence", tmp_path))
    sound = stub.data[data.path]
    at = sound.index(b"validate") + 3
    stub.data[data.path] = sound[:at] + b"X" + sound[at + 1 :]
    failure = outcome(stub, judging("python3", "print(1)", data)).failure
    assert failure is not None
    assert "damaged" in failure.error
    assert not failure.is_refusal
    stub.data[data.path] = sound
    finish = outcome(stub, judging("python3", "print(1)", data))
    assert finish.judge is not None
    assert not list(host.memory.rglob("*.tar"))


def test_m2_a_lost_task_is_stopped(stub: StubServer) -> None:
    task = execution("python3", SLEEPS)
    stub.tasks.append(task)
    wait_until(lambda: stub.updates[task.judge_id])
    stub.lost.add(task.judge_id)
    wait_until(lambda: task.judge_id not in stub.running)
    assert not stub.finish_tries[task.judge_id]


def test_m2_a_task_that_comes_twice_runs_once(stub: StubServer) -> None:
    task = execution("python3", "print(1)")
    stub.tasks += [task, task]
    result_of(stub, task)
    outcome(stub, task.model_copy(update={"judge_id": f"{task.judge_id}-other"}))
    stub.tasks.append(task)
    wait_until(lambda: task not in stub.tasks)
    outcome(stub, execution("python3", "print(2)"))
    assert stub.finish_tries[task.judge_id] == 1


def test_m2_a_result_is_sent_until_the_server_has_it(stub: StubServer) -> None:
    task = execution("python3", "print(1)")
    stub.finish_statuses[task.judge_id] = [503, 500, 429]
    assert outcome(stub, task).execute is not None
    assert stub.finish_tries[task.judge_id] == 4


@pytest.mark.parametrize("status", [404, 409, 410])
def test_m2_a_result_that_does_not_count_is_dropped(stub: StubServer, status: int) -> None:
    task = execution("python3", "print(1)")
    stub.finish_statuses[task.judge_id] = [status]
    stub.tasks.append(task)
    wait_until(lambda: stub.finish_tries[task.judge_id])
    wait_until(lambda: not stub.running)
    assert stub.finish_tries[task.judge_id] == 1


def test_a_result_that_the_server_cannot_read_becomes_a_failure(stub: StubServer) -> None:
    task = execution("python3", "print(1)")
    stub.finish_statuses[task.judge_id] = [413]
    failure = outcome(stub, task).failure
    assert failure is not None
    assert "refused the result" in failure.error


def test_m4_a_drained_host_takes_no_tasks_until_it_is_resumed(
    stub: StubServer, host: HostProcess
) -> None:
    stub.order = HostOrder.DRAIN
    wait_until(lambda: "judgehost.drained" in host.said)
    task = execution("python3", "print(1)")
    stub.tasks.append(task)
    beats = len(stub.heartbeats)
    wait_until(lambda: len(stub.heartbeats) > beats + 3)
    assert task in stub.tasks
    stub.order = HostOrder.WORK
    assert result_of(stub, task).execute is not None


def test_m4_a_host_that_was_taken_for_dead_stops_its_tasks_and_registers_again(
    stub: StubServer,
) -> None:
    task = execution("python3", SLEEPS)
    stub.tasks.append(task)
    wait_until(lambda: stub.updates[task.judge_id])
    before = stub.worker
    stub.gone.add(before)
    wait_until(lambda: stub.worker != before and stub.heartbeats[-1].worker == stub.worker)
    wait_until(lambda: not stub.running)
    assert not stub.finish_tries[task.judge_id]
    assert outcome(stub, execution("python3", "print(1)")).execute is not None


def test_m1_a_wrong_clock_is_told_in_plain_words(stub: StubServer, host: HostProcess) -> None:
    stub.clock_ahead_s = 300
    try:
        wait_until(lambda: re.search("this machine is (299|300) s behind that of", host.said))
    finally:
        stub.clock_ahead_s = 0
    assert stub.refused["expired"]
    assert outcome(stub, execution("python3", "print(1)")).execute is not None


def test_m1_tasks_of_somebody_else_are_ignored(stub: StubServer, host: HostProcess) -> None:
    warning = "is not from the server of this judge host (forged)"
    stub.answer_secret = b"another"
    task = execution("python3", "print(1)")
    stub.tasks.append(task)
    try:
        wait_until(lambda: warning in host.said)
    finally:
        stub.answer_secret = None
    assert outcome(stub, execution("python3", "print(1)")).execute is not None
    assert not stub.finish_tries[task.judge_id]


def descendants(pid: int) -> list[int]:
    found = []
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (thread / "children").read_text().split()):
            found += [child, *descendants(child)]
    return found
