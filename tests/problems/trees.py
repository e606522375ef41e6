"""Packages as dictionaries: name to content."""

import os
from collections.abc import Mapping
from pathlib import Path


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def read_tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def unseal(directory: Path) -> None:
    """Makes the directories writable, so that pytest can remove them."""
    directory.chmod(0o700)
    for place, below, _ in os.walk(directory):
        for name in below:
            (Path(place) / name).chmod(0o700)
