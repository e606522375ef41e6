"""Exports the programs of a problem as a ZIP archive for Dolos (https://dolos.ugent.be)."""

import csv
import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Final

from deemster.domain.language import Catalogue
from deemster.domain.source import source_files, unpack_files
from deemster.store.similarity import ExportedSubmission

COLUMNS: Final = (
    *("filename", "full_name", "id", "status", "label", "created_at", "language", "ignored"),
)
"""The columns that Dolos reads, and the language."""
TEMPLATE: Final = "template"
"""Directory of the template, which must not have the name of a submission."""


class DolosArchive:
    """Dolos takes one language, and one file of template code at most."""

    def __init__(self, file: IO[bytes], catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._rows: list[Mapping[str, str]] = []

    def add_template(self, name: str, text: str) -> None:
        path = f"{TEMPLATE}/{name.rpartition('/')[2]}"
        self._zip.writestr(path, text)
        self._rows.append({"filename": path, "label": TEMPLATE, "ignored": "true"})

    def add(self, submission: ExportedSubmission, packed: bytes) -> None:
        files = unpack_files(packed)
        language = self._catalogue.named(submission.language)
        for name in source_files(language, files) or sorted(files):
            path = f"{submission.id}/{name}"
            self._zip.writestr(path, files[name])
            self._rows.append(
                {
                    "filename": path,
                    "full_name": submission.author_name,
                    "id": submission.id,
                    "status": submission.verdict,
                    "label": submission.author_name,
                    "created_at": submission.submitted_at.isoformat(),
                    "language": submission.language,
                }
            )

    def close(self) -> None:
        table = io.StringIO()
        writer = csv.DictWriter(table, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(self._rows)
        self._zip.writestr("info.csv", table.getvalue())
        self._zip.close()


def languages_like(catalogue: Catalogue, name: str) -> list[str]:
    """The language and those that are compared with it."""
    lexer = catalogue.named(name).lexer
    return [language.id for language in catalogue if language.lexer == lexer]


def most_used(catalogue: Catalogue, authors: Mapping[str, int]) -> str | None:
    """The language which, with those that are compared with it, has the most authors."""

    def total(name: str) -> tuple[int, int, str]:
        alike: Iterable[str] = languages_like(catalogue, name)
        return sum(authors.get(each, 0) for each in alike), authors[name], name

    return max(authors, key=total, default=None)


def first_starter(
    catalogue: Catalogue, languages: Sequence[str], starters: Mapping[str, str]
) -> str | None:
    names = sorted(starters)
    for name in languages:
        language = catalogue.named(name)
        for starter in names:
            if language.is_source(starter):
                return starter
    return None
