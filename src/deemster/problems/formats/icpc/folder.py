"""The directory of an ICPC package: its visible files in order, and collected warnings."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deemster.domain.problem import fill_constants
from deemster.problems.formats.yaml_file import OnDuplicate, mapping_of, parse_yaml, read_text

PLAIN_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_.+-]{0,254}")
LEFTOVERS = frozenset({"__pycache__", "__MACOSX", "Thumbs.db", "desktop.ini", "CVS"})
SHOWN_NAMES = 5
NOTE_BYTES = 64 * 1024


@dataclass(slots=True)
class Folder:
    root: Path
    strict_names: bool = False
    """Ignore files whose names the format forbids (2025-09)."""
    _warnings: dict[str, None] = field(default_factory=dict)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self._warnings)

    def warn(self, text: str) -> None:
        self._warnings[text] = None

    def warn_ignored(self, place: str, names: list[str], why: str) -> None:
        if names:
            more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
            self.warn(f"{place}: ignored {', '.join(names[:SHOWN_NAMES])}{more}: {why}.")

    # ---- names ----

    def path(self, name: str) -> Path:
        return self.root / name

    def is_file(self, name: str) -> bool:
        return self.path(name).is_file()

    def is_directory(self, name: str) -> bool:
        return self.path(name).is_dir()

    def names(self, directory: str) -> list[str]:
        """Sorted names of visible files; empty if the directory does not exist."""
        place = self.path(directory)
        if not place.is_dir():
            return []
        return [
            name for name in sorted(self._all_names(place)) if self._is_visible(directory, name)
        ]

    def _all_names(self, place: Path) -> Iterator[str]:
        return (entry.name for entry in place.iterdir())

    def _is_visible(self, directory: str, name: str) -> bool:
        if name.startswith(".") or name in LEFTOVERS:
            return False
        if PLAIN_NAME.fullmatch(name):
            return True
        if not self.strict_names and name.isprintable() and not name.startswith("-"):
            self.warn(
                f"{below(directory, name)}: its name has characters that the format forbids."
            )
            return True
        self.warn(f"{directory or '.'}: ignored {name!r}, whose name the format forbids.")
        return False

    def files_below(self, directory: str) -> Iterator[str]:
        """Paths of all visible files."""
        for name in self.names(directory):
            path = below(directory, name)
            if self.is_directory(path):
                yield from self.files_below(path)
            else:
                yield path

    # ---- reading ----

    def read_map(
        self,
        file: str,
        *,
        on_duplicate: OnDuplicate | None = None,
        constants: Mapping[str, str] | None = None,
    ) -> dict[str, object]:
        """A YAML file with a map; empty if the file is empty or missing."""
        if not self.is_file(file):
            return {}
        text = read_text(self.path(file), file)
        if constants:
            text = fill_constants(text, constants)
        return mapping_of(parse_yaml(text, file, on_duplicate), file)

    def warn_duplicate(self, file: str) -> OnDuplicate:
        def warn(key: str) -> None:
            self.warn(f"{file}: the key '{key}' appears twice: the last one counts.")

        return warn

    def read_note(self, file: str) -> str:
        """The first part of a text file; empty if the file is missing."""
        if not self.is_file(file):
            return ""
        with self.path(file).open("rb") as stream:
            return stream.read(NOTE_BYTES).decode("utf-8-sig", errors="replace").strip()


def below(directory: str, name: str) -> str:
    return f"{directory}/{name}" if directory else name
