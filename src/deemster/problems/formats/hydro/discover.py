"""Finds test cases by their file names if no `config.yaml` lists them.

1.in 1.out · a1.in a1.ans · input1.txt output1.txt · a.in1 a.ou1      one group, summed
1-2.in 1-2.out · a1_2.in a1_2.ans                                     case 2 of subtask 1
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from deemster.problems.formats.hydro.config import TESTDATA

PLAIN = re.compile(r"(?P<stem>.*?\d)\.(?:in\.txt|in|txt)", re.IGNORECASE)
TRAILING = re.compile(r"(?P<stem>\D*)\.(?P<ending>in)(?P<number>\d+)", re.IGNORECASE)
LEADING = re.compile(r"(?P<stem>(?P<number>\d+)[-_].*)\.in", re.IGNORECASE)
SUBTASK = re.compile(r"(\d+)[-_](\d+)$")
ANSWERS = (".out", ".ans", ".out.txt", ".ans.txt")


@dataclass(frozen=True, slots=True)
class FilePair:
    input: str
    output: str
    subtask: int
    in_subtask: bool
    """The file name contains a subtask."""


def discover(root: Path) -> list[FilePair]:
    names = listed(root)
    lower = {name.lower(): name for name in names}
    pairs = (pair_of(name, lower) for name in names)
    return sorted((pair for pair in pairs if pair), key=lambda pair: natural(pair.input))


def listed(root: Path) -> list[str]:
    """Files of `testdata` and of its subdirectories `input` and `output`."""
    place = root / TESTDATA
    found = [path.name for path in place.iterdir() if path.is_file()]
    for inner in ("input", "output"):
        if (place / inner).is_dir():
            found += [f"{inner}/{path.name}" for path in (place / inner).iterdir()]
    return sorted(found)


def pair_of(name: str, lower: dict[str, str]) -> FilePair | None:
    answer = next((lower[each] for each in answers_of(name) if each in lower), None)
    if answer is None or answer == name:
        return None
    stem = PLAIN.fullmatch(name)
    subtask = SUBTASK.search(stem["stem"]) if stem else None
    return FilePair(
        name, answer, int(subtask[1]) if subtask else 1, in_subtask=subtask is not None
    )


def answers_of(name: str) -> Iterator[str]:
    """Possible names of the answer file, in lower case."""
    if found := PLAIN.fullmatch(name) or LEADING.fullmatch(name):
        stem = found["stem"].lower()
        for each in with_output(stem):
            yield from (each + ending for ending in ANSWERS)
        if "input" in stem:
            yield stem.replace("input", "output") + ".txt"
    elif found := TRAILING.fullmatch(name):
        for each in with_output(found["stem"].lower()):
            yield from (f"{each}.{ending}{found['number']}" for ending in ("ou", "out"))


def with_output(stem: str) -> Iterable[str]:
    return dict.fromkeys((stem, stem.replace("input", "output")))


def natural(name: str) -> list[tuple[int, str]]:
    """A sort key by which 2 comes before 10."""
    return [
        (int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)
    ]
