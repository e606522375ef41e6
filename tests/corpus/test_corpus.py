"""Every example submission of the corpus gets the verdict in corpus/verdicts.toml."""

import asyncio
from collections.abc import Collection

import pytest

from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.verify.verifier import PackageReport, SubmissionReport
from tests.corpus.conftest import JOBS, Verify
from tests.corpus.expected_verdicts import CORPUS, Expected, paths_of_submissions, read_expected
from tests.waiting import PATIENCE_S

EXPECTED = read_expected()

QUICK = (
    "breaks",
    "caselegacy",
    "customgrader",
    "divisor",
    "dmojbatches",
    "driver",
    "eithertolerance",
    "encode",
    "floatgroups",
    "folders",
    "hydrosubtasks",
    "longtalk",
    "mislabelled",
    "multiplier",
    "passes",
    "permutation",
    "polygondivisor",
    "scorefaults",
    "severalchecks",
    "spacecase",
    "static",
    "submitanswer",
    "subtasks",
)
"""A few packages of each kind in common languages; `./dev corpus` judges all."""
BETWEEN_CASES = ("customgrader", "scorefaults", "static")
"""Packages with programs that run between cases; `./dev corpus` judges all in one slot."""
THOROUGH = tuple(package for package in EXPECTED if package not in QUICK)
ABOUT_LANGUAGES = {"driver", "folders"}
SLOW_COMPILERS = (".cpp", ".java")


def left_out(package: str) -> set[str]:
    """Accepted C++ and Java of packages that also have accepted Python: it is judged alike."""
    accepted = {
        path for path, entry in EXPECTED[package].items() if entry.verdict is Verdict.ACCEPTED
    }
    if package in ABOUT_LANGUAGES or not any(path.endswith(".py") for path in accepted):
        return set()
    return {path for path in accepted if path.endswith(SLOW_COMPILERS)}


SLOW = tuple(package for package in QUICK if left_out(package))


@pytest.mark.parametrize("package", QUICK)
async def test_submissions_get_the_expected_verdicts(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    """A3, J3, J4: exactly this verdict and score, and whether the author's label is right."""
    chosen = EXPECTED[package].keys() - left_out(package)
    await judge_submissions(package, chosen, verify, subtests)


@pytest.mark.parametrize("package", BETWEEN_CASES)
async def test_j3_a_worker_with_one_slot_gives_the_same_verdicts(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    """There the next cases of a submission are made ready in the only lane."""
    chosen = EXPECTED[package].keys() - left_out(package)
    async with asyncio.timeout(PATIENCE_S):
        await judge_submissions(package, chosen, verify, subtests, jobs=1)


@pytest.mark.corpus
@pytest.mark.parametrize("package", [each for each in EXPECTED if each not in BETWEEN_CASES])
async def test_all_other_packages_get_the_same_verdicts_in_one_slot(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    await judge_submissions(package, EXPECTED[package], verify, subtests, jobs=1)


@pytest.mark.corpus
@pytest.mark.parametrize("package", SLOW)
async def test_submissions_in_slower_languages_get_the_expected_verdicts(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    await judge_submissions(package, left_out(package), verify, subtests)


@pytest.mark.corpus
@pytest.mark.parametrize("package", THOROUGH)
async def test_all_other_submissions_get_the_expected_verdicts(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    """A3, J2, J3, J4, J7, X7: also malicious ones, in all installed languages."""
    await judge_submissions(package, EXPECTED[package], verify, subtests)


async def judge_submissions(
    package: str,
    paths: Collection[str],
    verify: Verify,
    subtests: pytest.Subtests,
    jobs: int = JOBS,
) -> None:
    expected = {path: entry for path, entry in EXPECTED[package].items() if path in paths}
    verified = await verify(CORPUS / package, expected, jobs)
    found = {each.example.path: each for each in verified.report.submissions}
    for path, entry in expected.items():
        with subtests.test(msg=path):
            if path in verified.missing:
                pytest.skip(verified.missing[path])
            compare(found.get(path), entry, verified.report)
    valid = not any(entry.verdict is Verdict.JUDGE_ERROR for entry in expected.values())
    errors = [finding.text for finding in verified.report.findings if finding.is_error]
    assert not (valid and errors)


def compare(found: SubmissionReport | None, entry: Expected, report: PackageReport) -> None:
    if found is None:
        # Nothing is judged if a jury program can't be built.
        assert entry.verdict is Verdict.JUDGE_ERROR
        assert any(finding.is_error for finding in report.findings)
        return
    judgement = found.judgement
    assert judgement is not None, found.reasons
    failed = judgement.failed_case
    seen = failed and f"{failed.name}: {failed.program_exit}, {failed.message.reveal()!r}"
    assert judgement.verdict is entry.verdict, (seen, judgement.fault.reveal())
    if entry.score is not None:
        assert judgement.score == pytest.approx(entry.score)
    assert found.matches is entry.label_holds, found.reasons


def test_every_submission_has_an_expected_verdict() -> None:
    packages = {path.name for path in CORPUS.iterdir() if path.is_dir()}
    assert packages == EXPECTED.keys()
    for package, expected in EXPECTED.items():
        assert paths_of_submissions(CORPUS / package) == expected.keys(), package


def test_the_corpus_has_all_verdicts() -> None:
    """A3."""
    known = {entry.verdict for expected in EXPECTED.values() for entry in expected.values()}
    assert known == set(Verdict)
