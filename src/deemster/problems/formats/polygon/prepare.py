"""Changes a fresh Polygon package once, so that it can be judged on Linux as it lies there."""

import os
import shutil
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.problems.formats.line_ends import windows_to_unix
from deemster.problems.formats.polygon.document import Node, read_document
from deemster.problems.formats.polygon.programs import INCLUDE, grader_files
from deemster.problems.formats.polygon.testset import main_testset, test_paths


def prepare(root: Path) -> None:
    document = read_document(root)
    testset = main_testset(document)
    for path in test_paths(testset):
        # Packages for Windows have the line ends of Windows in tests.
        if (root / path).is_file():
            windows_to_unix(root / path)
    gather_graders(root, document)


def gather_graders(root: Path, document: Node) -> None:
    """Submissions get directories added to them; here the files lie among others."""
    found = grader_files(root, document)
    if not found or (root / INCLUDE).exists():
        return
    for language, paths in found.items():
        place = root / INCLUDE / language
        place.mkdir(parents=True)
        for path in paths:
            target = place / os.path.basename(path)  # noqa: PTH119 - a path in the package
            if target.exists():
                raise Refused(f"{path}: two files of that name are added to submissions.")
            shutil.copyfile(root / path, target)
