"""Judges one submission: runs its cases, grades them and produces the judgement."""

from collections.abc import Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from deemster.domain.judgement import (
    CaseSoFar,
    CompileRecord,
    FaultCause,
    JuryCase,
    JuryJudgement,
    JuryText,
    OnCase,
    case_so_far,
)
from deemster.domain.language import Language
from deemster.domain.problem import (
    Case,
    CustomGrader,
    JuryProgram,
    Problem,
    StaticCheck,
    Subtask,
)
from deemster.domain.scoring import TOLERANCE, ScoredVerdict
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.answer_judge import AnswerJudge
from deemster.pipeline.judge.case_judge import CaseJudge, CaseOutcome
from deemster.pipeline.judge.case_sequence import CaseSequence
from deemster.pipeline.judge.group_grader import CaseScheduler, GroupGrader
from deemster.pipeline.judge.jury.checker import CheckResult, judge_error
from deemster.pipeline.judge.jury.graders import run_grader, run_static_validator
from deemster.pipeline.judge.jury.programs import PreparedJuryProgram
from deemster.programs.workspace import workspace
from deemster.sandbox.lanes import Lanes


def ignore(_: CaseSoFar) -> None:
    pass


@dataclass(frozen=True, slots=True)
class SubmissionJudge:
    lanes: Lanes
    problem: Problem
    programs: Mapping[JuryProgram, PreparedJuryProgram]
    work_dir: Path
    width: int
    on_case: OnCase

    async def judge(
        self,
        judge: CaseJudge | AnswerJudge,
        source: Source,
        language: Language,
        record: CompileRecord | None = None,
    ) -> JuryJudgement:
        outcomes: dict[str, tuple[CaseOutcome, int]] = {}  # and how often each was run
        judged: dict[str, JuryCase] = {}

        async def judge_one(case: Case) -> CaseOutcome:
            outcome, runs = await self._measure(judge, case, sequence)
            outcomes[case.name] = outcome, runs
            return outcome

        def tell(case: Case, result: ScoredVerdict) -> None:
            graded = case_of(numbers[case.name], case, result, outcomes[case.name])
            judged[case.name] = graded
            self.on_case(case_so_far(graded, result.verdict))

        cases = list(self.problem.tests.cases())
        numbers = {case.name: number for number, case in enumerate(cases, start=1)}
        sequence = None
        if self.width == 1 and isinstance(judge, CaseJudge):
            sequence = CaseSequence(self.lanes, judge, cases)
        async with (
            nullcontext() if sequence is None else aclosing(sequence),
            CaseScheduler.open(cases, judge_one, self.width) as scheduler,
        ):
            run_static = partial(self._run_static_validator, source, language, sequence)
            run_grader = partial(self._run_grader, sequence)
            grader = GroupGrader(scheduler, run_grader, run_static, tell)
            result = await grader.grade(self.problem.tests)
        return conclude(self.problem, result, grader, judged, record)

    async def _measure(
        self, judge: CaseJudge | AnswerJudge, case: Case, sequence: CaseSequence | None
    ) -> tuple[CaseOutcome, int]:
        """Runs a case again, alone, if it was a little too slow; the better run counts."""
        if sequence is not None:
            outcome = await sequence.outcome(case)
        else:
            async with self.lanes.acquire() as boxes:
                outcome = await judge.judge(boxes, case)
        if not outcome.is_near_limit:
            return outcome, 1
        await give_lane_back(sequence)
        async with self.lanes.exclusive() as boxes:
            again = await judge.judge(boxes, case)
        return (outcome if again.verdict is Verdict.TIME_LIMIT else again), 2

    async def _run_grader(
        self,
        sequence: CaseSequence | None,
        grading: CustomGrader,
        results: Sequence[ScoredVerdict],
    ) -> ScoredVerdict:
        program = self.problem.grader
        if program is None:
            return ScoredVerdict(Verdict.JUDGE_ERROR)
        await give_lane_back(sequence)
        async with self.lanes.acquire() as boxes:
            return await run_grader(
                boxes, self.programs[program], self.problem.limits, grading, results
            )

    async def _run_static_validator(
        self,
        source: Source,
        language: Language,
        sequence: CaseSequence | None,
        static: StaticCheck,
    ) -> CheckResult:
        program = self.problem.static_validator
        if program is None:
            return judge_error("The problem has no static validator.")
        await give_lane_back(sequence)
        async with workspace(self.work_dir) as directory, self.lanes.acquire() as boxes:
            return await run_static_validator(
                boxes,
                self.programs[program],
                self.problem.limits,
                static,
                source,
                language,
                directory,
            )


