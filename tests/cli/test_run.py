"""`deemster run` as a process: output, limits, exit codes and JSON."""

import os
import pty
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Deemster, Write
from tests.waiting import PATIENCE_S

HELLO = {
    "hello.c": '#include <stdio.h>\nint main(void) { puts("hello"); }',
    "hello.cpp": '#include <iostream>\nint main() { std::cout << "hello" << std::endl; }',
    "Hello.java": "public class Hello { public static void main(String[] a) {"
    ' System.out.println("hello"); } }',
    "hello.js": 'console.log("hello");',
    "hello.py": 'print("hello")',
}
KEYS = {
    *("status", "exit_code", "signal", "syscall", "cpu_ms", "wall_ms", "memory_kb"),
    *("stdout", "stderr", "compile", "language", "version"),
}
SIGNALS = """
#include <stdio.h>
#include <string.h>
int main(void)
{
    char line[256];
    FILE *status = fopen("/proc/self/status", "r");
    while (fgets(line, sizeof line, status))
        if (!strncmp(line, "SigBlk", 6) || !strncmp(line, "SigIgn", 6))
            fputs(line, stdout);
}
"""
ADD = "a, b = map(int, input().split())\nprint(a + b)"


@pytest.mark.parametrize("name", sorted(HELLO))
def test_a_hello_program_runs_in_each_language(call: Deemster, write: Write, name: str) -> None:
    done = call("run", write(name, HELLO[name]))
    assert (done.code, done.out, done.err) == (0, b"hello\n", "")


def test_json_has_exactly_the_documented_keys(call: Deemster, write: Write) -> None:
    done = call("run", write("hello.c", HELLO["hello.c"]), "--json")
    assert done.code == 0
    assert set(done.json) == KEYS
    assert done.json["status"] == "ok"
    assert done.json["exit_code"] == 0
    assert done.json["stdout"] == "hello\n"
    assert done.json["language"] == "c"
    assert done.json["version"].startswith("GCC ")
    assert set(done.json["compile"]) == {"argv", "output", "ms"}
    assert done.json["wall_ms"] >= 0


def test_compile_is_null_for_a_language_without_compiler(
    call: Deemster, tmp_path: Path
) -> None:
    (tmp_path / "here" / "answer.txt").write_text("42\n")
    done = call("run", "answer.txt", "--language", "text", "--json")
    assert done.json["compile"] is None
    assert done.json["stdout"] == "42\n"


def test_the_program_reads_the_standard_input_of_the_command(
    deemster: Deemster, write: Write
) -> None:
    assert deemster("run", write("add.py", ADD), stdin=b"40 2\n").out == b"42\n"


def test_the_program_reads_a_file(deemster: Deemster, write: Write, tmp_path: Path) -> None:
    (tmp_path / "here" / "in").write_text("1 2\n")
    done = deemster("run", write("add.py", ADD), "--stdin", "in", stdin=b"40 2\n")
    assert done.out == b"3\n"


def test_large_input_and_output_pass_through(deemster: Deemster, write: Write) -> None:
    name = write("cat.py", "import shutil, sys\nshutil.copyfileobj(sys.stdin, sys.stdout)")
    data = b"0123456789\n" * 500_000
    assert deemster("run", name, stdin=data).out == data


def test_closed_or_null_input_is_empty_input(
    write: Write, tmp_path: Path, environment: dict[str, str]
) -> None:
    name = write("read.py", "import sys\nprint(len(sys.stdin.read()))")
    for redirection in ("</dev/null", "<&-"):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {redirection}', "sh", *COMMAND, "run", name],
            capture_output=True,
            timeout=PATIENCE_S,
            cwd=tmp_path / "here",
            env=environment,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, b"0\n", b"")


