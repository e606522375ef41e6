"""Problems and languages."""

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
    license: str | None = None
    published: bool = True
    """False: only the author and admins see it and submit to it."""
    submits: int
    accepted: int


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
