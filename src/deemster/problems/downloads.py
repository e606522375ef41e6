"""Files of a package for contestants: statements as PDF, attachments, samples (A11)."""

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Final

from deemster.domain.errors import Refused
from deemster.domain.limits import MIB
from deemster.domain.problem import Problem, SampleFiles

MAX_FILES: Final = 100
"""Further files are not offered: everybody who opens the problem gets the list."""
MAX_SAMPLE_BYTES: Final = 32 * MIB
LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)
"""The same samples give the same archive."""
ENDINGS: Final = {"input": "in", "output": "ans", "interaction": "interaction"}


@dataclass(frozen=True, slots=True)
class Download:
    name: str
    path: str
    """Path of the file in the package."""
    size_bytes: int


def downloads_of(problem: Problem, root: Path) -> list[Download]:
    """Statements as PDF and attachments. Each has another name."""
    found: dict[str, str] = {}
    for name, path in islice(candidates(problem), MAX_FILES):
        found.setdefault(name if name not in found else path.replace("/", "-"), path)
    return [
        Download(name, path, (root / path).stat().st_size)
        for name, path in found.items()
        if (root / path).is_file()
    ]


def candidates(problem: Problem) -> Iterator[tuple[str, str]]:
    for statement in problem.statements:
        if statement.kind == "pdf":
            yield f"{problem.slug}.{statement.language}.pdf", statement.path
    for path in problem.attachments:
        yield PurePosixPath(path).name, path


def zip_samples(problem: Problem, root: Path) -> bytes:
    """Whole samples: those of the statement may be shortened."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        size_bytes = 0
        for name, path in sample_files(problem):
            size_bytes += (root / path).stat().st_size
            if size_bytes > MAX_SAMPLE_BYTES:
                raise Refused("The samples of this problem are too large for one archive.")
            entry = zipfile.ZipInfo(name, LONG_AGO)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, (root / path).read_bytes())
    return target.getvalue()


def sample_files(problem: Problem) -> Iterator[tuple[str, str]]:
    for number, sample in enumerate(samples_of(problem), start=1):
        for kind, ending in ENDINGS.items():
            if path := getattr(sample, kind):
                yield f"{number}.{ending}", path


def samples_of(problem: Problem) -> list[SampleFiles]:
    """Only samples: other cases with full feedback are not public."""
    cases = [
        SampleFiles(
            case.download.input or case.shown.input,
            case.download.output or case.shown.output,
            case.shown.interaction,
        )
        for case in problem.tests.cases()
        if case.is_sample
    ]
    return [*cases, *problem.samples]
