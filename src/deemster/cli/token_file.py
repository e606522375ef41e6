"""The file with the admin's token, which commands on the same machine read."""

from pathlib import Path
from typing import Final

TOKEN_FILE: Final = "admin.token"  # noqa: S105 - a file's name


def read_token(path: Path) -> str:
    return path.read_text(encoding="utf-8").strip()
