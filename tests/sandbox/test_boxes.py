"""Boxes: streams, cancelling, /code, collecting, and the death of runners and slots."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB, Limits
from deemster.domain.run_status import RunStatus
from deemster.sandbox.boxes import Boxes
from deemster.sandbox.checks import cgroup_version
from deemster.sandbox.command import Command, Layers, Profile
from deemster.sandbox.runner import PACKAGED_RUNNER, SandboxFault
from tests.sandbox.conftest import PATIENT, RUNNER, open_files, processes_under, shell, started
from tests.waiting import PATIENCE_S, until

pytestmark = pytest.mark.rootless


async def test_j7_waiting_takes_no_cpu_time() -> None:
    """J7: init waits in the cgroup of the run, so its time would count as the program's."""
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(shell("sleep 2"))
    assert report.status is RunStatus.OK
    assert report.cpu_ns < report.wall_ns / 2


async def test_output_and_exit_code_are_reported() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(shell("cat; echo err >&2; exit 3"), stdin=b"hello\n")
    assert (report.status, report.exit_code) == (RunStatus.NONZERO_EXIT, 3)
    assert (report.stdout, report.stderr) == (b"hello\n", b"err\n")


@pytest.mark.parametrize("pause", ["", "sleep 0.02; "])
async def test_e4_two_outputs_in_one_sink_keep_their_order(pause: str) -> None:
    """E4: also those of a run that is over before its output is read."""
    command = shell(f"echo a >&2; {pause}echo b; echo c >&2; {pause}echo d")
    async with Boxes.open(runner=RUNNER) as boxes:
        for _ in range(5):
            seen = bytearray()
            sink = seen.extend
            report = await boxes.run(command, stdout=sink, stderr=sink)
            assert (report.status, bytes(seen)) == (RunStatus.OK, b"a\nb\nc\nd\n")
        flood = replace(shell("yes >&2"), limits=Limits(output_bytes=1000))
        seen.clear()
        report = await boxes.run(flood, stdout=sink, stderr=sink)
        assert (report.status, len(seen)) == (RunStatus.OUTPUT_LIMIT, 1000)


async def test_large_input_and_output_arrive_completely() -> None:
    data = os.urandom(MIB) * 5
    async with Boxes.open(runner=RUNNER) as boxes:
        report = await boxes.run(shell("cat"), stdin=data)
    assert report.stdout == data


async def test_input_is_copied_from_a_descriptor_as_it_arrives() -> None:
    reader, writer = os.pipe()
    seen = bytearray()
    async with Boxes.open(runner=RUNNER) as boxes, asyncio.TaskGroup() as group:
        command = shell("read a; echo got $a; read b; echo got $b")
        run = group.create_task(boxes.run(command, stdin=reader, stdout=seen.extend))
        os.write(writer, b"one\n")
        await started(run, seen)
        assert seen == b"got one\n"
        os.write(writer, b"two\n")
        await run
    assert seen == b"got one\ngot two\n"
    os.close(reader)
    os.close(writer)


