"""Reads from the database what is needed to evaluate a submission."""

from collections.abc import Iterator, Mapping
from typing import Any

from deemster.domain.analysis import Category, Level
from deemster.domain.errors import Refused
from deemster.domain.evaluation import AnalysisFacts, EvaluationRequest, Facts, FindingFact
from deemster.domain.ids import SubmissionId
from deemster.domain.source import unpack_files
from deemster.store.artifacts import Artifacts
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import Connection
from deemster.store.submissions import get, submission_details


async def read_request(
    reading: Connection,
    artifacts: Artifacts,
    submission: SubmissionId,
    *,
    analysis: AnalysisFacts | None = None,
    locale: str | None = None,
    is_last_attempt: bool = False,
) -> EvaluationRequest:
    """The submission has a verdict."""
    view = await get(reading, submission)
    details = await submission_details(reading, submission)
    if view is None or details is None or view.verdict is None:
        raise Refused(f"The submission {submission} has no verdict, so it can't be evaluated.")
    content = await fetch(reading, artifacts, details.source)
    return EvaluationRequest(
        submission=submission,
        account=view.account,
        account_name=view.account_name,
        problem=view.problem,
        language=view.language,
        files=unpack_files(content),
        main=details.main,
        facts=Facts(
            verdict=view.verdict,
            passed_cases=view.passed_cases or 0,
            total_cases=view.total_cases or 0,
            runtime_ms=view.runtime_ms or 0,
            limit_ms=details.time_ms,
            memory_kb=view.memory_kb or 0,
            analysis=analysis,
        ),
        locale=locale,
        is_last_attempt=is_last_attempt,
    )


def facts_of_sarif(log: Mapping[str, Any], scores: Mapping[str, int | None]) -> AnalysisFacts:
    """The facts in a SARIF log of Deemster, without messages: they may quote the program."""
    known = {Category(name): score for name, score in scores.items()}
    return AnalysisFacts(known, tuple(findings_of_sarif(log)))


def findings_of_sarif(log: Mapping[str, Any]) -> Iterator[FindingFact]:
    for run in log["runs"]:
        rules = {rule["id"]: rule for rule in run["tool"]["driver"]["rules"]}
        for result in run["results"]:
            rule = rules[result["ruleId"]]
            place = result["locations"][0]["physicalLocation"]["region"]
            yield FindingFact(
                title=rule["shortDescription"]["text"],
                category=Category(rule["properties"]["category"]),
                level=Level(result["level"]),
                line=place["startLine"],
            )
