"""Creates a new package from a small, complete template that passes verification."""

import re
import shutil
import uuid
from pathlib import Path

from deemster.domain.errors import Refused

TEMPLATE = Path(__file__).parent / "template"
SLUG = re.compile(r"[a-z0-9]{1,64}")


def make_package(parent: Path, name: str) -> Path:
    """Creates a directory of that name in `parent`."""
    if not SLUG.fullmatch(name):
        raise Refused(
            f"{name!r} can't be the name of a problem: use only lower-case letters and digits, "
            "such as `aplusb`."
        )
    target = parent / name
    if target.exists():
        raise Refused(f"{target} already exists: choose another name, or move it away.")
    shutil.copytree(TEMPLATE, target, ignore=shutil.ignore_patterns("__pycache__"))
    settings = target / "problem.yaml"
    text = settings.read_text(encoding="utf-8")
    text = text.replace("NAME_OF_THE_PROBLEM", name).replace("NEW_UUID", str(uuid.uuid4()))
    settings.write_text(text, encoding="utf-8")
    return target
