"""Request and response models of problems and languages; hidden tests are not shown (A11)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from deemster.api.http.paging import Page, PageQuery
from deemster.api.models.field_types import RequestModel, ResponseModel, ShortText
from deemster.domain.ids import AccountId
from deemster.domain.language import Language
from deemster.domain.language_server import ServedDocument
from deemster.domain.problem_listing import (
    MAX_TAGS,
    Difficulty,
    ProblemResult,
    ProblemSort,
    clean_tag,
    words_query,
)
from deemster.pattern_messages import ONE_LINE, text_form
from deemster.problems.importing import Imported
from deemster.store.counters import ProblemCounts
from deemster.store.problems import ProblemFilter, ProblemListItem, ProblemSummary

Mine = Literal["solved", "tried"]
MINE: Final[Mapping[ProblemResult, Mine | None]] = {
    ProblemResult.SOLVED: "solved",
    ProblemResult.TRIED: "tried",
    ProblemResult.OPEN: None,
}
SearchText = Annotated[str, text_form(ONE_LINE, max_length=200)]


class ProblemItem(ResponseModel):
    id: str
    title: str
    time_ms: int
    memory_bytes: int
    revision: int
    submits: int
    accepted: int
    tags: list[str]
    difficulty: int | None
    """From 1 (easy) to 10 (hard); null if nobody gave one and few submissions were judged."""
    difficulty_given: bool
    """true: the author gave the difficulty; false: it comes from the acceptance rate."""
    mine: Mine | None = None
    """With `mine=true`: your result; null if none of your submissions was judged."""


class ProblemPage(Page[ProblemItem]):
    """A page of problems."""


class ProblemQuery(PageQuery):
    mine: bool = False
    """Adds to each problem whether you solved or tried it."""
    drafts: bool = False
    """Lists the problems that are not published: your own; for admins, all."""
    q: SearchText | None = None
    """Finds problems whose title, tags or id have words that begin with each of these."""
    tag: Annotated[tuple[ShortText, ...], Field(max_length=MAX_TAGS)] = ()
    """Finds problems with this tag; several: with all of them."""
    difficulty: Difficulty | None = None
    """Finds problems of this difficulty: `easy` is 1 to 3, `medium` 4 to 6, `hard` 7 to 10."""
    result: ProblemResult | None = None
    """Finds problems that you solved, that you tried and did not solve, or that are open."""
    sort: ProblemSort = ProblemSort.ID
    """Order of the list."""

    @property
    def is_filtered(self) -> bool:
        return bool(self.q or self.tag or self.difficulty or self.result)

    def wanted(self, owner: AccountId | None) -> ProblemFilter:
        """`owner` limits the drafts."""
        return ProblemFilter(
            words=words_query(self.q or ""),
            tags=[clean_tag(each) for each in self.tag],
            difficulty=self.difficulty,
            result=self.result,
            drafts=self.drafts,
            owner=owner,
            sort=self.sort,
        )


class SampleOut(ResponseModel):
    input: str | None
    output: str | None
    interaction: str | None
    """Only for interactive problems: the messages in both directions."""


class ProblemFileOut(ResponseModel):
    name: str
    """`GET /v1/problems/{id}/files/{name}` sends the file."""
    bytes: int


class LimitsOut(ResponseModel):
    time_ms: int
    memory_bytes: int
    source_bytes: int
    output_bytes: int | None


class ProblemOut(ResponseModel):
    id: str
    title: str
    titles: dict[str, str]
    """Titles by language of the statement."""
    revision: int
    """Number of the revision; it grows when tests or statement change."""
    limits: LimitsOut
    cases: int
    languages: list[str] | None
    """Languages in which the problem can be solved; null: all."""
    scoring: bool
    interactive: bool
    submit_answer: bool
    """true if the submission is the answer itself, not a program."""
    statements: dict[str, str]
    """Statements as HTML, by language of the statement."""
    samples: list[SampleOut]
    files: list[ProblemFileOut]
    """Statements as PDF, and files that authors attached."""
    license: str | None
    published: bool
    """false: only the author and admins see it and submit to it."""
    submits: int
    accepted: int
    tags: list[str]
    difficulty: int | None
    """From 1 (easy) to 10 (hard); null if nobody gave one and few submissions were judged."""
    difficulty_given: bool
    """true: the author gave the difficulty; false: it comes from the acceptance rate."""


class ProblemImportQuery(RequestModel):
    id: ShortText | None = None
    """Id of the problem, such as `prob_sum`; default: made from the package's name."""
    publish: bool | None = None
    """false: only you and admins see the problem and submit to it, until it is published.
    Default: new problems are published, others stay as they are.
    """


