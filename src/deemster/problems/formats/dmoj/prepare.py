"""Changes a fresh DMOJ problem once, so that all that it names lies there as a file."""

import shutil
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.archive import Bounds, unpack_inner
from deemster.problems.formats.dmoj.checkers import NATIVE
from deemster.problems.formats.dmoj.files import ARCHIVE, EMPTY, find_file
from deemster.problems.formats.dmoj.init_file import InitFile, read_init
from deemster.problems.formats.dmoj.package import open_reader
from deemster.problems.formats.line_ends import all_to_unix

PROGRAMS = Path(__file__).parent / "native"


def prepare(root: Path, bounds: Bounds) -> None:
    init = read_init(root)
    if init.archive is not None:
        unpack_archive(root, init.archive, bounds)
    (root / EMPTY).touch()
    (root / EMPTY).chmod(0o644)
    add_programs(root)
    mend_line_ends(root, init)


def unpack_archive(root: Path, name: str, bounds: Bounds) -> None:
    """Beside the rest. The archive itself is not kept: its bytes are there already."""
    target = root / ARCHIVE
    if target.is_dir() and not (root / name).exists():
        return
    path = root / find_file(root, name, "archive")
    if target.exists():
        raise Refused(f"The package has a file {ARCHIVE}, which is our name: rename it.")
    target.mkdir()
    target.chmod(0o755)
    unpack_inner(path, target, bounds)
    path.unlink()


def add_programs(root: Path) -> None:
    target = root / NATIVE
    target.mkdir(exist_ok=True)
    target.chmod(0o755)
    for program in sorted(PROGRAMS.glob("[!_]*.py")):
        shutil.copyfile(program, target / program.name)


def mend_line_ends(root: Path, init: InitFile) -> None:
    """As DMOJ's judge does with all data that isn't said to be binary."""
    reader = open_reader(root, init)
    cases = list(reader.read().cases())
    paths = {path for case in cases for path in (case.input, case.answer)}
    for path in paths - reader.binary_paths - {"", EMPTY}:
        all_to_unix(root / path)
