"""Builds small ICPC packages for tests."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from deemster.domain.errors import Refused
from deemster.domain.problem import Problem
from deemster.problems.formats.icpc.package import read_package

Files = Mapping[str, str | bytes | None]

LEGACY: Files = {
    "problem.yaml": "name: Sum\n",
    "problem_statement/problem.en.tex": "\\problemname{Sum}\nAdd.\n",
    "data/sample/1.in": "1 2\n",
    "data/sample/1.ans": "3\n",
    "data/secret/01.in": "2 2\n",
    "data/secret/01.ans": "4\n",
    "input_validators/check.py": "import sys\nsys.exit(42)\n",
    "submissions/accepted/sum.py": "print(sum(map(int, input().split())))\n",
}
MODERN: Files = {
    "problem.yaml": (
        "problem_format_version: 2025-09\nname: Sum\n"
        "uuid: 7594abe6-08e3-4743-8cf9-15c4693cdbf5\n"
    ),
    "statement/problem.en.md": "Add.\n",
    "data/sample/1.in": "1 2\n",
    "data/sample/1.ans": "3\n",
    "data/secret/01.in": "2 2\n",
    "data/secret/01.ans": "4\n",
    "input_validators/check.py": "import sys\nsys.exit(42)\n",
    "submissions/accepted/sum.py": "print(sum(map(int, input().split())))\n",
}


class PackageBuilder:
    """Writes a package with changes and reads it."""

    def __init__(self, place: Path) -> None:
        self.root = place / "sum"

    def write(self, base: Files, changes: Files) -> Path:
        for name, content in {**base, **changes}.items():
            path = self.root / name
            if content is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return self.root

    def legacy(self, changes: Files | None = None, yaml: str = "") -> Problem:
        added = {"problem.yaml": f"name: Sum\n{yaml}"} if yaml else {}
        return read_package(self.write(LEGACY, {**added, **(changes or {})}))

    def modern(self, changes: Files | None = None, yaml: str = "") -> Problem:
        added = {"problem.yaml": f"{MODERN['problem.yaml']!s}{yaml}"} if yaml else {}
        return read_package(self.write(MODERN, {**added, **(changes or {})}))

    def draft(self, changes: Files | None = None, yaml: str = "") -> Problem:
        text = f"problem_format_version: 2023-07-draft\nname: Sum\n{yaml}"
        return read_package(self.write(MODERN, {"problem.yaml": text, **(changes or {})}))


def outcome(root: Path) -> Problem | str:
    """The problem, or the message of the refusal."""
    try:
        return read_package(root)
    except Refused as refused:
        return str(refused)


Read = Callable[..., Problem]


@pytest.fixture
def packages(tmp_path: Path) -> PackageBuilder:
    return PackageBuilder(tmp_path)


@pytest.fixture
def refusal() -> Callable[..., str]:
    """Returns a function that reads a package and returns the message of the refusal."""

    def message(read: Read, *args: object, **options: object) -> str:
        with pytest.raises(Refused) as caught:
            read(*args, **options)
        return str(caught.value)

    return message