@pytest.mark.parametrize(
    ("text", "options", "status", "message"),
    [
        (
            "while True: pass",
            ("--time", "0.3", "--wall", "90"),
            "time_limit",
            "time limit: used 0.3 s of CPU",
        ),
        (
            "import time; time.sleep(99)",
            ("--wall", "0.5"),
            "wall_limit",
            "wall-clock limit: ran 0.5 s, allowed 0.5 s",
        ),
        (
            "l = []\nwhile True: l.append(bytearray(1 << 20))",
            ("--memory", "64"),
            "memory_limit",
            "memory limit: needed more than 64 MB",
        ),
        (
            "while True: print('x' * 99_999)",
            (),
            "output_limit",
            "output limit: wrote more than 64",
        ),
        ("import sys; sys.exit(3)", (), "nonzero_exit", "exit code 3"),
        ("import os; os.abort()", (), "signalled", "aborted (signal 6)"),
        (
            "import socket; socket.socket()",
            (),
            "forbidden_syscall",
            "forbidden system call: socket",
        ),
    ],
)
def test_a_failure_is_explained_in_words_and_in_json(
    call: Deemster,
    write: Write,
    text: str,
    options: tuple[str, ...],
    status: str,
    message: str,
) -> None:
    name = write("bad.py", text)
    plain = call("run", name, *options)
    assert plain.code == 1
    assert f"deemster: {message}" in plain.err.splitlines()[-1]
    as_json = call("run", name, *options, "--json")
    assert as_json.code == 1
    assert as_json.json["status"] == status
    assert as_json.err == ""


def test_output_up_to_the_limit_is_kept(call: Deemster, write: Write) -> None:
    done = call("run", write("flood.py", "while True: print('x' * 99_999)"), "--json")
    assert len(done.json["stdout"]) == 64 << 20


def test_json_names_the_forbidden_system_call(call: Deemster, write: Write) -> None:
    name = write("s.py", "import socket; socket.socket()")
    assert call("run", name, "--json").json["syscall"] == "socket"


def test_binary_output_reaches_a_pipe_unchanged(
    deemster: Deemster, call: Deemster, write: Write
) -> None:
    name = write("b.py", "import os; os.write(1, bytes(range(256)))")
    assert deemster("run", name).out == bytes(range(256))
    assert "\ufffd" in call("run", name, "--json").json["stdout"]


def test_a_compile_error_shows_the_output_of_the_compiler(call: Deemster, write: Write) -> None:
    name = write("bad.c", "int main(void) { return x; }")
    done = call("run", name)
    assert done.code == 1
    assert "bad.c:1:25: error: " in done.err
    assert done.err.endswith("deemster: compile error\n")
    done = call("run", name, "--json")
    assert done.code == 1
    assert done.json["status"] == "compile_error"
    assert "bad.c:1:25: error: " in done.json["compile"]["output"]
    assert done.json["exit_code"] is None


