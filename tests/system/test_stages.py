"""P1, P2, S5: a running service analyses submissions and executions after their verdicts."""

from dataclasses import replace
from typing import Any

from deemster.domain.analysis import AnalyzerId
from deemster.domain.ids import SubmissionId
from deemster.domain.verdict import Verdict
from deemster.programs.build.installed_tool import own_places
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import locate_tools
from tests.pipeline.analyze.conftest import ANALYZERS
from tests.pipeline.analyze.test_tools import SAMPLES, Sample
from tests.sarif_schema import sarif_checker
from tests.services.ports import reserved_port
from tests.system.client import client_of
from tests.system.conftest import OpenService
from tests.system.programs import RIGHT, Program
from tests.system.truth import until_at_rest

JAVASCRIPT = replace(
    SAMPLES["oxlint"],
    wrong=SAMPLES["oxlint"].wrong.replace(": number", ""),
    clean=SAMPLES["oxlint"].clean.replace(": number", ""),
)
PATIENT = {"stages": "analyze", "stage_retries": 50, "analysis_yields": False}
"""On a busy machine analysers would get no CPU time for long."""


def samples_by_language() -> dict[str, Sample]:
    """One for each language that has an analyser and a toolchain here."""
    catalogue = load_catalogue()
    found: dict[str, Sample] = {}
    for name, sample in SAMPLES.items():
        has_tool = isinstance(locate_tools(ANALYZERS[AnalyzerId(name)], own_places()), dict)
        if has_tool and isinstance(locate_tools(catalogue.named(sample.language)), dict):
            found.setdefault(sample.language, sample)
    return {**found, "javascript": JAVASCRIPT}


def rules_of(log: dict[str, Any]) -> set[str]:
    return {result["ruleId"] for run in log["runs"] for result in run["results"]}


async def test_p2_each_language_gets_its_findings_through_the_api(
    open_service: OpenService,
) -> None:
    """P2: a program that was written to have a finding has it, and a clean one has not.

    tests/pipeline/analyze/test_tools.py runs each tool on a clean program; here one is enough.
    """
    errors_of = sarif_checker()
    samples = samples_by_language()
    assert {"bash", "c", "cpp", "javascript", "python3"} <= samples.keys()
    port = reserved_port()
    async with (
        open_service(port=port, **PATIENT) as service,
        client_of(service, port) as client,
    ):
        service.start("api", "relay", "worker", "keeper")
        sent = dict[SubmissionId, tuple[str, bool]]()
        programs = [
            *((language, sample.wrong, True) for language, sample in samples.items()),
            ("python3", samples["python3"].clean, False),
        ]
        for language, source, is_wrong in programs:
            program = Program(language, source, Verdict.WRONG_ANSWER)
            submission = await client.submit(program, f"{language}-{is_wrong}")
            sent[submission] = (language, is_wrong)
        for submission, (language, is_wrong) in sent.items():
            log = await client.analysis(submission)
            assert errors_of(log) == []
            found = rules_of(log)
            assert (samples[language].rule in found) is is_wrong, (language, found)
            assert log["properties"]["language"] == language
        await service.until_state("COMPLETED", submission)
        assert await service.events(submission) == [
            *("submit", "publish", "start", "analyze", "stage_start", "finalize"),
            *("stage_start", "complete"),
        ]
        execution = await client.execute(
            {"language": "python3", "source_code": SAMPLES["ruff-check"].wrong}, "execution"
        )
        await client.post(f"/v1/executions/{execution}/analysis")
        assert SAMPLES["ruff-check"].rule in rules_of(await client.analysis(execution))
        await until_at_rest(service)
        done = service.fleet.members["worker"].said("job.done")
        assert {line["taskType"] for line in done} == {
            *("submission:run", "submission:analyze", "submission:finalize"),
            *("execution:run", "analysis:run"),
        }
        wanted = {
            "traceId",
            "jobId",
            "userId",
            "stage",
            "taskType",
            "queue",
            "attempt",
            "latencyMs",
            "result",
            "language",
        }
        assert all(wanted <= line.keys() for line in done)


async def test_q8_stages_can_share_the_slots_of_submissions(open_service: OpenService) -> None:
    async with open_service(stage_slots=0, **PATIENT) as service:
        service.start("relay", "worker", "keeper")
        submissions = [await service.submit(RIGHT) for _ in range(3)]
        await service.until_state("COMPLETED", *submissions)
        await until_at_rest(service)
        assert await service.value("SELECT count(*) FROM analysis") == len(submissions)
