"""Verifies problems for routes and pages: the workers judge a package's examples (W3)."""

import asyncio
import json
from typing import Final

from starlette.requests import Request

from deemster.api.app_state import app_state
from deemster.api.authentication import actor_of
from deemster.api.models.verifications import (
    FindingOut,
    VerificationOut,
    VerificationState,
    example_out,
)
from deemster.api.problem_import import own_problem
from deemster.domain.account import Account
from deemster.domain.errors import Refused
from deemster.domain.ids import ProblemId, RevisionDigest
from deemster.domain.language import Catalogue
from deemster.domain.problem import Problem
from deemster.pipeline.accept.examples import ExampleProgram, VerificationRequest
from deemster.pipeline.judge.sources import example_source
from deemster.pipeline.judge.verify.package_checks import check_definition
from deemster.problems.revision import Revision
from deemster.store import verifications
from deemster.store.inline_artifacts import fetch
from deemster.store.pool import connection

MAX_EXAMPLES: Final = 200
TOO_MANY: Final = f"The package has more than {MAX_EXAMPLES} examples: only these are judged."


async def start_verification(
    request: Request, caller: Account, given: str, *, again: bool = False
) -> VerificationOut:
    """Judges the examples of the revision in force, each once. With `again`, a verification
    that has ended is replaced.
    """
    state = app_state(request)
    importer = state.dependencies.importer
    problem, found = await own_problem(request, caller, given)
    async with state.admission.rate_tokens() as tokens:
        await state.admission.admit(request, caller, tokens)
        async with importer.opened(found.revision) as revision:
            wanted = await asyncio.to_thread(
                read_examples, problem, revision, state.dependencies.catalogue
            )
        await state.dependencies.accept.verify(wanted, actor_of(request, caller), again=again)
    return await read_verification(request, caller, given)


def read_examples(
    problem: ProblemId, revision: Revision, catalogue: Catalogue
) -> VerificationRequest:
    programs = []
    refused = {}
    for example in revision.problem.submissions[:MAX_EXAMPLES]:
        try:
            language, source = example_source(
                revision.directory, revision.problem, example, catalogue
            )
            programs.append(ExampleProgram(example.path, language, source))
        except Refused as fault:
            refused[example.path] = str(fault)
    return VerificationRequest(
        problem,
        RevisionDigest(revision.digest),
        programs,
        refused,
        revision.problem.submit_answer,
    )


async def read_verification(request: Request, caller: Account, given: str) -> VerificationOut:
    """Shows how the examples of the revision in force have been judged until now."""
    state = app_state(request)
    problem, owned = await own_problem(request, caller, given)
    async with state.dependencies.importer.opened(owned.revision) as revision:
        package = revision.problem
    async with connection(state.pool) as reading:
        begun = await verifications.get(reading, problem, owned.revision)
        listed = await verifications.list_examples(reading, problem, owned.revision)
        reports = {
            each.path: json.loads(await fetch(reading, state.dependencies.artifacts, each.jury))
            for each in listed
            if each.jury is not None
        }
    views = {each.path: each for each in listed}
    refused = begun.refused if begun is not None else {}
    examples = [
        example_out(
            each, views.get(each.path), reports.get(each.path, {}), refused.get(each.path)
        )
        for each in package.submissions[:MAX_EXAMPLES]
        if begun is not None
    ]
    findings = findings_of(package)
    is_done = all(each.matches is not None for each in examples)
    has_errors = any(each.severity == "error" for each in findings)
    step = VerificationState.DONE if is_done else VerificationState.JUDGING
    return VerificationOut(
        problem_id=problem,
        digest=owned.revision,
        state=step if begun is not None else VerificationState.NONE,
        started_at=begun.made_at if begun is not None else None,
        started_by=begun.made_by_name if begun is not None else None,
        findings=findings,
        examples=examples,
        matching=sum(bool(each.matches) for each in examples),
        ok=not has_errors and all(each.matches for each in examples)
        if begun is not None and is_done
        else None,
    )


def findings_of(package: Problem) -> list[FindingOut]:
    """What `deemster problem verify` finds without running a program."""
    found = [FindingOut(severity="warning", text=each) for each in package.warnings]
    found += [
        FindingOut(severity=each.severity, text=each.text) for each in check_definition(package)
    ]
    if len(package.submissions) > MAX_EXAMPLES:
        found.append(FindingOut(severity="warning", text=TOO_MANY))
    return found
