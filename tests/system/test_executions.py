"""Executions by a real worker: each way a program can end has its status (E4, X5)."""

from dataclasses import replace
from typing import Any

from deemster.api.models.executions import execution_out
from deemster.domain.execution import ExecutionLimits, ExecutionOptions
from deemster.domain.limits import MIB
from deemster.pipeline.verdict.cancel import cancel
from deemster.store import executions
from deemster.store.pool import connection
from tests.system.conftest import OpenService, RunningService
from tests.system.service import Service
from tests.waiting import until

LIMITS = ExecutionLimits(memory_bytes=64 * MIB, output_bytes=2048)
SHORT = replace(LIMITS, wall_ms=4000)
ECHO = "import sys\nprint(sys.stdin.read().upper(), sys.argv[1:])\nprint('no', file=sys.stderr)"

PROGRAMS: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "input, arguments and both outputs": (
        "python3",
        ECHO,
        {"stdin": b"abc", "args": ["x y", ""]},
        {
            "status": "COMPLETED",
            "exit_code": 0,
            "stdout": "ABC ['x y', '']\n",
            "stderr": "no\n",
        },
    ),
    "an exit code": (
        "python3",
        "raise SystemExit(7)",
        {},
        {"status": "FAILED", "exit_code": 7, "error_type": "RuntimeError"},
    ),
    "a signal": (
        "c",
        "#include <stdlib.h>\nint main() { abort(); }",
        {},
        {"status": "FAILED", "exit_code": 134, "signal": 6, "error_type": "RuntimeError"},
    ),
    "a compile error": (
        "c",
        "int main() { return x; }",
        {},
        {"status": "FAILED", "exit_code": None, "error_type": "CompileError"},
    ),
    "a program that sleeps": (
        "python3",
        "print('before', flush=True)\nimport time\ntime.sleep(60)",
        {"limits": SHORT},
        {
            "status": "TIMEOUT",
            "exit_code": 124,
            "error_type": "TimeoutError",
            "stdout": "before\n",
            "stderr": "The program ran for more than 4 s.\n",
        },
    ),
    "too much memory": (
        "python3",
        "x = bytearray(300 << 20)",
        {},
        {"status": "FAILED", "error_type": "MemoryLimitError"},
    ),
    "too much output": (
        "python3",
        "print('x' * 5000)",
        {},
        {
            "status": "FAILED",
            "error_type": "OutputLimitError",
            "stdout": "x" * 2048,
            "stdout_truncated": True,
        },
    ),
    "bytes that are no text": (
        "python3",
        "import sys\nsys.stdout.buffer.write(bytes([255, 0, 65]))",
        {},
        {"status": "COMPLETED", "stdout": "\ufffd\0A"},
    ),
    "arguments of the compiler": (
        "c",
        '#include <stdio.h>\nint main() { printf("%d", N); }',
        {"options": ExecutionOptions(compile_args=["-DN=42"])},
        {"status": "COMPLETED", "stdout": "42"},
    ),
    "NUL characters of the compiler": (
        "c",
        "int main() { return x; }",
        {"options": ExecutionOptions(compile_args=["-wrapper", r"/bin/echo,-e,a\0b"])},
        {"status": "FAILED", "error_type": "CompileError"},
    ),
    "several runs": (
        "python3",
        "print('once')",
        {"options": ExecutionOptions(runs=3)},
        {"status": "COMPLETED", "stdout": "once\n"},
    ),
    "both outputs in one": (
        "python3",
        "import sys\nsys.stderr.write('a')\nsys.stderr.flush()\nsys.stdout.write('b')",
        {"options": ExecutionOptions(stderr_to_stdout=True)},
        {"status": "COMPLETED", "stdout": "ab", "stderr": ""},
    ),
}


async def test_e4_each_way_a_program_ends_has_its_status(
    shared_service: RunningService,
) -> None:
    service = shared_service.service
    started = {
        name: await service.execute(language, source, **{"limits": LIMITS, **options})
        for name, (language, source, options, _) in PROGRAMS.items()
    }
    for name, execution in started.items():
        shown = await service.execution(execution)
        seen = execution_out(shown.view, shown.output).model_dump(mode="json")
        expected = PROGRAMS[name][3]
        assert {key: seen[key] for key in expected} == expected, (name, seen)


async def test_files_are_in_the_program_s_directory_and_can_be_returned(
    shared_service: RunningService,
) -> None:
    source = "import os\nos.mkdir('d')\nopen('d/out', 'w').write(open('in.txt').read() * 2)\n"
    source += "os.symlink('/etc/passwd', 'link')"
    service = shared_service.service
    request = {"main.py": source.encode(), "in.txt": b"ab"}
    execution = await service.execute(
        "python3",
        files=request,
        main="main.py",
        options=ExecutionOptions(return_files=["d/out", "link", "../x", "missing"]),
    )
    result = (await service.execution(execution)).view.result
    assert result is not None
    assert result.returned_files == {"d/out": b"abab"}
    source = "open('same', 'a'); open('new', 'w'); open('changed', 'a').write('2')"
    execution = await service.execute(
        "python3",
        files={"main.py": source.encode(), "same": b"1", "changed": b"1"},
        main="main.py",
        options=ExecutionOptions(return_changed_files=True),
    )
    result = (await service.execution(execution)).view.result
    assert result is not None
    assert result.returned_files == {"new": b"", "changed": b"12"}


async def test_e5_output_can_be_read_while_the_program_runs(
    shared_service: RunningService,
) -> None:
    source = "import time\nprint('first', flush=True)\ntime.sleep(600)"
    service = shared_service.service
    execution = await service.execute("python3", source)

    async def chunks() -> list[bytes]:
        async with connection(service.pool) as acquired:
            found = await executions.output_after(acquired, execution)
        return [each.content for each in found]

    assert await until(chunks) == [b"first\n"]
    await cancel(service.pool, execution)
    assert (await service.execution(execution)).view.state == "CANCELLED"


async def test_ended_executions_are_deleted_with_all_their_rows(
    open_service: OpenService,
) -> None:
    async with open_service(execution_keep_hours=1e-9) as service:
        service.start("relay", "worker")
        execution = await service.execute("python3", "print(1)")
        await service.execution(execution)
        service.start("keeper")
        await until(lambda: is_empty(service, "work"))
        for table in ("execution", "execution_output", "work_event", "outbox"):
            assert await is_empty(service, table), table


async def is_empty(service: Service, table: str) -> bool:
    return bool(await service.value(f"SELECT count(*) FROM {table}") == 0)


async def test_q6_an_execution_of_a_killed_worker_is_executed_again(
    open_service: OpenService,
) -> None:
    source = "import time\nprint('on', flush=True)\ntime.sleep(2)\nprint('done')"
    async with open_service() as service:
        service.start("relay", "keeper")
        first = service.fleet.start("worker")
        execution = await service.execute("python3", source)

        async def has_output() -> bool:
            return not await is_empty(service, "execution_output")

        await until(has_output)
        await service.fleet.kill(first)
        shown = await service.execution(execution)
        assert shown.view.attempt == 2
        assert shown.output[next(iter(shown.output))] == b"on\ndone\n"
