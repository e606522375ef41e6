"""Problems and languages, as the client returns them."""

from dataclasses import dataclass

from deemster.client.models.parsing import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemItem(Model):
    """A problem in a list."""

    id: str
    title: str
    time_ms: int
    memory_bytes: int
    revision: int
    submits: int
    accepted: int
    tags: tuple[str, ...] = ()
    difficulty: int | None = None
    """From 1 (easy) to 10 (hard); None if it is not known."""
    difficulty_given: bool = False
    """True: the author gave the difficulty; False: it comes from the acceptance rate."""
    mine: str | None = None
    """With `mine=True`: `solved` or `tried`; None if you have not tried the problem."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemLimits(Model):
    time_ms: int
    memory_bytes: int
    source_bytes: int
    output_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Model):
    input: str | None = None
    output: str | None = None
    interaction: str | None = None
    """Only for interactive problems: the messages in both directions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFile(Model):
    name: str
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Model):
    id: str
    title: str
    titles: dict[str, str]
    """Titles by language of the statement."""
    revision: int
    limits: ProblemLimits
    cases: int
    languages: tuple[str, ...] | None = None
    """Languages in which the problem can be solved; None: all."""
    scoring: bool
    interactive: bool
    submit_answer: bool
    """True if the submission is the answer itself, not a program."""
    statements: dict[str, str]
    """Statements as HTML, by language of the statement."""
    samples: tuple[Sample, ...]
    files: tuple[ProblemFile, ...] = ()
    """Statements as PDF, and files that authors attached."""
    license: str | None = None
    published: bool = True
    """False: only the author and admins see it and submit to it."""
    submits: int
    accepted: int
    tags: tuple[str, ...] = ()
    difficulty: int | None = None
    """From 1 (easy) to 10 (hard); None if it is not known."""
    difficulty_given: bool = False
    """True: the author gave the difficulty; False: it comes from the acceptance rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedDocument(Model):
    """The document that a client of `/v1/language-server` opens for its program."""

    uri: str
    language_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Language(Model):
    id: str
    name: str
    aliases: tuple[str, ...]
    extensions: tuple[str, ...]
    available: bool
    """True if a live worker has the tools of the language."""
    versions: tuple[str, ...]
    """Exact versions of the compiler or interpreter on the live workers."""
    compile: tuple[str, ...] | None = None
    """Command line of the compiler; None if the language is not compiled."""
    run: tuple[str, ...]
    template: str
    language_server: ServedDocument | None = None
    """None if the judge runs no language server for this language."""
