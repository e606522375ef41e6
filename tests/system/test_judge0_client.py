"""F1: the unmodified Python client of Judge0, and the examples of its README."""

import asyncio
import base64
import io
import json
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import judge0
import pytest
from judge0 import Client, Filesystem, LanguageAlias, Status, Submission, TestCase

from tests.system.compat_service import new_client, run_client
from tests.system.conftest import RunningService
from tests.waiting import PATIENCE_S, until

GREET = "print(f'Hello, {input()}!')"
C_SUM = """
#include <stdio.h>
int main(int count, char **args) {
    int a, b;
    scanf("%d %d", &a, &b);
    printf("%d %s\\n", a + b + EXTRA, args[1]);
}
"""
SCRIPT = Path(__file__).parent / "judge0_readme_script.py"
HELLO = "hello, world\n"
EXAMPLES = {
    "Option 2: Implicit Client Object": f"{HELLO}\n",
    "hello, world": f"{HELLO}\n",
    "Running C Programming Language": f"{HELLO}\n",
    "Running Java Programming Language": f"{HELLO}\n",
    "Reading From Standard Input": "8\nHello, Bob!\n\n",
    "Asynchronous Execution": f"None\n{HELLO}\n",
    "Filesystem": "hello from my_file.txt\nhello, world\n\n",
    "Custom Judge0 Client": f"{HELLO}\n",
}
"""What each prints. Not here: examples that need a language model, or matplotlib."""
TEST_CASES = "".join(
    f"--- Test Case #{number} ---\nHello, {name}!\n\nAccepted\n"
    for number, name in enumerate(("Bob", "Alice", "Charlie"), start=1)
)
OTHERS = (
    "Judge0 Python SDK",
    "Test Cases",
    "Test Cases And Multiple Languages",
    "Get Languages",
)
PROGRAMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "arguments and compiler options": (
        {
            "language_id": 50,
            "source_code": C_SUM,
            "stdin": "1 2",
            "compiler_options": "-DEXTRA=4 -Wall",
            "command_line_arguments": "'x y' z",
        },
        {"status_id": 3, "stdout": "7 x y\n", "exit_code": 0, "message": None},
    ),
    "expected output with other white space": (
        {"language_id": 71, "source_code": "print('a  ')\nprint()", "expected_output": "a"},
        {"status_id": 3},
    ),
    "wrong output": (
        {"language_id": 71, "source_code": "print(1)", "expected_output": "2"},
        {"status_id": 4, "status": {"id": 4, "description": "Wrong Answer"}},
    ),
    "too slow": (
        {"language_id": 71, "source_code": "while 1: pass", "cpu_time_limit": 0.5},
        {"status_id": 5, "message": "Time limit exceeded"},
    ),
    "too long asleep": (
        {"language_id": 46, "source_code": "sleep 60", "wall_time_limit": 1},
        {"status_id": 5, "message": "Time limit exceeded (wall clock)", "stderr": None},
    ),
    "not compiled": (
        {"language_id": 50, "source_code": "int main() { return x; }"},
        {"status_id": 6, "time": None, "memory": None, "exit_code": None},
    ),
    "segmentation fault": (
        {"language_id": 50, "source_code": "int main() { *(volatile int *)0 = 1; }"},
        {"status_id": 7, "message": "Caught fatal signal 11", "exit_signal": 11},
    ),
    "too much output": (
        {"language_id": 71, "source_code": "print('x' * 5000)", "max_file_size": 1},
        {"status_id": 8},
    ),
    "division by zero": (
        {
            "language_id": 50,
            "source_code": "volatile int zero; int main() { return 7 / zero; }",
        },
        {"status_id": 9, "message": "Caught fatal signal 8"},
    ),
    "abort": (
        {"language_id": 50, "source_code": "#include <stdlib.h>\nint main() { abort(); }"},
        {"status_id": 10, "message": "Caught fatal signal 6", "exit_signal": 6},
    ),
    "exit code": (
        {"language_id": 71, "source_code": "raise SystemExit(3)"},
        {"status_id": 11, "exit_code": 3, "message": "Exited with error status 3"},
    ),
    "syntax error without a compiler": (
        {"language_id": 71, "source_code": "print("},
        {"status_id": 11, "exit_code": 1, "compile_output": None, "stdout": None},
    ),
    "too much memory": (
        {
            "language_id": 50,
            "source_code": "#include <stdlib.h>\n#include <string.h>\n"
            "int main() { for (;;) memset(malloc(1 << 20), 1, 1 << 20); }",
            "memory_limit": 30000,
        },
        {"status_id": 12},
    ),
    "several runs, and both outputs in one": (
        {
            "language_id": 46,
            "source_code": "echo a; echo b >&2",
            "number_of_runs": 3,
            "redirect_stderr_to_stdout": True,
        },
        {"status_id": 3, "stdout": "a\nb\n", "stderr": None, "number_of_runs": 3},
    ),
    "plain text": ({"language_id": 43, "source_code": "as it is"}, {"stdout": "as it is"}),
    "additional files": (
        {
            "language_id": 71,
            "source_code": "import part\nprint(part.X, open('d/data.txt').read())",
            "additional_files": {"part.py": b"X = 1", "d/data.txt": b"words"},
        },
        {"status_id": 3, "stdout": "1 words\n"},
    ),
    "large additional file": (
        {
            "language_id": 71,
            "source_code": "print(len(open('large').read()))",
            "additional_files": {"large": b"x" * (3 << 20)},
        },
        {"status_id": 3, "stdout": "3145728\n"},
    ),
    "multi-file program": (
        {
            "language_id": 89,
            "additional_files": {
                "compile": b"echo compiling; gcc -o program part.c main.c",
                "run": b"./program",
                "part.c": b"int f() { return 42; }",
                "main.c": b'#include <stdio.h>\nint f();int main() { printf("%d", f()); }',
            },
            "max_file_size": 4096,
        },
        {"status_id": 3, "stdout": "42", "compile_output": "compiling\n", "source_code": None},
    ),
    "multi-file program that is not compiled": (
        {"language_id": 89, "additional_files": {"compile": b"echo bad; false", "run": b"ls"}},
        {"status_id": 6, "compile_output": "bad\n", "stdout": None},
    ),
}


