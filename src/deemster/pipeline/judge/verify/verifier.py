"""Judges a package's example submissions and compares the verdicts with the expected ones."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.errors import Refused, Unavailable
from deemster.domain.expectation import Observed, ObservedCase, disagreements
from deemster.domain.judgement import JuryJudgement
from deemster.domain.limits import infer_limit_ms
from deemster.domain.problem import Comparison, ExampleSubmission, Problem
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.case_files import CaseFiles
from deemster.pipeline.judge.jury.programs import prepare_program
from deemster.pipeline.judge.prepared_problem import PreparedProblem
from deemster.pipeline.judge.python2 import NEEDS_PYTHON2, looks_like_python2
from deemster.pipeline.judge.sources import submission_source
from deemster.pipeline.judge.verify.failure_details import FailureDetails, failure_details
from deemster.pipeline.judge.verify.package_checks import PackageFinding, check_package, warn
from deemster.pipeline.judge.verify.progress import Progress
from deemster.pipeline.judge.verify.without_grader import without_grader
from deemster.problems.revision import Revision
from deemster.programs.build.cached_compiler import BuildTools
from deemster.sandbox.lanes import Lanes

NOT_JUDGED = "It was not judged, because the validator does not end."
GENEROUS_MS = 60_000
"""The time limit of the runs that determine the time limit."""


@dataclass(frozen=True, slots=True)
class SubmissionReport:
    example: ExampleSubmission
    judgement: JuryJudgement | None = None
    """None if the submission could not be judged."""
    reasons: tuple[str, ...] = ()
    """How the judgement differs from the expectation."""

    @property
    def matches(self) -> bool:
        return self.judgement is not None and not self.reasons

    @property
    def has_group_bounds(self) -> bool:
        return bool(self.example.expectation.group_bounds)

    @property
    def failure_details(self) -> FailureDetails:
        return FailureDetails() if self.judgement is None else failure_details(self.judgement)


@dataclass(frozen=True, slots=True)
class PackageReport:
    path: Path
    problem: Problem | None = None
    digest: str = ""
    time_limit_ms: int | None = None
    submissions: Sequence[SubmissionReport] = ()
    findings: Sequence[PackageFinding] = ()

    @property
    def ok(self) -> bool:
        failed = any(finding.is_error for finding in self.findings)
        return not failed and all(each.matches for each in self.submissions)


@dataclass(frozen=True, slots=True)
class Verifier:
    build_tools: BuildTools
    lanes: Lanes
    spool_dir: Path
    jobs: int
    progress: Progress

    async def verify(self, path: Path, revision: Revision) -> PackageReport:
        report = PackageReport(path, revision.problem, revision.digest)
        try:
            problem, faults = await self._usable_problem(revision)
            try:
                async with self._open(revision, problem) as prepared:
                    return await self._check_and_judge(prepared, report, faults)
            except Refused as fault:  # a program of the jury can't be used
                faults.append(PackageFinding("error", str(fault)))
            return replace(report, findings=faults + await self._check_inputs(revision))
        except Unavailable as fault:
            return replace(report, findings=[PackageFinding("error", str(fault))])

    def _open(
        self, revision: Revision, problem: Problem
    ) -> AbstractAsyncContextManager[PreparedProblem]:
        return PreparedProblem.open(
            self.build_tools, self.lanes, revision.directory, problem, self.spool_dir
        )

    async def _usable_problem(self, revision: Revision) -> tuple[Problem, list[PackageFinding]]:
        """The problem, without its grader if that can't be built: verdicts don't need it."""
        problem = revision.problem
        if problem.grader is None:
            return problem, []
        root = revision.directory
        try:
            async with (
                self.lanes.acquire() as boxes,
                prepare_program(boxes, self.build_tools, root, problem, problem.grader),
            ):
                return problem, []
        except Refused as fault:
            left_out = "Scores and partially accepted submissions are not verified."
            return without_grader(problem), [PackageFinding("error", f"{fault} {left_out}")]

    async def _check_inputs(self, revision: Revision) -> list[PackageFinding]:
        """What can be checked without the jury's checker or interactor."""
        problem = revision.problem
        tests = [each for each in problem.validator_tests if each.kind == "invalid_input"]
        inputs = replace(
            problem, checker=Comparison(), interactor=None, validator_tests=tuple(tests)
        )
        root = revision.directory
        prepared = PreparedProblem(
            self.build_tools, self.lanes, root, inputs, {}, self.spool_dir, CaseFiles(root)
        )
        warnings = [warn(text) for text in problem.warnings]
        return warnings + await check_package(prepared, self.jobs, self.progress)

    async def time_limit_ms(self, revision: Revision) -> int:
        """Determines the time limit of a package that has none, as `verify` does."""
        problem = revision.problem
        async with self._open(revision, problem) as prepared:
            reports = (await self._judge_lower_bounds(prepared)).values()
        judged = [each for each in reports if each.judgement is not None]
        if not judged:
            raise Refused(
                f"{problem.slug} has no time limit, and none of its accepted submissions could "
                "be judged to determine one: add a time limit to the package."
            )
        for each in judged:
            if not each.matches and not each.has_group_bounds:
                raise Refused(
                    f"{problem.slug} has no time limit, and none can be determined, because "
                    f"{each.example.path} is not judged as expected: "
                    "see `deemster problem verify`."
                )
        return find_limit_ms(problem, judged)

    async def _judge_lower_bounds(
        self, prepared: PreparedProblem
    ) -> dict[str, SubmissionReport]:
        submissions = prepared.problem.submissions
        examples = [each for each in submissions if each.expectation.has_lower_bound]
        return await self._judge_all(prepared, examples, GENEROUS_MS)

    async def _check_and_judge(
        self, prepared: PreparedProblem, report: PackageReport, faults: Sequence[PackageFinding]
    ) -> PackageReport:
        problem = prepared.problem
        findings = [*faults, *(warn(text) for text in problem.warnings)]
        findings += await check_package(prepared, self.jobs, self.progress)
        if any(finding.stops_judging for finding in findings):
            left = [
                SubmissionReport(each, reasons=(NOT_JUDGED,)) for each in problem.submissions
            ]
            return replace(report, submissions=left, findings=findings)
        limit_ms, judged = problem.limits.time_ms, {}
        if limit_ms is None and not problem.submit_answer:
            judged = await self._judge_lower_bounds(prepared)
            limit_ms = find_limit_ms(problem, judged.values())
        # Groups without the bound may need the limit that was found.
        kept = {path: each for path, each in judged.items() if not each.has_group_bounds}
        others = [each for each in problem.submissions if each.path not in kept]
        kept |= await self._judge_all(prepared, others, limit_ms or GENEROUS_MS)
        return replace(
            report,
            time_limit_ms=limit_ms,
            submissions=[kept[each.path] for each in problem.submissions],
            findings=findings,
        )

    async def _judge_all(
        self, prepared: PreparedProblem, examples: Sequence[ExampleSubmission], time_ms: int
    ) -> dict[str, SubmissionReport]:
        """Judges `jobs` submissions at once; their cases share the lanes."""
        limit = asyncio.Semaphore(self.jobs)

        async def judge(example: ExampleSubmission) -> SubmissionReport:
            async with limit:
                return await self._judge(prepared, example, time_ms)

        async with asyncio.TaskGroup() as group:
            tasks = {each.path: group.create_task(judge(each)) for each in examples}
        return {path: task.result() for path, task in tasks.items()}

    async def _judge(
        self, prepared: PreparedProblem, example: ExampleSubmission, time_ms: int
    ) -> SubmissionReport:
        problem = prepared.problem
        total = sum(1 for _ in problem.tests.cases())
        with self.progress.step(f"{problem.slug}: {example.path}", total) as advance:
            try:
                language, source = await asyncio.to_thread(
                    submission_source,
                    prepared.root,
                    problem,
                    example,
                    self.build_tools.catalogue,
                )
                judgement = await prepared.judge(
                    language,
                    source,
                    time_ms=time_ms,
                    width=self.jobs,
                    on_case=lambda _: advance(),
                )
            except (Refused, Unavailable) as fault:
                return SubmissionReport(example, reasons=(str(fault),))
        reasons = tuple(disagreements(example.expectation, observed(judgement)))
        if reasons and judgement.verdict is Verdict.JUDGE_ERROR and judgement.fault:
            reasons += (judgement.fault.reveal(),)
        if reasons and looks_like_python2(source.files):
            reasons = (f"It {NEEDS_PYTHON2}", *reasons)
        return SubmissionReport(example, judgement, reasons)


def find_limit_ms(problem: Problem, reports: Iterable[SubmissionReport]) -> int:
    """Derives the limit from the slowest case that must be fast enough."""
    times = [
        case.cpu_ms
        for each in reports
        if each.judgement is not None
        for case in each.judgement.cases
        if each.example.expectation.is_lower_bound(case.name)
    ]
    limits = problem.limits
    return infer_limit_ms(max(times, default=0), limits.accepted_to_limit, limits.resolution_ms)


def observed(judgement: JuryJudgement) -> Observed:
    return Observed(
        verdict=judgement.verdict,
        cases=[
            ObservedCase(case.name, case.verdict, case.message.reveal())
            for case in judgement.cases
            if case.verdict is not None
        ],
        skipped=[case.name for case in judgement.cases if case.verdict is None],
        score=judgement.score,
        best_score=judgement.max_score,
        group_scores=[
            (group.name, group.score) for group in judgement.groups if group.score is not None
        ],
    )
