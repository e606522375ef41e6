"""The analysis of a program as it is stored, and a request for one."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from deemster.domain.ids import AnalysisId, ExecutionId, RevisionDigest, SubmissionId
from deemster.domain.work import WorkDetails

LEVEL: Final = 6

AnalyzedId = SubmissionId | ExecutionId
"""Of a program that can be analysed."""


@dataclass(frozen=True, slots=True)
class AnalysisRecord:
    sarif: bytes
    """A SARIF log, compressed."""
    scores: Mapping[str, int | None]
    """0 to 100 for each category; None if no tool measured it."""
    tools: Mapping[str, str | None]
    """Versions of the tools; None for a tool that is missing."""
    findings: int


@dataclass(frozen=True, slots=True)
class StoredAnalysis(AnalysisRecord):
    analyzed_at: datetime

    def log(self) -> bytes:
        """The SARIF log as JSON."""
        return zlib.decompress(self.sarif)


def compress(log: str) -> bytes:
    return zlib.compress(log.encode(), LEVEL)


@dataclass(frozen=True, slots=True)
class RequestedAnalysis(WorkDetails):
    """An analysis that was requested for a program which has ended."""

    id: AnalysisId
    subject: AnalyzedId
    main: str | None
    source: str | None
    """Digest of the artifact with the files of a submission."""
    revision: RevisionDigest | None
    """Test data of a submission, which may add files to the program."""
    files: bytes | None
    """The packed files of an execution."""

    @property
    def context(self) -> dict[str, str]:
        return {"language": self.language, "subject": self.subject}
