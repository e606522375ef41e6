"""What the TOML files of analysers and of language servers have in common."""

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from deemster.domain.language import LanguageId, VersionQuery
from deemster.pattern_messages import text_form
from deemster.programs.build.languages import (
    Environment,
    Mounts,
    Name,
    Paths,
    PermissionsTable,
    Table,
    Texts,
    VersionTable,
)

Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]


class RunTable(Table):
    argv: Texts
    profile: Literal["program", "compiler"] = "program"
    permissions: PermissionsTable = PermissionsTable()
    environment: Environment = Field(default_factory=dict)


class BoxedToolFile(Table):
    id: Name
    name: Text
    url: Annotated[str, text_form("^https://", "begin with https://")]
    wheels: tuple[Name, ...] = ()
    mounts: Mounts = ()
    shows: Paths = ()
    shows_like: tuple[Name, ...] = ()
    tools: Annotated[dict[str, Texts], Field(min_length=1)]
    version: VersionTable
    files: dict[str, str] = Field(default_factory=dict)

    def tool_fields(self, run: RunTable, step: str) -> dict[str, Any]:
        """The fields of a `BoxedTool`; `step` is part of the name of its permissions."""
        return {
            "id": self.id,
            "name": self.name,
            "url": self.url,
            "wheels": self.wheels,
            "tools": self.tools,
            "mounts": self.mounts,
            "shows": self.shows,
            "shows_like": tuple(map(LanguageId, self.shows_like)),
            "version": VersionQuery(self.version.argv, self.version.pattern, self.version.text),
            "argv": run.argv,
            "environment": run.environment,
            "permissions": run.permissions.to_domain(f"{self.id}-{step}", run.profile),
        }
