"""Checks the reply of a model: its form, and that the lines which it quotes exist (P5)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deemster.domain.evaluation import Quote
from deemster.domain.rubric import QuestionId, Rubric
from deemster.pipeline.evaluate.program_variants import PreparedProgram

MAX_FAULTS: Final = 5
MIN_QUOTE: Final = 3
"""Characters without spaces; shorter quotes are found in any program."""


class ReplyModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class QuoteModel(ReplyModel):
    file: int
    line: int
    text: Annotated[str, Field(max_length=2000)]


class AnswerModel(ReplyModel):
    question: Annotated[str, Field(max_length=100)]
    answer: Literal["yes", "no"]
    quotes: Annotated[list[QuoteModel], Field(max_length=20)]
    hint: Annotated[str, Field(max_length=4000)] = ""


class Reply(ReplyModel):
    answers: Annotated[list[AnswerModel], Field(max_length=200)]


@dataclass(frozen=True, slots=True)
class InvalidReply:
    faults: tuple[str, ...]
    """For the model, in sentences that quote nothing of its reply."""


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    answer: bool
    quotes: tuple[Quote, ...]
    """Lines that exist; an answer without any is discarded."""
    hint: str


ModelAnswers = Mapping[QuestionId, ModelAnswer]


def read_reply(
    content: str, rubric: Rubric, program: PreparedProgram
) -> ModelAnswers | InvalidReply:
    try:
        reply = Reply.model_validate_json(content)
    except ValidationError as fault:
        return InvalidReply(tuple(form_faults(fault)))
    known = {question.id for question in rubric.questions}
    given = [QuestionId(each.question) for each in reply.answers]
    faults = [
        f"The question {question} must be answered exactly once."
        for question in known
        if given.count(question) != 1
    ]
    if not known.issuperset(given):
        faults.append("Some answers name a question that was not asked.")
    if faults:
        return InvalidReply(tuple(sorted(faults)[:MAX_FAULTS]))
    return {
        QuestionId(each.question): ModelAnswer(
            each.answer == "yes", existing_quotes(each.quotes, program), each.hint
        )
        for each in reply.answers
    }


def form_faults(fault: ValidationError) -> list[str]:
    found = []
    for each in fault.errors(include_url=False, include_input=False, include_context=False):
        if each["type"] == "json_invalid":
            return ["It is not complete JSON."]
        place = ".".join("…" if isinstance(part, int) else part for part in each["loc"])
        # A key that was invented is text of the reply, so it is not repeated.
        where = "An unknown key" if each["type"] == "extra_forbidden" else f"The key {place}"
        found.append(f"{where} does not match the schema.")
    return list(dict.fromkeys(found))[:MAX_FAULTS]


def existing_quotes(quotes: list[QuoteModel], program: PreparedProgram) -> tuple[Quote, ...]:
    found = (find_quote(each, program) for each in quotes)
    return tuple(dict.fromkeys(each for each in found if each is not None))


def find_quote(quote: QuoteModel, program: PreparedProgram) -> Quote | None:
    """The line that is quoted. Models miscount, so the text decides, and then the number."""
    wanted = plain(quote.text)
    if len(wanted) < MIN_QUOTE or not 1 <= quote.file <= len(program.files):
        return None
    file = program.files[quote.file - 1]
    same = [
        number
        for number, line in enumerate(file.lines, 1)
        if number in file.code_lines and plain(line) == wanted
    ]
    nearest = min(same, key=lambda number: abs(number - quote.line), default=None)
    return Quote(quote.file, nearest) if nearest is not None else None


def plain(text: str) -> str:
    return "".join(text.split())
