"""The settings of an ICPC package, in one form for all versions of the format."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from deemster.domain.problem import ProblemLimits


class Version(StrEnum):
    LEGACY = "legacy"
    LEGACY_ICPC = "legacy-icpc"
    DRAFT = "2023-07-draft"
    V2025_09 = "2025-09"

    @property
    def is_legacy(self) -> bool:
        return self in {Version.LEGACY, Version.LEGACY_ICPC}


@dataclass(frozen=True, slots=True)
class LegacyGrading:
    """Grading keys that very old packages have in problem.yaml for all groups."""

    accept_score: float | None = None
    reject_score: float | None = None
    range: str | None = None
    stop_at_reject: bool | None = None


@dataclass(frozen=True, slots=True)
class IcpcSettings:
    version: Version
    scoring: bool = False
    interactive: bool = False
    multi_pass: bool = False
    submit_answer: bool = False
    old_groups: bool = False
    """A draft with groups and labels of the legacy format, as problemtools accepts it."""
    custom: bool | None = None
    """Whether problem.yaml asks for an own output validator; None: the files decide."""
    validator_flags: tuple[str, ...] = ()
    """Flags for all cases, before those of their group."""
    names: Mapping[str, str] = field(default_factory=dict)
    limits: ProblemLimits = field(default_factory=ProblemLimits)
    languages: frozenset[str] | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    credits: str = ""
    source: str = ""
    license: str = "unknown"
    uuid: str = ""
    objective: Literal["max", "min"] = "max"
    show_groups: bool = True
    allow_file_writing: bool = True
    grading: LegacyGrading = LegacyGrading()

    @property
    def has_legacy_groups(self) -> bool:
        return self.version.is_legacy or self.old_groups
