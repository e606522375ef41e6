"""What a judgehost sends to a DOMjudge server, and how it obeys the server's answers (M7)."""

import base64
import io
import json
import tarfile
from typing import Any

import pytest

from tests.judgehost.domjudge.conftest import Site
from tests.judgehost.domjudge.domserver import Executable, script
from tests.judgehost.domjudge.packages import (
    COMPARE,
    RUN,
    ProblemForm,
    calls_of,
    corpus_problem,
    prefetch,
    submit,
    words,
)
from tests.waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="module")

ECHO = b"print(input())\n"


def metadata(text: str) -> dict[str, str]:
    return {
        key: value.strip() for key, value in (line.split(":", 1) for line in text.splitlines())
    }


async def test_a_run_is_reported_with_outputs_and_metadata(site: Site) -> None:
    source = b"import sys\nprint('x' * 3000)\nprint('why', file=sys.stderr)\n"
    judging = await site.judged(submit(site.server, words(("7\n", "7\n")), {"a.py": source}))
    [run] = judging.runs
    assert run.text("output_run").startswith("x" * 2000)
    assert run.text("output_run").endswith("\n[output storage truncated after 2000 B]\n")
    assert run.text("output_error") == "why\n"
    assert "word 1 differs" in run.text("output_diff")
    assert run.text("output_system").startswith("Wrong answer.\nruntime: ")
    facts = metadata(run.text("metadata"))
    assert (facts["exitcode"], facts["time-used"], facts["time-result"]) == (
        "0",
        "cpu-time",
        "",
    )
    assert (facts["stdout-bytes"], facts["stderr-bytes"]) == ("3001", "4")
    assert int(facts["memory-bytes"]) > 1_000_000
    assert float(facts["cpu-time"]) == pytest.approx(float((run.report or {})["runtime"]))
    assert metadata(run.text("compare_metadata")) == {"exitcode": "43"}
    report = judging.compile_report or {}
    assert report["entry_point"] == "a.py"
    assert "detected entry_point" in base64.b64decode(report["output_compile"]).decode()
    assert metadata(base64.b64decode(report["compile_metadata"]).decode())["exitcode"] == "0"


async def test_feedback_for_the_team_and_arguments_of_the_validator_are_passed_on(
    site: Site,
) -> None:
    problem = corpus_problem("divisor")
    judging = await site.judged(submit(site.server, problem, {"a.py": b"print(1)\n"}))
    assert judging.runs[0].text("team_message") == "Your number is no divisor.\n"


async def test_a_submission_is_compiled_once_and_stops_at_the_first_wrong_run(
    site: Site,
) -> None:
    cases = [("1\n", "1\n"), ("2\n", "2\n"), ("3\n", "wrong\n"), ("4\n", "4\n")]
    judging = await site.judged(submit(site.server, words(*cases), {"a.py": ECHO}))
    assert judging.results == ["correct", "correct", "wrong-answer", None]
    assert judging.compiled_by == ["room-a-0"]


async def test_it_goes_on_if_the_server_says_so_also_over_several_batches(site: Site) -> None:
    cases = [(f"{n}\n", "wrong\n" if n == 2 else f"{n}\n") for n in range(8)]
    judging = submit(site.server, words(*cases), {"a.py": ECHO}, judge_completely=True)
    await site.judged(judging)
    assert judging.results == ["correct", "correct", "wrong-answer", *["correct"] * 5]
    assert judging.compiled_by == ["room-a-0"]


async def test_executables_and_testcases_are_fetched_once_and_prefetched(site: Site) -> None:
    problem = ProblemForm(
        [(b"prefetched\n", b"prefetched\n")],
        run=script('#!/bin/sh\n# another one\nin=$1; shift 2; exec "$@" < "$in"\n'),
    )
    judging = submit(site.server, problem, {"a.py": ECHO})
    [run] = judging.runs
    run.host = "nobody"
    site.server.other_work.append(prefetch(site.server, judging))
    await until(
        lambda: (
            f"GET judgehosts/get_files/testcase/{run.task['testcase_id']}" in site.server.calls
        )
    )
    began = len(site.server.calls)
    run.host = None
    await site.judged(judging)
    assert judging.result == "correct"
    calls = site.server.calls[began:]
    assert not [
        each for kind in ("testcase", "run", "compare") for each in calls_of(calls, kind)
    ]


