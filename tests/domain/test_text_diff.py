"""The unified difference of two texts: as `diff -u` writes it, also for hostile texts."""

import subprocess
from itertools import product
from pathlib import Path

import pytest

from deemster.domain.text_diff import MAX_LINES, unified_diff

TEXTS = (
    "",
    "a",
    "a\n",
    "a\nb\n",
    "b\na\n",
    "a\nb",
    "".join(f"{number}\n" for number in range(30)),
    "".join(f"{number if number not in (3, 25) else 'x'}\n" for number in range(30)),
    "one\x0cline\u2028only\n",
)


@pytest.mark.parametrize(("old", "new"), list(product(TEXTS, TEXTS)))
def test_patch_makes_the_new_text_of_the_old(old: str, new: str, tmp_path: Path) -> None:
    diff = unified_diff(old, new, "version 1", "version 2")
    assert (diff == "") == (old == new)
    if diff:
        assert patched(old, diff, tmp_path) == new


def patched(old: str, diff: str, directory: Path) -> str:
    """As git understands the difference."""
    (directory / "file").write_bytes(old.encode())
    body = diff.split("\n", 2)[2]
    subprocess.run(
        ["git", "apply", "--unidiff-zero", "--whitespace=nowarn", "-"],
        input=f"--- a/file\n+++ b/file\n{body}".encode(),
        cwd=directory,
        check=True,
    )
    return (directory / "file").read_bytes().decode()


def test_the_difference_has_names_and_three_lines_around_a_change() -> None:
    old = "".join(f"{number}\n" for number in range(1, 10))
    assert unified_diff(old, old.replace("5", "five"), "version 1", "version 2") == (
        "--- version 1\n+++ version 2\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"
    )


def test_a_large_change_is_shown_as_a_whole() -> None:
    """Comparing these line by line would take hours."""
    old = "".join(f"{number % 5000}\n" for number in range(200_000))
    new = "".join(f"{number * 7 % 5000}\n" for number in range(1, 200_000))
    diff = unified_diff(old, new, "a", "b")
    assert diff.count("\n@@ ") == 1
    assert sum(line.startswith("-") for line in diff.splitlines()) > MAX_LINES
