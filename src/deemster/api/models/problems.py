"""What is told of problems: statements, samples and limits, nothing of hidden tests (A11)."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

from deemster.api.models.kinds import ResponseModel
from deemster.store.problems import ProblemListItem, ProblemSummary

Mine = Literal["solved", "tried"]
MINE: Final[Mapping[bool | None, Mine | None]] = {None: None, True: "solved", False: "tried"}


class ProblemLineOut(ResponseModel):
    id: str
    title: str
    time_ms: int
    memory_bytes: int
    revision: int
    submits: int
    accepted: int
    mine: Mine | None = None
    """With `mine=true`: what came of your own; null: none was judged."""


class ProblemPage(ResponseModel):
    items: list[ProblemLineOut]
    next_cursor: str | None


class SampleOut(ResponseModel):
    input: str | None
    output: str | None
    interaction: str | None
    """Of a problem that talks with the program."""


class LimitsOut(ResponseModel):
    time_ms: int
    memory_bytes: int
    source_bytes: int
    output_bytes: int | None


class ProblemOut(ResponseModel):
    id: str
    title: str
    titles: dict[str, str]
    """By language."""
    revision: int
    """Counts how often its tests or its statement changed."""
    limits: LimitsOut
    cases: int
    languages: list[str] | None
    """null: all."""
    scoring: bool
    interactive: bool
    submit_answer: bool
    """The answer itself is handed in, not a program."""
    statements: dict[str, str]
    """HTML, by language."""
    samples: list[SampleOut]
    license: str | None
    submits: int
    accepted: int


def problem_line_out(line: ProblemListItem) -> ProblemLineOut:
    return ProblemLineOut(
        id=line.id,
        title=line.title,
        time_ms=line.time_ms,
        memory_bytes=line.memory_bytes,
        revision=line.number,
        submits=line.submits,
        accepted=line.accepted,
    )


def with_mine(line: ProblemLineOut, is_solved: bool | None) -> ProblemLineOut:
    """`is_solved` is None of one that was not tried."""
    return line.model_copy(update={"mine": MINE[is_solved]})


def problem_out(sheet: ProblemSummary, *, submits: int, accepted: int) -> ProblemOut:
    details = sheet.details
    return ProblemOut(
        id=sheet.id,
        title=sheet.title,
        titles=details.get("names", {}),
        revision=sheet.number,
        limits=LimitsOut(
            time_ms=sheet.time_ms,
            memory_bytes=sheet.memory_bytes,
            source_bytes=sheet.source_bytes,
            output_bytes=details.get("limits", {}).get("output_bytes"),
        ),
        cases=sheet.cases,
        languages=list(sheet.languages) if sheet.languages is not None else None,
        scoring=bool(details.get("scoring")),
        interactive=bool(details.get("interactive")),
        submit_answer=bool(details.get("submit_answer")),
        statements=details.get("statements", {}),
        samples=samples_of(details.get("samples", ())),
        license=details.get("license") or None,
        submits=submits,
        accepted=accepted,
    )


def samples_of(samples: Sequence[Mapping[str, str]]) -> list[SampleOut]:
    return [
        SampleOut(
            input=sample.get("input"),
            output=sample.get("output"),
            interaction=sample.get("interaction"),
        )
        for sample in samples
    ]
