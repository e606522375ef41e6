"""Checks and normalizes the names of files in packages."""

from deemster.domain.errors import Refused

TOOL_FILES = frozenset(
    {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", ".git", ".hg", ".svn", "__pycache__"}
)
"""Files and directories of tools, which are skipped at any depth."""
MAX_PART_BYTES = 255
MAX_NAME_BYTES = 1024
SHOWN = 100


def clean_name(raw: str) -> str:
    """The relative path with single slashes; empty for the root of the package."""
    if raw.startswith("/"):
        raise Refused(f"The package has an absolute file name, {shown(raw)}: pack it again.")
    parts = [part for part in raw.split("/") if part not in {"", "."}]
    for part in parts:
        check_part(part, raw)
    name = "/".join(parts)
    if len(name.encode()) > MAX_NAME_BYTES:
        raise Refused(f"The package has a name that is too long, {shown(raw)}: shorten it.")
    return name


def check_part(part: str, whole: str) -> None:
    if part == "..":
        raise Refused(
            f"The package has a file outside of itself, {shown(whole)}: pack it again."
        )
    if any(ord(letter) < 32 or ord(letter) == 127 for letter in part):
        raise Refused(f"The package has a name with control characters, {shown(whole)}.")
    try:
        size = len(part.encode())
    except UnicodeEncodeError:
        raise Refused(
            f"The package has a name that isn't UTF-8, {shown(whole)}: rename the file."
        ) from None
    if size > MAX_PART_BYTES:
        raise Refused(f"The package has a name that is too long, {shown(whole)}: shorten it.")


def is_tool_file(name: str) -> bool:
    return not TOOL_FILES.isdisjoint(name.split("/"))


def shown(name: str) -> str:
    """A name that is safe to print, shortened."""
    return ascii(name[:SHOWN]) + ("…" if len(name) > SHOWN else "")
