"""Keeps the files of the last judgings, because the jury may ask for them later."""

from pathlib import Path

from deemster.directory_store import remove_tree
from deemster.judgehost.domjudge.tasks import Task
from deemster.programs.build.cache import disk_bytes
from deemster.programs.workspace import make_directory


class KeptJudgings:
    """The judgings of one host; all functions block."""

    def __init__(self, directory: Path, max_bytes: int) -> None:
        self._directory = directory
        self._max_bytes = max_bytes
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def find(self, task: Task) -> Path:
        """The directory of the task's judging, which may be gone."""
        return self._directory / f"{task.submission}.{task.job}"

    def start(self, task: Task) -> Path:
        """A new directory; one of the same name is left from another database, or a restart."""
        path = self.find(task)
        remove_tree(path)
        self._make_room()
        return make_directory(path)

    def _make_room(self) -> None:
        """Removes the oldest judgings until the others fit."""
        newest = sorted(
            self._directory.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True
        )
        total = 0
        for path in newest:
            total += disk_bytes(path)
            if total > self._max_bytes:
                remove_tree(path)


def testcase_directory(judging: Path, testcase: str) -> Path:
    return judging / f"testcase{testcase.zfill(5)}"
