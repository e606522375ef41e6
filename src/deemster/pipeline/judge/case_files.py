"""Reads the inputs and answers of a problem's cases, and keeps short ones in memory."""

from pathlib import Path
from typing import Final

from deemster.domain.limits import MIB

SHORT_BYTES: Final = 64 * 1024
"""Longer files are never kept."""
KEPT_BYTES: Final = 4 * MIB
"""All kept files of one problem together."""


class CaseFiles:
    """The files of one revision, which never change.

    When no more fit, those that are kept stay: a submission reads all files in the same order,
    so that replacing the oldest one would replace each just before it is needed.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._kept: dict[str, bytes | None] = {}
        self._left_bytes = KEPT_BYTES

    def short(self, name: str) -> bytes | None:
        """The content of a file, or None if it is long or can't be read."""
        try:
            return self._kept[name]
        except KeyError:
            return self._read(name)

    def _read(self, name: str) -> bytes | None:
        try:
            with (self._root / name).open("rb") as file:
                content = file.read(SHORT_BYTES + 1)
        except OSError:
            return None  # whoever reads the whole file gets the error
        if len(content) > SHORT_BYTES:
            self._kept[name] = None
            return None
        if len(content) <= self._left_bytes:
            self._left_bytes -= len(content)
            self._kept[name] = content
        return content
