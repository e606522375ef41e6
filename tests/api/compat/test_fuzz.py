"""Whatever a client sends to a compatible API, the answer has that API's own shape (F1-F4)."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from deemster.api.app import create_app
from deemster.store.pool import Pool
from tests.api.compat.conftest import SettlingWorker
from tests.api.conftest import MakeDependencies, make_user, running

EXAMPLES = 120

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(10**40), 10**40),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([0, -1, 1e308, 5e-324, 2**63]),
    st.sampled_from(["", "\0", "é", "../x", "/etc/passwd", "%", "1", "AAAA", "https://x.y"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def changed(program: Mapping[str, Any], *fields: str) -> st.SearchStrategy[dict[str, Any]]:
    """The program with some fields replaced, and sometimes with one that does not exist."""
    names = st.sampled_from([*program, *fields, "unknown"])
    return st.dictionaries(names, VALUES, min_size=1, max_size=4).map(
        lambda others: {**program, **others}
    )


JUDGE0 = changed(
    {"language_id": 71, "source_code": "print(1)"},
    *("compiler_options", "command_line_arguments", "number_of_runs", "stdin"),
    *("expected_output", "cpu_time_limit", "cpu_extra_time", "wall_time_limit"),
    *("memory_limit", "stack_limit", "max_processes_and_or_threads", "max_file_size"),
    *("redirect_stderr_to_stdout", "callback_url", "additional_files", "enable_network"),
    *("enable_per_process_and_thread_time_limit", "enable_per_process_and_thread_memory_limit"),
)
PISTON_FILE = changed({"content": "print(1)"}, "name", "encoding")
PISTON = st.tuples(
    changed(
        {"language": "python", "version": "*", "files": [{"content": "1"}]},
        *("stdin", "args", "run_timeout", "compile_timeout", "run_cpu_time"),
        *("compile_cpu_time", "run_memory_limit", "compile_memory_limit"),
    ),
    st.none() | st.lists(PISTON_FILE, max_size=3),
).map(lambda each: each[0] if each[1] is None else {**each[0], "files": each[1]})
PARAMETERS = changed(
    {},
    *("cputime", "memorylimit", "disklimit", "numprocs", "streamsize"),
    *("compileargs", "linkargs", "interpreterargs", "runargs"),
)
JOBE = st.tuples(
    changed(
        {"language_id": "python3", "sourcecode": "print(1)"},
        *("sourcefilename", "input", "file_list", "debug"),
    ),
    PARAMETERS | VALUES,
).map(lambda each: {"run_spec": {**each[0], "parameters": each[1]}})
SANDBOXFUSION = changed(
    {"code": "print(1)", "language": "python"},
    *("stdin", "compile_timeout", "run_timeout", "memory_limit_MB", "files", "fetch_files"),
    "args",
)


def is_judge0(answer: httpx.Response) -> bool:
    found = answer.json()
    if answer.status_code == 422:
        return all(isinstance(each, list) and each for each in found.values())
    return list(found) == (["token"] if answer.status_code == 201 else ["error"])


def is_piston(answer: httpx.Response) -> bool:
    found = answer.json()
    if answer.status_code == 200:
        return {"language", "version", "run"} <= set(found)
    return answer.status_code == 400 and isinstance(found["message"], str)


def is_jobe(answer: httpx.Response) -> bool:
    found = answer.json()
    if answer.status_code == 200:
        return set(found) == {"run_id", "outcome", "cmpinfo", "stdout", "stderr"}
    return answer.status_code in {400, 404} and isinstance(found, str)


def is_sandboxfusion(answer: httpx.Response) -> bool:
    return answer.status_code == 200 and answer.json()["status"] in {"Success", "SandboxError"}


APIS: dict[str, tuple[str, st.SearchStrategy[Any], Callable[[httpx.Response], bool]]] = {
    "judge0": ("/judge0/submissions", JUDGE0, is_judge0),
    "piston": ("/api/v2/execute", PISTON, is_piston),
    "jobe": ("/jobe/index.php/restapi/runs", JOBE, is_jobe),
    "sandboxfusion": ("/run_code", SANDBOXFUSION, is_sandboxfusion),
}
ODD_BODIES = st.binary(max_size=30) | VALUES.map(lambda each: json.dumps(each).encode())


@pytest.mark.parametrize("api", APIS)
async def test_no_body_breaks_the_api(
    make_dependencies: MakeDependencies, pool: Pool, worker: SettlingWorker, api: str
) -> None:
    path, bodies, is_right = APIS[api]
    user = await make_user(pool, "ada")
    unlimited = {"executions_per_minute_user": 10**6, "submits_per_minute_ip": 10**6}
    app = create_app(make_dependencies(compat=[api], **unlimited))
    async with running(app) as client, worker.settling_all():
        client.headers.update({**user.headers, "Content-Type": "application/json"})
        for content in drawn(bodies.map(lambda each: json.dumps(each).encode()) | ODD_BODIES):
            answer = await client.post(path, content=content)
            assert is_right(answer), (content, answer.status_code, answer.text)


def drawn(bodies: st.SearchStrategy[bytes]) -> list[bytes]:
    """Examples, drawn at once: hypothesis can't wait for an answer."""
    found: list[bytes] = []

    @settings(
        max_examples=EXAMPLES,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(bodies)
    def collect(body: bytes) -> None:
        found.append(body)

    collect()
    return found
