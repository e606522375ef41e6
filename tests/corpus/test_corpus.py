"""Every example submission of the corpus is found to be what corpus/verdicts.toml says."""

import pytest

from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.verify.verifier import PackageReport, SubmissionReport
from tests.corpus.conftest import Verify
from tests.corpus.verdicts import CORPUS, Truth, paths_of_submissions, read_truths

TRUTHS = read_truths()

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
"""A few of each kind, in the usual languages; `./dev corpus` judges all."""
THOROUGH = tuple(package for package in TRUTHS if package not in QUICK)


@pytest.mark.parametrize("package", QUICK)
async def test_submissions_are_found_to_be_what_they_are(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    """A3, J3, J4: the exact verdict and score, and whether the author's label holds."""
    await judge_package(package, verify, subtests)


@pytest.mark.corpus
@pytest.mark.parametrize("package", THOROUGH)
async def test_all_other_submissions_are_found_to_be_what_they_are(
    package: str, verify: Verify, subtests: pytest.Subtests
) -> None:
    """A3, J2, J3, J4, J7, X7: also hostile ones, and in all languages that are installed."""
    await judge_package(package, verify, subtests)


async def judge_package(package: str, verify: Verify, subtests: pytest.Subtests) -> None:
    truths = TRUTHS[package]
    verified = await verify(CORPUS / package, truths)
    found = {each.example.path: each for each in verified.report.submissions}
    for path, truth in truths.items():
        with subtests.test(msg=path):
            if path in verified.missing:
                pytest.skip(verified.missing[path])
            compare(found.get(path), truth, verified.report)
    sound = not any(truth.verdict is Verdict.JUDGE_ERROR for truth in truths.values())
    errors = [finding.text for finding in verified.report.findings if finding.is_error]
    assert not (sound and errors)


def compare(found: SubmissionReport | None, truth: Truth, report: PackageReport) -> None:
    if found is None:
        # Where the jury's own programs can't be made ready, nothing is judged.
        assert truth.verdict is Verdict.JUDGE_ERROR
        assert any(finding.is_error for finding in report.findings)
        return
    judgement = found.judgement
    assert judgement is not None, found.reasons
    failed = judgement.failed_case
    seen = failed and f"{failed.name}: {failed.program_exit}, {failed.message.reveal()!r}"
    assert judgement.verdict is truth.verdict, (seen, judgement.fault.reveal())
    if truth.score is not None:
        assert judgement.score == pytest.approx(truth.score)
    assert found.matches is truth.label_holds, found.reasons


def test_the_truth_of_every_submission_is_known() -> None:
    packages = {path.name for path in CORPUS.iterdir() if path.is_dir()}
    assert packages == TRUTHS.keys()
    for package, truths in TRUTHS.items():
        assert paths_of_submissions(CORPUS / package) == truths.keys(), package


def test_the_corpus_has_all_verdicts() -> None:
    """A3."""
    known = {truth.verdict for truths in TRUTHS.values() for truth in truths.values()}
    assert known == set(Verdict)