async def test_after_try_again_and_unknown_work_it_asks_again(site: Site) -> None:
    site.server.other_work.extend([[{"type": "try_again"}]] * 3)
    site.server.other_work.append([{"type": "of_a_newer_server", "judgetaskid": 1}])
    judging = submit(site.server, words(("7\n", "7\n")), {"a.py": ECHO})
    await site.judged(judging)
    assert judging.result == "correct"
    assert not site.server.other_work


async def test_versions_are_told(site: Site) -> None:
    site.server.versions = {
        "compiler_version_command": "python3 --version",
        "runner_version_command": "echo broken >&2; exit 4",
    }
    try:
        judging = submit(site.server, words(("7\n", "7\n")), {"a.py": ECHO})
        await site.judged(judging)
    finally:
        site.server.versions = {}
    [told] = site.server.reported_versions
    assert base64.b64decode(told["compiler"]).startswith(b"Python 3.")
    assert b"exit code 4\nbroken" in base64.b64decode(told["runner"])


async def test_debug_info_is_the_whole_output_or_a_package_of_all_files(site: Site) -> None:
    judging = submit(site.server, words(("7\n", "7\n")), {"a.py": b"print('x' * 3000)\n"})
    await site.judged(judging)
    [run] = judging.runs
    debug = script('#!/bin/sh\nexec tar czf "$2" -C "$(dirname "$1")" "$(basename "$1")"\n')
    number = site.server.add_executable(debug)
    common = {name: run.task[name] for name in ("jobid", "submitid", "uuid")}
    site.server.other_work.append(
        [
            {
                **common,
                "type": "debug_info",
                "judgetaskid": 9001,
                "testcase_id": run.task["testcase_id"],
            }
        ]
    )
    site.server.other_work.append(
        [
            {
                **common,
                "type": "debug_info",
                "judgetaskid": 9002,
                "run_script_id": number,
                "run_config": json.dumps({"hash": debug.hash}),
            }
        ]
    )
    site.server.other_work.append(
        [{**common, "jobid": 4, "type": "debug_info", "judgetaskid": 9003, "testcase_id": 5}]
    )
    await until(lambda: 9002 in site.server.debug_infos)
    output = base64.b64decode(site.server.debug_infos[9001]["output_run"])
    assert output == b"x" * 3000 + b"\n"
    package = base64.b64decode(site.server.debug_infos[9002]["full_debug"])
    with tarfile.open(fileobj=io.BytesIO(package)) as opened:
        names = opened.getnames()
    assert {"a.py", "program.out", "program.meta"} <= {
        name.rsplit("/", 1)[-1] for name in names
    }
    await until(lambda: not site.server.other_work)
    assert 9003 not in site.server.debug_infos