async def test_input_can_come_from_a_plain_file(tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(b"x" * 3 * MIB)
    with (tmp_path / "input").open("rb") as file:
        async with Boxes.open(runner=RUNNER) as boxes:
            report = await boxes.run(shell("wc -c"), stdin=file.fileno())
    assert report.stdout.strip() == str(3 * MIB).encode()


async def test_j2_endless_output_uses_constant_memory_and_its_beginning_is_kept() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        taken = 0

        def count(chunk: bytes) -> None:
            nonlocal taken
            taken += len(chunk)

        tracemalloc.start()
        limits = Limits(output_bytes=50 * MIB, wall_ms=PATIENCE_S * 1000, cpu_ms=60_000)
        report = await boxes.run(shell("cat /dev/zero", limits), stdout=count)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert report.status is RunStatus.OUTPUT_LIMIT
    assert report.stdout_truncated
    assert taken == 50 * MIB
    assert peak_bytes < 8 * MIB


@pytest.mark.soak
async def test_limits_above_four_gigabytes_work() -> None:
    """Output, memory, file and scratch limits are not truncated to 32 bits."""
    taken = 0

    def count(chunk: bytes) -> None:
        nonlocal taken
        taken += len(chunk)

    gib = 1 << 30
    limits = replace(
        PATIENT,
        memory_bytes=12 * gib,
        output_bytes=5 * gib,
        file_bytes=5 * gib,
        scratch_bytes=6 * gib,
    )
    async with Boxes.open(runner=RUNNER) as boxes:
        script = "head -c 4500M /dev/zero > big; cat big; head -c 5G /dev/zero > bigger"
        report = await boxes.run(shell(script, limits), stdout=count)
        assert taken == 4500 * MIB
        assert report.memory_bytes > 4500 * MIB
        report = await boxes.run(shell("cat /dev/zero", limits), stdout=lambda _: None)
        assert report.status is RunStatus.OUTPUT_LIMIT


async def test_cancelling_a_run_ends_its_program_and_frees_its_box() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        seen = bytearray()
        run = asyncio.create_task(boxes.run(shell("echo x; sleep 1000"), stdout=seen.extend))
        await started(run, seen)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        report = await boxes.run(shell("ls /proc | grep -c '^[0-9]'"))
    assert report.status is RunStatus.OK


async def test_runs_cancelled_at_any_moment_do_not_lose_a_box() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        for delay in range(60):
            run = asyncio.create_task(boxes.run(Command(("/bin/true",)), collect=os.listdir))
            for _ in range(delay):
                await asyncio.sleep(0.0002)
            run.cancel()
            with suppress(asyncio.CancelledError):
                await run
        async with asyncio.timeout(PATIENCE_S):
            assert (await boxes.run(shell("echo still"))).stdout == b"still\n"


async def test_waiting_runs_get_boxes_in_order() -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        reports = await asyncio.gather(*(boxes.run(shell(f"echo {n}")) for n in range(20)))
    assert [int(report.stdout) for report in reports] == list(range(20))


async def test_a_waiting_run_can_be_cancelled() -> None:
    reader, writer = os.pipe()
    async with Boxes.open(runner=RUNNER) as boxes:
        seen = bytearray()
        command = shell("echo x; read a")
        first = asyncio.create_task(boxes.run(command, stdin=reader, stdout=seen.extend))
        second = asyncio.create_task(boxes.run(shell("true")))
        await started(first, seen)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        os.close(writer)
        await first
        os.close(reader)
        assert (await boxes.run(shell("echo y"))).stdout == b"y\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="without root every run has an init of its own")
async def test_x2_an_init_stays_only_if_its_run_has_left_no_process() -> None:
    """The next run can't tell: it has the same pids and nothing open."""
    look = shell("echo $$; true & echo $!; wait; echo /proc/[0-9]*; ls /proc/self/fd")
    async with Boxes.open(runner=RUNNER) as boxes:
        seen, inits, files = [], [], []
        for script in ("true", "for i in 1 2 3; do /bin/true; done", "sleep 1000 &", "exit 3"):
            await boxes.run(shell(script))
            seen.append((await boxes.run(look)).stdout.split())
            # The runner, the spawner and the init; a new one may be being started.
            await until(lambda: len(processes_under(boxes.runner_pid)) == 3)
            inits.append(max(processes_under(boxes.runner_pid)))
            files.append(open_files(inits[-1]))
    assert seen == [[b"2", b"3", *seen[0][2:]]] * len(seen)
    if peaks_can_be_reset():
        assert inits[0] == inits[1] != inits[2] == inits[3]
        assert (files[0], files[2]) == (files[1], files[3]), "nothing of a run stays open"
    else:  # then each run has a cgroup of its own, and an init in it
        assert len(set(inits)) == len(inits)


def peaks_can_be_reset() -> bool:
    """Whether runs can follow each other in one cgroup: in version 2 since Linux 6.12."""
    release = tuple(map(int, os.uname().release.split(".")[:2]))
    return cgroup_version() != "2" or release >= (6, 12)


async def test_x2_ipc_objects_are_gone_for_all_later_runs() -> None:
    """Also for those with another init: a run that leaves a process gets a new one made."""
    async with Boxes.open(layers=Layers.ALL & ~Layers.SECCOMP, runner=RUNNER) as boxes:
        made = await boxes.run(shell("ipcmk -Q && ipcs -q | grep 0x"))
        await boxes.run(shell("sleep 1000 &"))
        left = await boxes.run(shell("ipcs -q | grep 0x"))
    assert b"0x" in made.stdout
    assert left.stdout == b""


async def test_x2_code_is_mounted_read_only_and_unmounted_again(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    look = "cat /code/name; touch /code/x 2>/dev/null && echo written; ls /code | wc -l"
    async with Boxes.open(runner=RUNNER) as boxes:
        outputs = [
            (await boxes.run(shell(look, code=code))).stdout.decode().split()
            for code in (one, one, two, None, one)
        ]
    assert outputs == [["one1"], ["one1"], ["two1"], ["0"], ["one1"]]


async def test_a_replaced_code_directory_is_mounted_again(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "name").write_text("old")
    async with Boxes.open(runner=RUNNER) as boxes:
        await boxes.run(shell("cat /code/name", code=code))
        code.rename(tmp_path / "aside")
        code.mkdir()
        (code / "name").write_text("new")
        assert (await boxes.run(shell("cat /code/name", code=code))).stdout == b"new"


async def test_files_can_be_collected_before_the_scratch_is_wiped() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        found: dict[str, bytes] = {}

        def collect(scratch: int) -> None:
            fd = os.open("out", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=scratch)
            found["out"] = os.read(fd, 100)
            os.close(fd)

        await boxes.run(shell("echo result > out"), collect=collect)
        left = await boxes.run(shell("ls -A /work"))
    assert found == {"out": b"result\n"}
    assert left.stdout == b""


async def test_a_run_cancelled_while_collecting_does_not_affect_the_next() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        entered, leave = threading.Event(), threading.Event()

        def collect(scratch: int) -> None:
            entered.set()
            assert leave.wait(PATIENCE_S)
            os.close(os.open("out", os.O_RDONLY | os.O_NOFOLLOW, dir_fd=scratch))
            entered.clear()

        run = asyncio.create_task(boxes.run(shell("echo result > out"), collect=collect))
        await until(entered.is_set)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        following = asyncio.create_task(boxes.run(shell("ls -A /work")))
        leave.set()
        assert (await following).stdout == b""
        assert not entered.is_set()


async def test_a_refused_command_does_not_change_the_mounts(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    async with Boxes.open(runner=RUNNER) as boxes:
        await boxes.run(shell("true", code=one))
        with pytest.raises(Refused):
            await boxes.run(shell("x" * 200_000, code=two))
        assert (await boxes.run(shell("cat /code/name", code=two))).stdout == b"two"


async def test_runs_that_wait_when_boxes_close_get_a_fault() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        runs = [asyncio.create_task(boxes.run(shell("sleep 1000"))) for _ in range(3)]
        await asyncio.sleep(0)
    for result in await asyncio.gather(*runs, return_exceptions=True):
        assert isinstance(result, SandboxFault)


async def test_an_exception_of_a_collector_is_raised_and_the_box_stays_usable() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:

        def collect(_: int) -> None:
            raise ValueError("wanted")

        with pytest.raises(ValueError, match="wanted"):
            await boxes.run(shell("echo result > out"), collect=collect)
        assert (await boxes.run(shell("ls -A /work"))).stdout == b""


async def test_a_killed_runner_is_a_fault_and_is_restarted() -> None:
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        old = boxes.runner_pid
        processes = processes_under(old)
        seen = bytearray()
        run = asyncio.create_task(boxes.run(shell("echo x; sleep 1000"), stdout=seen.extend))
        await started(run, seen)
        processes |= processes_under(old)
        os.kill(old, signal.SIGKILL)
        with pytest.raises(SandboxFault):
            await run
        assert (await boxes.run(shell("echo again"))).stdout == b"again\n"
        assert boxes.runner_pid != old
        await until(lambda: not any(_exists(pid) for pid in processes))


async def test_a_runner_that_is_killed_while_it_starts_is_started_again(tmp_path: Path) -> None:
    runner = tmp_path / "runner"
    runner.write_text(
        f"#!/bin/sh\nmkdir {tmp_path}/first && kill -9 $$\n"
        f'exec {RUNNER or PACKAGED_RUNNER} "$@"\n'
    )
    runner.chmod(0o755)
    async with Boxes.open(slots=1, runner=runner) as boxes:
        assert (await boxes.run(shell("echo hi"))).stdout == b"hi\n"
    assert (tmp_path / "first").is_dir()


async def test_a_killed_slot_is_replaced() -> None:
    async with Boxes.open(slots=1, runner=RUNNER) as boxes:
        seen = bytearray()
        run = asyncio.create_task(boxes.run(shell("echo x; sleep 1000"), stdout=seen.extend))
        await started(run, seen)
        spawner = min(processes_under(boxes.runner_pid) - {boxes.runner_pid})
        os.kill(spawner, signal.SIGKILL)
        with pytest.raises(SandboxFault):
            await run
        assert (await boxes.run(shell("echo again"))).stdout == b"again\n"


async def test_a_stopped_slot_is_given_up_and_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deemster.sandbox.slot_run.GRACE_S", 0.5)
    async with Boxes.open(runner=RUNNER) as boxes:
        seen = bytearray()
        limits = Limits(wall_ms=2000)
        run = asyncio.create_task(
            boxes.run(shell("echo x; sleep 1000", limits), stdout=seen.extend)
        )
        await started(run, seen)
        processes = processes_under(boxes.runner_pid) - {boxes.runner_pid}
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        with pytest.raises(SandboxFault, match="in time"):
            await run
        await until(lambda: not any(_exists(pid) for pid in processes))
        assert (await boxes.run(shell("echo again"))).stdout == b"again\n"


async def test_a_program_that_cannot_be_executed_is_a_fault() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        with pytest.raises(SandboxFault, match="program-exec"):
            await boxes.run(Command(("/usr/bin/no-such-program",)))
        assert (await boxes.run(shell("echo on"))).stdout == b"on\n"


async def test_an_unknown_profile_is_refused() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        with pytest.raises(Refused, match="profile"):
            await boxes.run(Command(("/bin/true",), profile="none"))


async def test_a_profile_decides_about_calls() -> None:
    profiles = (
        Profile("lenient", may_exec=True, errno={"socket": "EACCES"}),
        Profile("open", may_exec=True, allow=frozenset({"sethostname"})),
    )
    script = ("/bin/sh", "-c", "hostname other; echo $?; hostname")
    async with Boxes.open(profiles=profiles, runner=RUNNER) as boxes:
        refused = await boxes.run(Command(script, profile="lenient", limits=PATIENT))
        allowed = await boxes.run(Command(script, profile="open", limits=PATIENT))
    assert (refused.status, refused.syscall) == (RunStatus.FORBIDDEN_SYSCALL, "sethostname")
    # The filter allows the call, but the kernel refuses it.
    assert allowed.stdout.split() == [b"1", b"box"]


async def test_a_missing_runner_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SandboxFault, match="DEEMSTER_RUNNER"):
        async with Boxes.open(runner=tmp_path / "none"):
            pass


@pytest.mark.parametrize(
    "cut", ["before", "after"], ids=["killed before the request", "killed after it"]
)
async def test_runs_end_properly_while_the_runner_is_killed_repeatedly(cut: str) -> None:
    """No run hangs, and none has a wrong result."""
    async with Boxes.open(slots=2, runner=RUNNER) as boxes:
        for _ in range(5):
            if cut == "before":
                with suppress(SandboxFault):
                    os.kill(boxes.runner_pid, signal.SIGKILL)
            runs = [asyncio.create_task(boxes.run(shell("echo x"))) for _ in range(4)]
            if cut == "after":
                await asyncio.sleep(0)
                with suppress(SandboxFault):
                    os.kill(boxes.runner_pid, signal.SIGKILL)
            for result in await asyncio.gather(*runs, return_exceptions=True):
                if isinstance(result, BaseException):
                    assert isinstance(result, SandboxFault)
                else:
                    assert result.stdout == b"x\n"
        assert (await boxes.run(shell("echo end"))).stdout == b"end\n"


def test_boxes_closed_while_their_runner_restarts_leave_no_process() -> None:
    """At any moment: closing waits for a start that has begun. In processes of their own, which
    see every orphan, and nothing of other tests.
    """
    result = subprocess.run(
        [sys.executable, "-W", "always", "-m", "tests.sandbox.closing_boxes"],
        check=False,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
    )
    assert (result.returncode, result.stderr) == (0, "")


async def test_runs_leave_no_descriptor_open() -> None:
    async with Boxes.open(runner=RUNNER) as boxes:
        await boxes.run(shell("true"))
        before = open_files()
        for _ in range(50):
            await boxes.run(shell("echo x"), stdin=b"y")
        assert open_files() == before
        assert open_files(boxes.runner_pid) < 40


def _exists(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


@pytest.fixture
def noexec_directory(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root may mount, and clear noexec")
    directory = tmp_path / "noexec"
    directory.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", str(directory)], check=True
    )
    directory.chmod(0o755)
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


async def test_programs_on_a_noexec_file_system_run(noexec_directory: Path) -> None:
    """Builds are in /run by default, which Debian mounts with noexec."""
    program = noexec_directory / "program"
    shutil.copy("/bin/true", program)
    program.chmod(0o755)
    async with Boxes.open() as boxes:
        report = await boxes.run(Command(("/code/program",), code=noexec_directory))
    assert report.status is RunStatus.OK
