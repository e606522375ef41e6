"""Changes a fresh Hydro problem once: what is added to submissions gets a directory."""

import shutil
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.formats.hydro.config import read_config
from deemster.problems.formats.hydro.files import find_file

INCLUDE = "_include"


def prepare(root: Path) -> None:
    extra = read_config(root).user_extra_files
    if not extra:
        return
    target = root / INCLUDE
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    for name in extra:
        path = Path(find_file(root, name, "user_extra_files"))
        copy = target / path.name
        if copy.exists() and copy.read_bytes() != (root / path).read_bytes():
            raise Refused(f"{path}: two files of that name are added to submissions.")
        shutil.copyfile(root / path, copy)
