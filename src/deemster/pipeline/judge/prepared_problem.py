"""A problem made ready for judging: its jury programs compiled, for all submissions to come."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.judgement import CompileRecord, JuryJudgement
from deemster.domain.language import Language
from deemster.domain.problem import Problem, Program
from deemster.domain.source import Source
from deemster.domain.verdict import Verdict
from deemster.pipeline.judge.answer_judge import AnswerJudge
from deemster.pipeline.judge.build.compile import Artifact, Build
from deemster.pipeline.judge.case_judge import CaseJudge
from deemster.pipeline.judge.jury.programs import JuryProgram, ProgramBuilder
from deemster.pipeline.judge.sources import jury_programs
from deemster.pipeline.judge.submission_judge import OnCase, SubmissionJudge, ignore, not_run
from deemster.sandbox.lanes import Lanes

HEADERS = (".h", ".hh", ".hpp", ".hxx")


@dataclass(frozen=True, slots=True)
class PreparedProblem:
    workshop: ProgramBuilder
    lanes: Lanes
    root: Path
    """The directory of the problem's revision."""
    problem: Problem
    programs: Mapping[Program, JuryProgram]
    spool_dir: Path

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        workshop: ProgramBuilder,
        lanes: Lanes,
        root: Path,
        problem: Problem,
        spool_dir: Path,
    ) -> AsyncIterator["PreparedProblem"]:
        """Compiles the jury's programs; a JuryFault says which of them can't be."""
        async with AsyncExitStack() as stack:
            programs: dict[Program, JuryProgram] = {}
            for program in jury_programs(problem):
                async with lanes.one() as boxes:
                    ready = workshop.jury_program(boxes, root, problem, program)
                    programs[program] = await stack.enter_async_context(ready)
            yield cls(workshop, lanes, root, problem, programs, spool_dir)

    async def judge(
        self,
        language: Language,
        source: Source,
        *,
        time_ms: int,
        width: int = 1,
        on_case: OnCase = ignore,
    ) -> JuryJudgement:
        """Compiles once, then runs the cases: `width` at once, each on a lane of its own."""
        self._admit(language, source)
        hearing = SubmissionJudge(
            self.lanes, self.problem, self.programs, self.workshop.work_dir, width, on_case
        )
        if self.problem.submit_answer:
            return await hearing.judge(self.answer_judge(source), source, language)
        toolchain = await self.workshop.toolchains.require(language)
        async with AsyncExitStack() as stack:
            async with self.lanes.one() as boxes:
                built = self.workshop.compiler.built(boxes, toolchain, source)
                build = await stack.enter_async_context(built)
            record = record_of(build, language, toolchain.version)
            if build.artifact is None:
                cases = not_run(self.problem)
                return JuryJudgement(Verdict.COMPILE_ERROR, cases, compiled=record)
            judge = self._case_judge(build.artifact, language, source, time_ms)
            record = replace(record, run_argv=judge.command_line())
            return await hearing.judge(judge, source, language, record)

    def _admit(self, language: Language, source: Source) -> None:
        own = [content for name, content in source.files.items() if name not in source.included]
        most = self.problem.limits.code_bytes
        if sum(map(len, own)) > most:
            raise Refused(
                f"The source has more than the {most // 1024:,} KiB that this problem "
                "allows: shorten it."
            )
        allowed = self.problem.languages
        names = {language.id, *language.aliases}
        if allowed is not None and not names & {name.lower() for name in allowed}:
            raise Refused(
                f"This problem can't be solved in {language.name}: use "
                f"{' or '.join(sorted(allowed))}."
            )

    def answer_judge(self, source: Source) -> AnswerJudge:
        """Judges outputs instead of programs."""
        return AnswerJudge(
            root=self.root,
            problem=self.problem,
            files=source.files,
            programs=self.programs,
            work_dir=self.workshop.work_dir,
        )

    def _case_judge(
        self, artifact: Artifact, language: Language, source: Source, time_ms: int
    ) -> CaseJudge:
        return CaseJudge(
            root=self.root,
            problem=self.problem,
            artifact=artifact,
            time_ms=time_ms,
            programs=self.programs,
            work_dir=self.workshop.work_dir,
            spool_dir=self.spool_dir,
            beside=files_beside(language, source),
        )


def files_beside(language: Language, source: Source) -> dict[str, bytes]:
    """What a program may open by name: its data, and of a script of several files all."""
    step = language.compile
    interpreted = step is None or not step.output
    if interpreted and len(source.files) > 1:
        return dict(source.files)
    return {
        name: content
        for name, content in source.files.items()
        if not language.is_source(name) and not name.endswith(HEADERS)
    }


def record_of(build: Build, language: Language, version: str) -> CompileRecord:
    """The exact version and command lines that a verdict rests on (J6)."""
    compilation = build.compilation
    return CompileRecord(
        language=language.id,
        version=version,
        argv=compilation.argv if compilation else (),
        output=compilation.output if compilation else "",
        ms=compilation.ms if compilation else 0,
        cached=build.from_cache,
    )
