"""A tool that is not a toolchain and runs in boxes: an analyser or a language server."""

from collections.abc import Mapping
from dataclasses import dataclass

from deemster.domain.language import LanguageId, Permissions, VersionQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxedTool:
    id: str
    name: str
    url: str
    wheels: tuple[str, ...]
    """Python packages of the tool, which an extra of Deemster names."""
    tools: Mapping[str, tuple[str, ...]]
    """As for a language; {scripts} and {packages} are directories of Deemster's Python."""
    mounts: tuple[str, ...]
    """Files and directories of wheels to mount; patterns as in `tools`."""
    shows: tuple[str, ...]
    """Other host paths that its box shows, as for a language."""
    shows_like: tuple[LanguageId, ...]
    """Its box shows also what the steps of these languages name."""
    version: VersionQuery
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    permissions: Permissions