async def give_lane_back(sequence: CaseSequence | None) -> None:
    """Before a wait for a lane, which must not be for the one that the next cases hold."""
    if sequence is not None:
        await sequence.aclose()


def conclude(
    problem: Problem,
    result: ScoredVerdict | None,
    grader: GroupGrader,
    judged: Mapping[str, JuryCase],
    record: CompileRecord | None,
) -> JuryJudgement:
    """A case that ran ahead but was not graded doesn't count: whether it runs is chance."""
    cases = [
        judged.get(case.name) or case_not_run(number, case)
        for number, case in enumerate(problem.tests.cases(), start=1)
    ]
    if result is None:
        result = ScoredVerdict(Verdict.JUDGE_ERROR)
        grader.add_fault(FaultCause.NO_CASES, "The problem has no test case.")
    best = best_score(problem)
    return JuryJudgement(
        verdict=final_verdict(problem, result, best),
        cases=cases,
        groups=grader.groups,
        score=final_score(result) if problem.scoring else None,
        max_score=best if problem.scoring else None,
        compiled=record,
        fault=JuryText("\n".join(grader.faults)),
        cause=grader.cause,
    )


def final_score(result: ScoredVerdict) -> float:
    passed = result.verdict in {Verdict.ACCEPTED, Verdict.PARTIAL}
    return (result.score or 0.0) if passed else 0.0


def best_score(problem: Problem) -> float | None:
    """The highest possible score; None if the problem doesn't define it."""
    tests = problem.tests
    if isinstance(tests.grading, Subtask):
        return tests.grading.max_score
    best = tests.highest if problem.objective == "max" else tests.lowest
    return best if abs(best) != float("inf") else None


def final_verdict(problem: Problem, result: ScoredVerdict, best: float | None) -> Verdict:
    """An accepted submission with less than the best score is Partial."""
    if not problem.scoring or result.verdict is not Verdict.ACCEPTED or best is None:
        return result.verdict
    if isinstance(problem.tests.grading, Subtask):
        return result.verdict
    missing = abs((result.score or 0.0) - best) > TOLERANCE
    return Verdict.PARTIAL if missing else Verdict.ACCEPTED


def case_of(
    number: int, case: Case, result: ScoredVerdict, measured: tuple[CaseOutcome, int]
) -> JuryCase:
    outcome, runs = measured
    return JuryCase(
        name=case.name,
        number=number,
        verdict=result.verdict,
        is_sample=case.is_sample,
        full_feedback=case.full_feedback,
        score=result.score,
        cpu_ms=round(outcome.cpu_ms),
        wall_ms=round(outcome.wall_ms),
        memory_kb=outcome.memory_bytes // 1024,
        limit_ms=outcome.limit_ms,
        runs=runs,
        program_exit=outcome.program_exit,
        message=outcome.message,
        team_message=outcome.team_message,
        jury_status=outcome.jury_status,
        output=outcome.output,
        expected=outcome.expected,
        stderr=outcome.stderr,
    )


def not_run(problem: Problem) -> list[JuryCase]:
    cases = enumerate(problem.tests.cases(), start=1)
    return [case_not_run(number, case) for number, case in cases]


def case_not_run(number: int, case: Case) -> JuryCase:
    return JuryCase(case.name, number, None, case.is_sample, case.full_feedback)
