"""Detects the format of a package and calls its reader."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import Problem
from deemster.problems.archive import Bounds
from deemster.problems.formats import dmoj, heng, hydro, icpc, polygon
from deemster.problems.formats.encoding import encoding_warnings

KNOWN = (
    "ICPC/Kattis (problem.yaml and data/), Codeforces Polygon (problem.xml), "
    "Hydro (testdata/ with problem.yaml or config.yaml), DMOJ (init.yml)"
)


def prepare(directory: Path, bounds: Bounds) -> None:
    """Changes a newly unpacked package into the form that its reader expects.

    The changes become part of the revision. A second call changes nothing.
    """
    reader = reader_of(directory)
    if reader is polygon.read_package:
        polygon.prepare(directory)
    elif reader is hydro.read_package:
        hydro.prepare(directory)
    elif reader is dmoj.read_package:
        dmoj.prepare(directory, bounds)


def read_problem(directory: Path) -> Problem:
    problem = reader_of(directory)(directory)
    wrong = encoding_warnings(directory, problem.statements)
    return replace(problem, warnings=(*problem.warnings, *wrong))


def reader_of(directory: Path) -> Callable[[Path], Problem]:
    has = {path.name for path in directory.iterdir()}
    if has == {heng.FILE, heng.FILES}:
        return heng.read_package
    if "problem.yaml" in has and has & {"data", "problem_statement", "statement"}:
        return icpc.read_package
    if "problem.xml" in has:
        return polygon.read_package
    if "testdata" in has:
        return hydro.read_package
    if "init.yml" in has:
        return dmoj.read_package
    if has & {"problem.yaml", "domjudge-problem.ini", "data"}:
        return icpc.read_package
    raise unknown(directory, has)


def unknown(directory: Path, has: set[str]) -> Refused:
    if "contest.xml" in has or "contest.yaml" in has:
        return Refused("This is a contest, not a problem: import its problems one by one.")
    inner = [path for path in sorted(directory.iterdir()) if is_package(path)]
    if inner:
        names = ", ".join(path.name for path in inner[:5])
        return Refused(f"This contains several problems ({names}): import them one by one.")
    return Refused(f"This is not a problem package of a known format: {KNOWN}.")


def is_package(path: Path) -> bool:
    markers = ("problem.yaml", "problem.xml", "init.yml", "testdata")
    return path.is_dir() and any((path / marker).exists() for marker in markers)
