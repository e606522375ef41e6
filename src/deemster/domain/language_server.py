"""A language server: a program that completes and checks code while a person types."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deemster.domain.boxed_tool import BoxedTool
from deemster.domain.language import LanguageId

SERVED_DIRECTORY = "/code"
"""Directory of the document in a box; a client names the document by its URI."""


@dataclass(frozen=True, slots=True)
class ServedLanguage:
    language_id: str
    """Name of the language in the Language Server Protocol."""
    flags: tuple[str, ...] = ()
    """Lines that replace {flags} in the files of the server."""
    version_pattern: str = ""
    """Pattern whose group, in the version of the toolchain, replaces {version} in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageServer(BoxedTool):
    """The description of a language server, as `language_servers/*.toml` gives it."""

    languages: Mapping[LanguageId, ServedLanguage]
    files: Mapping[str, str]
    """Configuration of the server, beside the document."""

    @property
    def installation(self) -> str:
        """Shell command that installs the server."""
        return "pip install 'deemster[language-servers]'"


@dataclass(frozen=True, slots=True)
class ServedDocument:
    """The document that a client opens to talk about a program in one language."""

    uri: str
    language_id: str


def server_of(servers: Iterable[LanguageServer], language: LanguageId) -> LanguageServer | None:
    return next((each for each in servers if language in each.languages), None)