FAULTS: dict[str, tuple[ProblemForm, dict[str, Any], str, str]] = {
    "compare script that crashes": (
        ProblemForm([(b"1\n", b"1\n")], compare=script("#!/bin/sh\necho broken >&2\nexit 1\n")),
        {},
        "compare_script",
        "broken",
    ),
    "interactor that crashes": (
        ProblemForm(
            [(b"1\n", b"1\n")],
            run=script("#!/bin/sh\nexit 5\n"),
            compare_config={"combined_run_compare": True},
        ),
        {},
        "run_script",
        "exit code 5",
    ),
    "build that fails": (
        ProblemForm(
            [(b"1\n", b"1\n")],
            compare=Executable({"build": (b"#!/bin/sh\necho no compiler\nexit 1\n", True)}),
        ),
        {},
        "compare_script",
        "no compiler",
    ),
    "build that is not executable": (
        ProblemForm([(b"1\n", b"1\n")], compare=Executable({"build": (b"#!/bin/sh\n", False)})),
        {},
        "compare_script",
        "not executable",
    ),
    "executable with another hash": (
        ProblemForm([(b"1\n", b"1\n")], compare_config={"hash": "0" * 32}),
        {},
        "compare_script",
        COMPARE.hash,
    ),
    "executable that is not there": (
        ProblemForm([(b"1\n", b"1\n")], run_config={"hash": "1" * 32}),
        {"run_script_id": 1},
        "run_script",
        "not found",
    ),
    "testcase with another hash": (
        ProblemForm([(b"1\n", b"1\n")]),
        {"testcase_hash": f"{'0' * 32}_{'0' * 32}"},
        "testcase",
        "but the task says",
    ),
    "too many passes": (
        ProblemForm(
            [(b"1\n", b"1\n")],
            compare=script('#!/bin/sh\necho > "$3/nextpass.in"\nexit 42\n'),
            run_config={"pass_limit": 2},
        ),
        {},
        "compare_script",
        "more passes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
async def test_a_fault_of_the_jury_is_an_internal_error_and_the_host_goes_on(
    site: Site, name: str
) -> None:
    problem, changes, kind, message = FAULTS[name]
    before = len(site.server.errors)
    judging = submit(site.server, problem, {"a.py": ECHO}, changes=changes)
    await site.judged(judging)
    assert judging.results == [None]
    [error] = site.server.errors[before:]
    disabled = json.loads(error["disabled"])
    task = judging.runs[0].task
    number = {"testcase": "testcase_id"}.get(kind, f"{kind}_id")
    assert disabled["kind"] == kind
    assert str(task[number]) in disabled.values()
    assert error["judgetaskid"] == str(task["judgetaskid"])
    text = error["description"] + base64.b64decode(error["judgehostlog"]).decode()
    assert message in text
    again = await site.judged(submit(site.server, words(("7\n", "7\n")), {"a.py": ECHO}))
    assert again.result == "correct"


async def test_a_compile_script_can_report_its_own_error_but_a_source_can_not(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoting = script('#!/bin/sh\nshift 2; cat "$@"; exit 1\n')
    faulty = script("#!/bin/sh\necho internal-error: no JDK\nexit 1\n")
    module = "tests.judgehost.domjudge.packages.LANGUAGES"
    before = len(site.server.errors)
    monkeypatch.setattr(module, {".py": (quoting, ["py"])})
    hostile = submit(site.server, words(("7\n", "7\n")), {"a.py": b"internal-error: mine\n"})
    await site.judged(hostile)
    assert hostile.result == "compiler-error"
    assert len(site.server.errors) == before
    monkeypatch.setattr(module, {".py": (faulty, ["py"])})
    await site.judged(submit(site.server, words(("7\n", "7\n")), {"a.py": ECHO}))
    assert "no JDK" in site.server.errors[-1]["description"]


async def test_files_that_a_compiler_leaves_in_its_home_are_not_part_of_the_program(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    littering = script(
        """#!/bin/sh
mkdir "$HOME/.cache" && touch "$HOME/.cache/many" && ln -s many "$TMPDIR/link"
printf '#!/bin/sh\\ncat; ls -A /code/program >&2\\n' > "$1"
chmod +x "$1"
"""
    )
    module = "tests.judgehost.domjudge.packages.LANGUAGES"
    monkeypatch.setattr(module, {".py": (littering, ["py"])})
    judging = await site.judged(submit(site.server, words(("7\n", "7\n")), {"a.py": ECHO}))
    assert judging.result == "correct", judging.compile_report
    assert judging.runs[0].text("output_error").split() == ["a.py", "program"]


async def test_only_files_of_the_language_are_compiled(site: Site) -> None:
    sources = {"a.py": b"print(open('data.txt').read())\n", "data.txt": b"7\n"}
    judging = await site.judged(submit(site.server, words(("1\n", "7\n")), sources))
    assert judging.result == "correct"


async def test_the_run_executable_prepares_the_input(site: Site) -> None:
    doubled = script('#!/bin/sh\ncat "$1" "$1" > /work/in\nexec "$3" < /work/in > "$2"\n')
    problem = ProblemForm([(b"7\n", b"7 7\n")], run=doubled)
    source = b"import sys\nprint(sys.stdin.read())\n"
    judging = await site.judged(submit(site.server, problem, {"a.py": source}))
    assert judging.result == "correct", RUN.hash