async def test_f1_the_readme_of_judge0_s_client_works(shared_service: RunningService) -> None:
    served = await new_client(shared_service)
    headers = json.dumps({"X-Auth-Token": served.token})
    environment = {
        "JUDGE0_CE_ENDPOINT": f"{served.url}/judge0/ce",
        "JUDGE0_CE_AUTH_HEADERS": headers,
        "JUDGE0_EXTRA_CE_ENDPOINT": f"{served.url}/judge0/extra",
        "JUDGE0_EXTRA_CE_AUTH_HEADERS": headers,
    }
    own = f"{served.url_with_token}/judge0"
    # In a process of its own, because the client reads its settings when it is imported.
    printed = await run_client(sys.executable, SCRIPT, own, *EXAMPLES, *OTHERS, env=environment)
    assert {title: printed[title] for title in EXAMPLES} == EXAMPLES
    assert printed["Test Cases"] == TEST_CASES
    both = "".join(f"--- Submission #{number} ---\n{TEST_CASES}" for number in (1, 2))
    assert printed["Test Cases And Multiple Languages"] == both
    assert "Language(id=71, name='Python (3." in printed["Get Languages"]
    first = printed["Judge0 Python SDK"].splitlines()
    assert (first[0], first[-2:]) == (
        repr(HELLO),
        ["'script.py'", repr(b"print('hello, world')")],
    )
    seconds, memory_kb = first[1:3]
    assert 0 < float(seconds) < 5
    assert int(memory_kb) > 0


async def test_the_client_of_judge0_runs_programs(shared_service: RunningService) -> None:
    served = await new_client(shared_service)
    async with httpx.AsyncClient(
        base_url=served.url + "/judge0",
        headers={"X-Auth-Token": served.token},
        timeout=PATIENCE_S,
        verify=False,
    ) as client:

        async def is_listed() -> bool:
            names = [each["name"] for each in (await client.get("/languages")).json()]
            return any(name.startswith("Python (3") for name in names)

        await until(is_listed)
        await asyncio.to_thread(use_client, served.url, served.token)
        await run_programs(client)
        await wait_for_result(client)