def test_the_language_can_be_given(call: Deemster, write: Write, tmp_path: Path) -> None:
    write("x.py", "")
    (tmp_path / "here" / "program.txt").write_text("print(7)")
    assert call("run", "program.txt", "--language", "py").out == b"7\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("missing.py",), "There is no file missing.py"),
        (("..",), ".. is a directory"),
        (("notes.txt",), "The language of 'notes.txt' is unknown"),
        (("notes.txt", "--language", "klingon"), "There is no language 'klingon'"),
        (("big.py",), "make it smaller"),
        (
            ("notes.txt", "--language", "py", "--stdin", "missing"),
            "Can't read the input missing",
        ),
        (("notes.txt", "--language", "py", "--stdin", "."), "is a directory"),
    ],
)
def test_a_wrong_argument_is_reported_in_one_sentence(
    call: Deemster, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "here" / "notes.txt").write_text("x")
    (tmp_path / "here" / "big.py").write_text("#" * 2_000_000)
    done = call("run", *arguments)
    assert done.code == 2
    assert done.out == b""
    assert message in done.err
    assert done.err.startswith("deemster: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("option", ["--time", "--wall", "--memory"])
@pytest.mark.parametrize("value", ["0", "-1", "x", "nan"])
def test_an_invalid_limit_is_refused(
    call: Deemster, write: Write, option: str, value: str
) -> None:
    done = call("run", write("x.py", ""), option, value)
    assert done.code == 2
    assert option in done.err


def test_a_broken_runner_exits_with_2(call: Deemster, write: Write) -> None:
    name = write("x.py", "")
    done = call("run", name, "--json", DEEMSTER_RUNNER="/nowhere/runner")
    assert done.code == 2
    assert set(done.json) == KEYS
    assert done.json["status"] == "internal_error"
    assert "DEEMSTER_RUNNER" in done.err
    done = call("run", name, DEEMSTER_RUNNER="/bin/false")
    assert done.code == 2
    assert done.err.startswith("deemster: ")
    assert done.err.count("\n") == 1


def test_the_run_ends_quietly_when_the_reader_leaves(
    write: Write, tmp_path: Path, environment: dict[str, str]
) -> None:
    name = write("yes.py", "while True: print('y', flush=True)")
    done = subprocess.run(
        ["sh", "-c", '"$@" --time 60 | head -1', "sh", *COMMAND, "run", name],
        capture_output=True,
        timeout=PATIENCE_S,
        cwd=tmp_path / "here",
        env=environment,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert (done.stdout, done.stderr) == (b"y\n", b"")


def test_a_program_starts_with_default_signals_whatever_the_service_was_started_with(
    write: Write, tmp_path: Path, environment: dict[str, str]
) -> None:
    """X10: `nohup`, and a shell without job control, let everything below ignore signals."""
    name = write("signals.c", SIGNALS)
    done = subprocess.run(
        ["env", "--ignore-signal", "--block-signal", *COMMAND, "run", name],
        capture_output=True,
        cwd=tmp_path / "here",
        env=environment,
        timeout=PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.split() == [b"SigBlk:", b"0" * 16, b"SigIgn:", b"0" * 16]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes pid namespaces")
def test_commands_in_several_containers_do_not_disturb_each_other(
    write: Write, tmp_path: Path, environment: dict[str, str]
) -> None:
    """Processes in pid namespaces have the same numbers, and share the machine's cgroups."""
    name = write("wait.py", "import sys\nprint('started', flush=True)\nsys.stdin.read()")
    argv = [
        "unshare",
        "--pid",
        "--fork",
        "--mount-proc",
        *COMMAND,
        "run",
        name,
        "--wall",
        "600",
    ]
    with ExitStack() as stack:
        commands = []
        for _ in range(3):
            command = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=tmp_path / "here",
                env=environment,
            )
            commands.append(stack.enter_context(command))
        for command in commands:
            assert command.stdout is not None
            assert command.stdout.readline() == b"started\n"
        for command in commands:
            _, said = command.communicate(timeout=PATIENCE_S)
            assert (command.returncode, said) == (0, b"")


def test_an_interrupt_ends_the_program_and_leaves_nothing(
    write: Write, tmp_path: Path, environment: dict[str, str]
) -> None:
    name = write("wait.py", "import time\nprint('started', flush=True)\ntime.sleep(99)")
    with subprocess.Popen(
        [*COMMAND, "run", name, "--wall", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        cwd=tmp_path / "here",
        env=environment,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert b"Traceback" not in err
    assert not list((tmp_path / "work").iterdir())


def test_a_program_talks_with_a_user_at_a_terminal(
    write: Write, tmp_path: Path, environment: dict[str, str]
) -> None:
    name = write("talk.py", "name = input('name? ')\nprint('hello', name)")
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*COMMAND, "run", name],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=tmp_path / "here",
            env=environment,
        )
        seen = read_until(ours, b"name? ")
        os.write(ours, b"Ada\n")
        seen += read_until(ours, b"hello Ada")
        assert process.wait(PATIENCE_S) == 0
    finally:
        os.close(ours)
        os.close(theirs)
    assert seen.count(b"name? ") == 1


def read_until(descriptor: int, expected: bytes) -> bytes:
    seen = b""
    until = time.monotonic() + PATIENCE_S
    while expected not in seen:
        assert time.monotonic() < until, seen
        seen += os.read(descriptor, 4096)
    return seen
