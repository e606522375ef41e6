"""Every submission of the sample problems gets the verdict of its label."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deemster.domain.problem import ExampleSubmission
from deemster.pipeline.judge.verify.verifier import PackageReport
from deemster.programs.build.languages import shipped_directory
from deemster.settings import Settings
from deemster.wiring.problems import open_revisions
from tests.corpus.conftest import OpenVerifier

PACKAGES = sorted(path.parent for path in shipped_directory("samples").glob("*/problem.yaml"))
SLOW = ("time_limit_exceeded", "brute_force")

Choice = Callable[[ExampleSubmission], bool]
each_sample = pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)


@each_sample
async def test_the_submissions_of_a_sample_match_their_labels(
    package: Path, settings: Settings, open_verifier: OpenVerifier
) -> None:
    """A3, J3, J4: its data and validators are valid, too."""
    check(await judge(package, settings, open_verifier, is_quick))


@pytest.mark.corpus
@each_sample
async def test_slow_submissions_and_other_languages_match_their_labels(
    package: Path, settings: Settings, open_verifier: OpenVerifier
) -> None:
    """A3, J3, J4."""
    check(await judge(package, settings, open_verifier, lambda each: not is_quick(each)))


def is_quick(submission: ExampleSubmission) -> bool:
    """Every sample has Python, accepted and not; `./dev corpus` judges the other languages."""
    return submission.path.endswith(".py") and submission.label not in SLOW


async def judge(
    package: Path, settings: Settings, open_verifier: OpenVerifier, is_chosen: Choice
) -> PackageReport:
    async with open_revisions(settings).imported(package) as revision:
        problem = revision.problem
        chosen = tuple(each for each in problem.submissions if is_chosen(each))
        part = replace(revision, problem=replace(problem, submissions=chosen))
        async with open_verifier(part) as verifier:
            return await verifier.verify(package, part)


def check(report: PackageReport) -> None:
    assert report.submissions
    assert [finding.text for finding in report.findings if finding.is_error] == []
    wrong = {each.example.path: each.reasons for each in report.submissions if not each.matches}
    assert wrong == {}
