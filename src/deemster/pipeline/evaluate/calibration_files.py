"""Reads the examples that teachers graded, from a YAML file."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from deemster.domain.errors import Refused
from deemster.domain.evaluation import Facts
from deemster.domain.language import Catalogue
from deemster.domain.rubric import QuestionId, Rubric
from deemster.domain.verdict import Verdict
from deemster.pipeline.evaluate.calibration import Example
from deemster.pipeline.evaluate.cascade import answers_of_facts
from deemster.problems.formats.yaml_file import FileModel, checked, mapping_of, read_yaml

EXAMPLES_FILE: Final = "examples.yaml"
MAX_EXAMPLES: Final = 1000
YesNo = Annotated[bool, Field(strict=True)]


class ExampleEntry(FileModel):
    file: str
    language: str | None = None
    verdict: Verdict
    passed_cases: Annotated[int, Field(ge=0)] = 0
    total_cases: Annotated[int, Field(ge=0)] = 0
    runtime_ms: Annotated[int, Field(ge=0)] = 0
    limit_ms: Annotated[int, Field(gt=0)] | None = None
    answers: dict[str, YesNo]

    @property
    def facts(self) -> Facts:
        return Facts(
            verdict=self.verdict,
            passed_cases=self.passed_cases,
            total_cases=self.total_cases,
            runtime_ms=self.runtime_ms,
            limit_ms=self.limit_ms,
        )


class ExamplesFile(FileModel):
    examples: Annotated[list[ExampleEntry], Field(min_length=1, max_length=MAX_EXAMPLES)]


def read_examples(directory: Path, rubric: Rubric, catalogue: Catalogue) -> list[Example]:
    path = directory / EXAMPLES_FILE
    if not path.is_file():
        raise Refused(f"There is no file {path}.")
    values = mapping_of(read_yaml(path, str(path)), str(path))
    return [
        read_example(directory, each, rubric, catalogue)
        for each in checked(ExamplesFile, values, str(path)).examples
    ]


def read_example(
    directory: Path, entry: ExampleEntry, rubric: Rubric, catalogue: Catalogue
) -> Example:
    path = directory / entry.file
    try:
        content = path.read_bytes()
    except OSError as fault:
        raise Refused(f"Can't read the example {path}: {fault.strerror}.") from None
    text = content.decode(errors="replace")
    language = (
        catalogue.named(entry.language)
        if entry.language
        else catalogue.for_file(entry.file, text)
    )
    expected = {question.id for question in rubric.questions}
    expected -= set(answers_of_facts(rubric, entry.facts))
    given = {QuestionId(question): answer for question, answer in entry.answers.items()}
    if given.keys() != expected:
        wrong = ", ".join(sorted(given.keys() ^ expected))
        raise Refused(
            f"The example {entry.file} must answer exactly the questions that facts do not "
            f"answer: add or remove {wrong}."
        )
    return Example(entry.file, {entry.file: content}, language.id, entry.facts, given)