def use_client(url: str, token: str) -> None:
    """As the README of the client does it."""
    clients = {
        flavour: Client(f"{url}/judge0/{flavour}", {"X-Auth-Token": token})
        for flavour in ("ce", "extra")
    }
    standard, extra = clients["ce"], clients["extra"]
    assert (standard.version, extra.version) == ("1.13.1", "1.13.1-extra")

    result = judge0.run(client=extra, source_code="print('Hello, Judge0!')")
    assert (result.stdout, result.status) == ("Hello, Judge0!\n", Status.ACCEPTED)
    assert result.time is not None
    assert result.created_at <= result.finished_at

    submission = Submission(source_code=GREET, language=LanguageAlias.PYTHON, stdin="Ada")
    assert judge0.run(client=standard, submissions=submission).stdout == "Hello, Ada!\n"

    # The same program twice has two tokens.
    several = [
        Submission(source_code=GREET, language=LanguageAlias.PYTHON, stdin="Ada"),
        Submission(source_code=GREET, language=LanguageAlias.PYTHON, stdin="Ada"),
        Submission(
            source_code='#include <iostream>\nint main() { std::cout << "C++"; }',
            language=LanguageAlias.CPP,
        ),
        Submission(source_code="console.log('JS')", language=LanguageAlias.JAVASCRIPT),
        Submission(source_code="echo Bash", language=LanguageAlias.BASH),
    ]
    results = judge0.run(client=standard, submissions=several)
    assert [each.stdout for each in results] == [
        *("Hello, Ada!\n", "Hello, Ada!\n", "C++", "JS\n", "Bash\n")
    ]
    assert len({each.token for each in results}) == len(several)

    results = judge0.run(
        client=standard,
        source_code=GREET,
        language=LanguageAlias.PYTHON,
        test_cases=[
            TestCase("tuple", "Hello, tuple!\n"),
            ("list", "Hello, Bob!"),
            {"input": "dict", "expected_output": "Hello, dict!"},
            ["no expected output"],
        ],
    )
    wanted = [Status.ACCEPTED, Status.WRONG_ANSWER, Status.ACCEPTED, Status.ACCEPTED]
    assert [each.status for each in results] == wanted
    passed = [each for each in results if each.status == Status.ACCEPTED]
    assert [each.stdin for each in passed] == ["tuple", "dict", "no expected output"]

    files = Filesystem(content=[judge0.File(name="data.txt", content="from a file")])
    result = judge0.run(
        client=standard,
        source_code="print(open('data.txt').read())",
        language=LanguageAlias.PYTHON,
        additional_files=files,
    )
    assert result.stdout == "from a file\n"

    started = judge0.async_run(
        client=standard, source_code="print(2)", language=LanguageAlias.PYTHON
    )
    assert not started.is_done()
    assert judge0.wait(client=standard, submissions=started).stdout == "2\n"
    assert standard.get_submission(started, fields=["stdout", "status"]).stdout == "2\n"

    with pytest.raises(httpx.HTTPStatusError, match="422"):
        judge0.run(client=standard, source_code="1", language=71, enable_network=True)
    with pytest.raises(RuntimeError, match="Authentication failed"):
        Client(f"{url}/judge0", {"X-Auth-Token": "wrong"})


async def run_programs(client: httpx.AsyncClient) -> None:
    """Every status that a program can have, and every field that changes how it is run."""
    bodies = [{**asked, **zipped(asked)} for asked, _ in PROGRAMS.values()]
    answer = await client.post("/submissions/batch", json={"submissions": bodies})
    assert answer.status_code == 201, answer.text
    tokens = [each["token"] for each in answer.json()]
    found: list[dict[str, Any]] = []

    async def have_ended() -> bool:
        found[:] = (
            await client.get(
                "/submissions/batch", params={"tokens": ",".join(tokens), "fields": "*"}
            )
        ).json()["submissions"]
        return all(each["status_id"] > 2 for each in found)

    await until(have_ended)
    for (name, (_, expected)), seen in zip(PROGRAMS.items(), found, strict=True):
        assert {key: seen[key] for key in expected} == expected, (name, seen)
    by_name = dict(zip(PROGRAMS, found, strict=True))
    assert "error" in by_name["not compiled"]["compile_output"]
    assert "SyntaxError" in by_name["syntax error without a compiler"]["stderr"]


def zipped(asked: Mapping[str, Any]) -> dict[str, str]:
    if "additional_files" not in asked:
        return {}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, content in asked["additional_files"].items():
            opened.writestr(name, content)
    return {"additional_files": base64.encodebytes(archive.getvalue()).decode()}


async def wait_for_result(client: httpx.AsyncClient) -> None:
    body = {"language_id": 71, "source_code": "print(5)", "expected_output": "5"}
    answer = await client.post("/submissions?wait=true", json=body)
    assert answer.status_code == 201, answer.text
    assert list(answer.json()) == [
        *("stdout", "time", "memory", "stderr"),
        *("token", "compile_output", "message", "status"),
    ]
    assert answer.json()["stdout"] == "5\n"
    assert answer.json()["status"] == {"id": 3, "description": "Accepted"}
    assert isinstance(answer.json()["memory"], int)
    assert float(answer.json()["time"]) < 5
    # Output that is not text comes only as base64.
    source = "import sys\nsys.stdout.buffer.write(bytes([255]) * 50)"
    body = {"language_id": 71, "source_code": source}
    answer = await client.post("/submissions?wait=true&fields=stdout", json=body)
    assert answer.status_code == 201
    path = f"/submissions/{answer.json()['token']}"
    assert "use base64_encoded=true" in answer.json()["error"]
    shown = await client.get(path)
    assert (shown.status_code, list(shown.json())) == (400, ["error"])
    shown = await client.get(path, params={"base64_encoded": "true", "fields": "stdout"})
    lines = shown.json()["stdout"].split("\n")
    assert [len(line) for line in lines] == [60, 8, 0]
    assert base64.b64decode(shown.json()["stdout"]) == b"\xff" * 50
