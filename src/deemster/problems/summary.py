"""Summarizes a revision for the database and the API, without hidden tests (A11)."""

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal

from deemster.domain.ids import ProblemId, RevisionDigest
from deemster.domain.problem import Problem, SampleFiles, Statement, fill_constants
from deemster.domain.storable_text import storable
from deemster.problems.downloads import downloads_of
from deemster.problems.formats.tex.convert import tex_to_markdown
from deemster.problems.markup import clean_html, markdown_to_html, text_to_html
from deemster.problems.revision import Revision
from deemster.store.problems import ProblemSummary

MAX_STATEMENT_BYTES: Final = 256 * 1024
TITLE_CHARS: Final = 200
MAX_LANGUAGES: Final = 50
"""Statements in further languages are not shown."""
SAMPLE_BYTES: Final = 64 * 1024
"""Most bytes of a sample's file that are shown."""
SAMPLES_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of all samples: everybody who opens the problem gets them."""
STARTERS_BYTES: Final = 128 * 1024
"""Most bytes of all starter files that are kept."""
KINDS: Final = ("md", "tex", "html", "txt")
"""Kinds of statements that can be shown, the preferred one first."""


def summary_of(revision: Revision, problem_id: ProblemId, *, time_ms: int) -> ProblemSummary:
    problem = revision.problem
    return ProblemSummary(
        id=problem_id,
        digest=RevisionDigest(revision.digest),
        title=shortened(title_of(problem)),
        time_ms=time_ms,
        memory_bytes=problem.limits.memory_bytes,
        source_bytes=problem.limits.code_bytes,
        cases=sum(1 for _ in problem.tests.cases()),
        languages=sorted(problem.languages) if problem.languages is not None else None,
        details=storable(details_of(problem, revision.directory)),
    )


def title_of(problem: Problem) -> str:
    return problem.names.get("en") or next(iter(problem.names.values()), "") or problem.slug


def shortened(title: str) -> str:
    """On one line, and not longer than the lists that show it can bear."""
    plain = "".join(each if each.isprintable() else " " for each in str(storable(title)))
    line = " ".join(plain.split())
    return line if len(line) <= TITLE_CHARS else line[: TITLE_CHARS - 1] + "…"


def details_of(problem: Problem, root: Path) -> dict[str, Any]:
    limits = problem.limits
    return {
        "names": {language: shortened(name) for language, name in problem.names.items()},
        "statements": {
            each.language: statement_html(root, each, problem)
            for each in islice(readable_statements(problem), MAX_LANGUAGES)
        },
        "samples": list(read_samples(problem, root)),
        "limits": {
            "output_bytes": limits.output_bytes,
            "compile_ms": limits.compile_ms,
            "passes": limits.passes,
        },
        "scoring": problem.scoring,
        "interactive": problem.interactor is not None,
        "submit_answer": problem.submit_answer,
        "input_file": problem.input_file,
        "output_file": problem.output_file,
        "keywords": list(problem.keywords),
        "credits": problem.credits,
        "source": problem.source,
        "license": problem.license,
        "format": problem.format,
        "starters": dict(starters_of(problem, root)),
        "downloads": [
            {"name": each.name, "path": each.path, "bytes": each.size_bytes}
            for each in downloads_of(problem, root)
        ],
    }


def starters_of(problem: Problem, root: Path) -> Iterator[tuple[str, str]]:
    """Texts that users may begin with, or that are added to their programs: code that they
    share is no sign of copying.
    """
    included = [
        path.relative_to(root).as_posix()
        for directories in problem.includes.values()
        for directory in directories
        for path in sorted((root / directory).rglob("*"))
    ]
    room = STARTERS_BYTES
    for name in dict.fromkeys([*problem.attachments, *included]):
        path = root / name
        if not path.is_file() or path.stat().st_size > room:
            continue
        content = path.read_bytes()
        try:
            text = content.decode()
        except UnicodeDecodeError:
            continue
        if "\0" not in text:  # a program with NUL is none
            room -= len(content)
            yield name, text


def readable_statements(problem: Problem) -> Iterator[Statement]:
    """One statement for each language."""
    for language in dict.fromkeys(each.language for each in problem.statements):
        written = [
            each
            for each in problem.statements
            if each.language == language and each.kind in KINDS
        ]
        if written:
            yield min(written, key=lambda each: KINDS.index(each.kind))


def statement_html(root: Path, statement: Statement, problem: Problem) -> str:
    text = statement_text(root / statement.path, statement.kind, problem.constants)
    if statement.kind == "html":
        return clean_html(text)
    return text_to_html(text) if statement.kind == "txt" else markdown_to_html(text)


def statement_text(
    path: Path, kind: Literal["md", "tex", "pdf", "html", "txt"], constants: Mapping[str, str]
) -> str:
    """Markdown with formulas between dollar signs; TeX is converted, a PDF gives no text."""
    if kind == "pdf":
        return ""
    with path.open("rb") as stream:
        text = stream.read(MAX_STATEMENT_BYTES).decode("utf-8-sig", errors="replace")
    text = text.replace("\r\n", "\n")
    if kind == "tex":
        return tex_to_markdown(text, constants)
    return fill_constants(text, constants) if kind == "md" else text


def samples_of(problem: Problem) -> list[SampleFiles]:
    """Only samples: other cases with full feedback are not public."""
    cases = [case.shown for case in problem.tests.cases() if case.is_sample]
    return [*cases, *problem.samples]


def read_samples(problem: Problem, root: Path) -> Iterator[dict[str, str]]:
    room = SAMPLES_BYTES
    for shown in samples_of(problem):
        sample = read_sample(root, shown)
        room -= sum(map(len, sample.values()))
        if room < 0:
            return
        if sample:
            yield sample


def read_sample(root: Path, shown: SampleFiles) -> dict[str, str]:
    paths = {"input": shown.input, "output": shown.output, "interaction": shown.interaction}
    return {what: first_part(root / path) for what, path in paths.items() if path}


def first_part(path: Path) -> str:
    with path.open("rb") as stream:
        content = stream.read(SAMPLE_BYTES + 1)
    text = content[:SAMPLE_BYTES].decode(errors="replace")
    return text if len(content) <= SAMPLE_BYTES else text + "\n…"
