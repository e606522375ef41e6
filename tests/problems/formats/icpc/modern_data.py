"""Test data and groups of packages in the format 2025-09, and look-ups in what is read."""

from deemster.domain.problem import Case, Group, Problem

Files = dict[str, str | bytes | None]
SCORING = "type: scoring\n"
NO_CASES: Files = {"data/secret/01.in": None, "data/secret/01.ans": None}
VALIDATOR: Files = {"output_validator/check.py": ""}
STATIC: Files = {"static_validator/look.py": ""}


def pair(name: str) -> Files:
    return {f"data/{name}.in": "1 1\n", f"data/{name}.ans": "2\n"}


def group(problem: Problem, name: str) -> Group:
    return next(each for each in problem.tests.groups() if each.name == name)


def case(problem: Problem, name: str) -> Case:
    return next(each for each in problem.tests.cases() if each.name == name)


def groups_with(**texts: str) -> Files:
    """Groups of one case, each with a test_group.yaml."""
    files: Files = dict(NO_CASES)
    for name, text in texts.items():
        files |= pair(f"secret/{name}/1")
        files[f"data/secret/{name}/test_group.yaml"] = text
    return files