class ImportedOut(ResponseModel):
    id: str
    title: str
    revision: int
    digest: str
    """Hash of the package's content: the same package has the same digest."""
    time_ms: int
    memory_bytes: int
    cases: int
    changed: bool
    """false if this revision was in force already."""
    published: bool
    """false: only the author and admins see it and submit to it."""
    warnings: list[str]
    """Parts of the package that were ignored or not understood."""


class PublishedOut(ResponseModel):
    id: str
    published: bool
    changed: bool
    """false if it was published already."""


class RetiredOut(ResponseModel):
    id: str
    retired: bool


class ServedDocumentOut(ResponseModel):
    """The document that a client of `/v1/language-server` opens for its program."""

    uri: str
    language_id: str
    """Name of the language in the Language Server Protocol."""


class LanguageOut(ResponseModel):
    id: str
    name: str
    aliases: list[str]
    extensions: list[str]
    available: bool
    """true if a live worker has the tools of the language."""
    versions: list[str]
    """Exact versions of the compiler or interpreter on the live workers."""
    compile: list[str] | None
    """Command line of the compiler; null if the language is not compiled."""
    run: list[str]
    template: str
    language_server: ServedDocumentOut | None
    """null if the judge runs no language server for this language."""


class LanguagesOut(ResponseModel):
    items: list[LanguageOut]


def problem_item(item: ProblemListItem) -> ProblemItem:
    return ProblemItem(
        id=item.id,
        title=item.title,
        time_ms=item.time_ms,
        memory_bytes=item.memory_bytes,
        revision=item.number,
        submits=item.submits,
        accepted=item.accepted,
        tags=list(item.tags),
        difficulty=item.level,
        difficulty_given=item.level_given,
    )


def own_item(item: ProblemListItem) -> ProblemItem:
    """The same with what the caller reached."""
    return problem_item(item).model_copy(update={"mine": MINE[item.result]})


def problem_out(summary: ProblemSummary, counts: ProblemCounts) -> ProblemOut:
    details = summary.details
    return ProblemOut(
        id=summary.id,
        title=summary.title,
        titles=details.get("names", {}),
        revision=summary.number,
        limits=LimitsOut(
            time_ms=summary.time_ms,
            memory_bytes=summary.memory_bytes,
            source_bytes=summary.source_bytes,
            output_bytes=details.get("limits", {}).get("output_bytes"),
        ),
        cases=summary.cases,
        languages=list(summary.languages) if summary.languages is not None else None,
        scoring=bool(details.get("scoring")),
        interactive=bool(details.get("interactive")),
        submit_answer=bool(details.get("submit_answer")),
        statements=details.get("statements", {}),
        samples=samples_of(details.get("samples", ())),
        files=[
            ProblemFileOut(name=each["name"], bytes=each["bytes"])
            for each in details.get("downloads", ())
        ],
        license=details.get("license") or None,
        published=summary.published,
        submits=counts.submits,
        accepted=counts.accepted,
        tags=list(summary.listing.tags),
        difficulty=counts.level,
        difficulty_given=counts.level_given,
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


def imported_out(imported: Imported) -> ImportedOut:
    summary = imported.summary
    return ImportedOut(
        id=summary.id,
        title=summary.title,
        revision=summary.number,
        digest=summary.digest,
        time_ms=summary.time_ms,
        memory_bytes=summary.memory_bytes,
        cases=summary.cases,
        changed=imported.is_new,
        published=summary.published,
        warnings=list(imported.warnings),
    )


def language_out(
    language: Language,
    installed: Mapping[str, Sequence[str]],
    document: ServedDocument | None = None,
) -> LanguageOut:
    """`installed` has the versions of each language that live workers have."""
    return LanguageOut(
        id=language.id,
        name=language.name,
        aliases=list(language.aliases),
        extensions=list(language.extensions),
        available=language.id in installed,
        versions=list(installed.get(language.id, ())),
        compile=list(language.compile.argv) if language.compile else None,
        run=list(language.run.argv),
        template=language.template,
        language_server=ServedDocumentOut(**dataclasses.asdict(document)) if document else None,
    )
