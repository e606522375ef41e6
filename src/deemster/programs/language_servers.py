"""Loads the descriptions of the language servers from their TOML files."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import Field

from deemster.domain.errors import Refused
from deemster.domain.language import Language, LanguageId
from deemster.domain.language_server import (
    SERVED_DIRECTORY,
    LanguageServer,
    ServedDocument,
    ServedLanguage,
    server_of,
)
from deemster.programs.build.boxed_tool_file import BoxedToolFile, RunTable, Text
from deemster.programs.build.languages import (
    Name,
    Pattern,
    Table,
    read_toml,
    refuse_unknown_placeholders,
    shipped_directory,
)

PLACEHOLDERS = frozenset({"code", "heap_mb"})


@cache
def shipped_language_servers() -> tuple[LanguageServer, ...]:
    return load_language_servers(shipped_directory("language_servers"))


def load_language_servers(directory: Path) -> tuple[LanguageServer, ...]:
    files = sorted(directory.glob("*.toml"))
    if not files:
        raise Refused(f"There is no language server in {directory}: reinstall Deemster.")
    return tuple(load_language_server(file) for file in files)


def load_language_server(file: Path) -> LanguageServer:
    read = read_toml(file, LanguageServerFile)
    refuse_unknown_placeholders(
        file,
        {
            "version.argv": (read.version.argv, frozenset()),
            "run.argv": (read.run.argv, PLACEHOLDERS),
        },
        read.tools.keys(),
    )
    return read.to_domain()


def document_of(
    language: Language, servers: Iterable[LanguageServer] | None = None
) -> ServedDocument | None:
    """What a client opens for a program in this language; None: it has no language server."""
    server = server_of(servers or shipped_language_servers(), language.id)
    if server is None:
        return None
    uri = f"file://{SERVED_DIRECTORY}/{language.source.file}"
    return ServedDocument(uri, server.languages[language.id].language_id)


class ServedLanguageTable(Table):
    language_id: Text
    flags: tuple[str, ...] = ()
    version_pattern: Pattern = ""


class LanguageServerFile(BoxedToolFile):
    """One file of `language_servers/`."""

    wheels: Annotated[tuple[Name, ...], Field(min_length=1)]
    languages: Annotated[dict[Name, ServedLanguageTable], Field(min_length=1)]
    run: RunTable

    def to_domain(self) -> LanguageServer:
        return LanguageServer(
            **self.tool_fields(self.run, "serve"),
            languages={
                LanguageId(name): ServedLanguage(**each.model_dump())
                for name, each in self.languages.items()
            },
            files=self.files,
        )
