"""Reads the tests of a Polygon package, their groups and their points."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Aggregation,
    Case,
    Group,
    SampleFiles,
    Subtask,
    ValidatorArgs,
)
from deemster.problems.formats.group_order import sort_groups
from deemster.problems.formats.polygon.document import FILE, Node, path_pattern

MAIN = "tests"
UNGROUPED = "ungrouped"
SHOWN_MISSING = 5


@dataclass(frozen=True, slots=True)
class Test:
    number: int
    input: str
    answer: str
    group: str
    points: float
    is_sample: bool
    description: str


@dataclass(frozen=True, slots=True)
class GroupPolicy:
    """How a group gives its points."""

    all_or_nothing: bool
    points: float | None = None
    requires: tuple[str, ...] = ()


def main_testset(document: Node) -> Node:
    """The testset that is judged; others, such as `pretests`, are subsets of it."""
    testsets = list(document.children("judging/testset"))
    named = [each for each in testsets if each.get("name") == MAIN]
    if len(named or testsets) == 1:
        return (named or testsets)[0]
    names = ", ".join(each.get("name") for each in testsets)
    raise document.refused(f"needs one testset named '{MAIN}' but has {names}")


def test_paths(testset: Node) -> Iterator[str]:
    for test in read_tests(testset):
        yield from (test.input, test.answer)


def read_tests(testset: Node) -> list[Test]:
    inputs = path_pattern(testset, "input-path-pattern")
    answers = path_pattern(testset, "answer-path-pattern")
    found = [
        Test(
            number,
            inputs % number,
            answers % number,
            group_name(node.get("group")),
            points_of(node) or 0.0,
            node.is_true("sample"),
            node.get("description") or node.get("cmd"),
        )
        for number, node in enumerate(testset.children("tests/test"), start=1)
    ]
    if not found:
        raise testset.refused("has no tests")
    return found


def read_group(root: Path, document: Node) -> Group:
    """All tests; without points, judging ends at the first failure."""
    testset = main_testset(document)
    tests = read_tests(testset)
    refuse_missing(root, tests)
    total = sum(test.points for test in tests)
    policies = read_policies(testset)
    total_of_groups = sum(policy.points or 0.0 for policy in policies.values())
    scored = total > 0 or total_of_groups > 0
    shown = shown_samples(root, document, tests)
    if not scored:
        return Group("", tuple(case_of(test, shown, scored=False) for test in tests))
    if not policies:
        return scored_group("", tests, GroupPolicy(all_or_nothing=False), shown)
    groups = list(scored_groups(tests, policies, shown))
    max_score = sum(maximum(group) for group in groups)
    return Group("", tuple(groups), Subtask(max_score, Aggregation.SUM, whole_score_only=False))


def maximum(group: Group) -> float:
    assert isinstance(group.grading, Subtask)
    return group.grading.max_score or 0.0


def scored_groups(
    tests: Iterable[Test], policies: Mapping[str, GroupPolicy], shown: Mapping[int, SampleFiles]
) -> Iterator[Group]:
    members: dict[str, list[Test]] = {}
    for test in tests:
        members.setdefault(test.group or UNGROUPED, []).append(test)
    requires = {name: policy.requires for name, policy in policies.items()}
    for name in sort_groups(list(members), requires, FILE):
        policy = policies.get(name, GroupPolicy(all_or_nothing=False))
        yield scored_group(name, members[name], policy, shown)


def scored_group(
    name: str, tests: Iterable[Test], policy: GroupPolicy, shown: Mapping[int, SampleFiles]
) -> Group:
    tests = list(tests)
    own = sum(test.points for test in tests)
    by_test = not policy.all_or_nothing and own > 0
    max_score = own if by_test or policy.points is None else policy.points
    how = Aggregation.ALL_OR_NOTHING if policy.all_or_nothing else Aggregation.SUM
    return Group(
        name,
        tuple(case_of(test, shown, scored=by_test) for test in tests),
        Subtask(max_score, how, policy.requires, whole_score_only=False),
        stop_at_reject=policy.all_or_nothing,
    )


def case_of(test: Test, shown: Mapping[int, SampleFiles], *, scored: bool) -> Case:
    name = f"{test.number:02}"
    args = ("--testset", MAIN, *(("--group", test.group) if test.group else ()))
    # A sample with points is shown like a sample but judged like other tests.
    worth_points = scored and test.points > 0
    return Case(
        name=f"{test.group}/{name}" if test.group else name,
        input=test.input,
        answer=test.answer,
        is_sample=test.is_sample and not worth_points,
        full_feedback=test.is_sample,
        input_validator_args=ValidatorArgs(shared=args),
        points=test.points if scored else None,
        shown=shown.get(test.number, SampleFiles()) if test.is_sample else SampleFiles(),
        description=test.description,
    )


def refuse_missing(root: Path, tests: Iterable[Test]) -> None:
    paths = [path for test in tests for path in (test.input, test.answer)]
    missing = [path for path in paths if not (root / path).is_file()]
    if not missing:
        return
    listed = ", ".join(missing[:SHOWN_MISSING])
    more = f" and {len(missing) - SHOWN_MISSING:,} more" if len(missing) > SHOWN_MISSING else ""
    raise Refused(
        f"The package lacks {listed}{more}: a standard package generates them by scripts. "
        "Download a full package from Polygon (Packages, then linux or windows)."
    )


def shown_samples(root: Path, document: Node, tests: Iterable[Test]) -> dict[int, SampleFiles]:
    """Samples as a statement shows them, in `example.01` and `example.01.a`."""
    samples = [test.number for test in tests if test.is_sample]
    for statement in document.children("statements/statement"):
        place = Path(statement.get("path")).parent
        found = {
            number: SampleFiles(f"{place}/example.{at:02}", f"{place}/example.{at:02}.a")
            for at, number in enumerate(samples, start=1)
        }
        paths = [path for each in found.values() for path in (each.input, each.output)]
        if paths and ".." not in place.parts and all((root / path).is_file() for path in paths):
            return found
    return {}


# ---- groups ----


def read_policies(testset: Node) -> dict[str, GroupPolicy]:
    found = {}
    for node in testset.children("groups/group"):
        policy = node.get("points-policy", "each-test").lower().replace("_", "-")
        if policy not in {"complete-group", "each-test"}:
            raise node.refused(f"has the unknown points-policy '{policy[:40]}'")
        requires = [
            group_name(each.need("group")) for each in node.children("dependencies/dependency")
        ]
        found[group_name(node.need("name"))] = GroupPolicy(
            policy == "complete-group", points_of(node), tuple(requires)
        )
    return found


def group_name(name: str) -> str:
    """The name of a group as a part of case names."""
    return re.sub(r"[^\w.-]", "_", name)


def points_of(node: Node) -> float | None:
    text = node.get("points")
    if not text:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text):
        raise node.refused(f"has invalid points ({text[:40]!r})")
    return float(text)
