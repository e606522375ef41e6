"""Limits, results and URLs are read as DOMjudge's own daemon reads them (M7)."""

import json

import pytest

from deemster.domain.errors import Refused
from deemster.domain.run_status import RunStatus
from deemster.domain.verdict import Verdict
from deemster.judgehost.domjudge.limits import (
    TimeLimit,
    overshoot_s,
    program_limits,
    time_limit,
)
from deemster.judgehost.domjudge.result import (
    ProgramEnd,
    RunResult,
    output_result,
    program_failure,
    program_metadata,
)
from deemster.judgehost.domjudge.server import api_url
from deemster.judgehost.domjudge.tasks import (
    JudgingTask,
    RunConfig,
    ServerUnavailable,
    TaskType,
    read_tasks,
)
from deemster.sandbox.wire import Report


@pytest.mark.parametrize(
    ("setting", "limit_s", "expected_s"),
    [("1s", 5, 1), ("10%", 5, 0.5), ("1s|10%", 5, 1), ("1s|10%", 20, 2), ("1s&10%", 5, 0.5),
     ("2s+10%", 10, 3), ("1s + 50%", 4, 3)],
)  # fmt: skip
def test_the_overshoot_is_a_time_a_share_or_both(
    setting: str, limit_s: float, expected_s: float
) -> None:
    assert overshoot_s(limit_s, setting) == pytest.approx(expected_s)


def test_an_unknown_form_of_the_overshoot_is_refused() -> None:
    with pytest.raises(Refused, match="timelimit_overshoot"):
        overshoot_s(1, "a while")


def test_the_time_limit_has_a_soft_and_a_hard_part() -> None:
    config = RunConfig(time_limit=2, overshoot=0.5, memory_limit=1024, output_limit=8)
    limit = time_limit(config, "1s")
    assert limit == TimeLimit(2, 3.5)
    limits = program_limits(config, limit, wall_factor=2)
    assert (limits.cpu_ms, limits.wall_ms) == (3500, 7000)
    assert (limits.memory_bytes, limits.output_bytes) == (1 << 20, 8192)


def run_of(
    status: RunStatus = RunStatus.OK,
    *,
    cpu_s: float = 0.1,
    wall_s: float = 0.2,
    exit_code: int | None = 0,
    signal: int | None = None,
    interactive: bool = False,
) -> ProgramEnd:
    report = Report(
        status,
        exit_code=exit_code,
        signal=signal,
        cpu_ns=round(cpu_s * 1e9),
        wall_ns=round(wall_s * 1e9),
        memory_bytes=1000,
        stdout_truncated=status is RunStatus.OUTPUT_LIMIT,
    )
    return ProgramEnd(report, TimeLimit(1, 2), 10, 0, is_interactive=interactive)


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (run_of(), None),
        (run_of(cpu_s=1.1), RunResult.TIMELIMIT),
        (run_of(wall_s=1.1), RunResult.TIMELIMIT),
        (run_of(wall_s=1.1, interactive=True), None),
        (run_of(cpu_s=1.1, exit_code=3, status=RunStatus.NONZERO_EXIT), RunResult.TIMELIMIT),
        (run_of(RunStatus.TIME_LIMIT, exit_code=None), RunResult.TIMELIMIT),
        (run_of(RunStatus.WALL_LIMIT, exit_code=None, interactive=True), RunResult.TIMELIMIT),
        (run_of(RunStatus.NONZERO_EXIT, exit_code=1), RunResult.RUN_ERROR),
        (run_of(RunStatus.SIGNALLED, exit_code=None, signal=11), RunResult.RUN_ERROR),
        (run_of(RunStatus.MEMORY_LIMIT, exit_code=None), RunResult.RUN_ERROR),
        (run_of(RunStatus.FORBIDDEN_SYSCALL, exit_code=None), RunResult.RUN_ERROR),
        (run_of(RunStatus.OUTPUT_LIMIT, exit_code=None), RunResult.OUTPUT_LIMIT),
    ],
)
def test_a_program_fails_as_it_does_under_runguard(
    run: ProgramEnd, expected: RunResult | None
) -> None:
    assert program_failure(run) is expected


def test_no_output_is_told_only_if_it_is_wrong_and_not_interactive() -> None:
    silent = ProgramEnd(run_of().report, TimeLimit(1, 2), 0, 0)
    playing = ProgramEnd(run_of().report, TimeLimit(1, 2), 0, 0, is_interactive=True)
    assert output_result(silent, Verdict.ACCEPTED) is RunResult.CORRECT
    assert output_result(silent, Verdict.WRONG_ANSWER) is RunResult.NO_OUTPUT
    assert output_result(playing, Verdict.WRONG_ANSWER) is RunResult.WRONG_ANSWER


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        (run_of(cpu_s=1.1), {"time-used: cpu-time", "time-result: soft-timelimit"}),
        (run_of(wall_s=1.1), {"time-used: wall-time", "time-result: soft-timelimit"}),
        (run_of(RunStatus.WALL_LIMIT, exit_code=None),
         {"time-used: wall-time", "time-result: hard-timelimit", "exitcode: 137"}),
        (run_of(RunStatus.SIGNALLED, exit_code=None, signal=11),
         {"exitcode: 139", "signal: 11"}),
        (run_of(RunStatus.OUTPUT_LIMIT, exit_code=None), {"output-truncated: stdout"}),
    ],
)  # fmt: skip
def test_metadata_has_the_form_of_program_meta(run: ProgramEnd, lines: set[str]) -> None:
    assert lines <= set(program_metadata(run).splitlines())


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://a.org", "https://a.org/api/v4"),
        ("https://a.org/domjudge/", "https://a.org/domjudge/api/v4"),
        ("http://a.org:8080/domjudge/api/v4/", "http://a.org:8080/domjudge/api/v4"),
        ("http://a.org/api", "http://a.org/api"),
    ],
)
def test_the_url_may_be_that_of_the_web_interface(given: str, expected: str) -> None:
    assert api_url(given) == expected


@pytest.mark.parametrize("url", ["a.org", "ftp://a.org", "https://user:secret@a.org/"])
def test_other_urls_are_refused_and_a_password_is_not_repeated(url: str) -> None:
    with pytest.raises(Refused) as fault:
        api_url(url)
    assert "secret" not in str(fault.value)


def test_unknown_fields_of_newer_servers_are_ignored_and_broken_ones_told() -> None:
    configs = {
        f"{kind}_config": json.dumps({"new": 1}) for kind in ("compile", "run", "compare")
    }
    task = {
        "type": "judging_run", "judgetaskid": 1, "jobid": 2, "submitid": "s-1", "uuid": "u",
        "testcase_id": 3, "compile_script_id": 4, "run_script_id": 5, "compare_script_id": 6,
        **configs, "something": "new",
    }  # fmt: skip
    [read] = read_tasks([task])
    assert isinstance(read, JudgingTask)
    assert (read.submission, read.job, read.testcase) == ("s-1", "2", "3")
    assert read_tasks([]) == []
    assert read_tasks([{"type": "try_again"}])[0].type is TaskType.TRY_AGAIN
    assert read_tasks([{"type": "of_a_newer_server"}])[0].type is TaskType.UNKNOWN
    for wrong in ({**task, "submitid": "../../etc"}, {**task, "run_config": "{"}):
        with pytest.raises(ServerUnavailable):
            read_tasks([wrong])
