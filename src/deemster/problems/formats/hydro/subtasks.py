"""Reads the subtasks and cases of a Hydro package and distributes their points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import Aggregation, Case, Group, Subtask
from deemster.problems.formats.group_order import sort_groups
from deemster.problems.formats.hydro.config import (
    TESTDATA,
    CaseConfig,
    HydroConfig,
    SubtaskConfig,
    find_file,
    refused,
)
from deemster.problems.formats.hydro.discover import discover

FULL_SCORE = 100.0
KINDS = {"min": Aggregation.MIN, "max": Aggregation.MAX, "sum": Aggregation.SUM}


@dataclass(frozen=True, slots=True)
class HydroSubtask:
    id: int
    config: SubtaskConfig
    cases: Sequence[CaseConfig]
    kind: str
    key_path: str

    @property
    def name(self) -> str:
        return f"subtask{self.id}"


def read_group(root: Path, config: HydroConfig) -> Group:
    subtasks = {each.name: each for each in sorted(listed(root, config), key=lambda s: s.id)}
    if not any(each.cases for each in subtasks.values()):
        raise Refused(
            f"There are no test cases in {TESTDATA}/: call them 1.in and 1.out, or list them "
            "in a config.yaml."
        )
    scores = shares(FULL_SCORE, [each.config.score for each in subtasks.values()])
    worth = dict(zip(subtasks, scores, strict=True))
    requires = {name: required_names(each, subtasks) for name, each in subtasks.items()}
    groups = [
        group_of(root, config, subtasks[name], worth[name], requires[name])
        for name in sort_groups(list(subtasks), requires, f"{TESTDATA}/config.yaml")
    ]
    grading = Subtask(sum(scores), Aggregation.SUM, whole_score_only=False)
    return Group("", tuple(groups), grading, stop_at_reject=False)


def listed(root: Path, config: HydroConfig) -> Iterator[HydroSubtask]:
    """`cases` comes before `subtasks`; if none is listed, cases are found by file names."""
    if config.cases:
        yield HydroSubtask(1, SubtaskConfig(), config.cases, "sum", "cases")
    elif any(each.cases for each in config.subtasks):
        for number, each in enumerate(config.subtasks):
            found = each.id if each.id is not None else number + 1
            key_path = f"subtasks.{number}"
            yield HydroSubtask(found, each, each.cases, each.type or "min", f"{key_path}.cases")
    else:
        yield from discovered(root, config)


def discovered(root: Path, config: HydroConfig) -> Iterator[HydroSubtask]:
    known = {number_of(each, at): each for at, each in enumerate(config.subtasks)}
    pairs = discover(root)
    for found in sorted({pair.subtask for pair in pairs}):
        own = [pair for pair in pairs if pair.subtask == found]
        given = known.get(found, SubtaskConfig())
        usual = "min" if own[0].in_subtask else "sum"
        cases = [CaseConfig(input=pair.input, output=pair.output) for pair in own]
        yield HydroSubtask(found, given, cases, given.type or usual, "cases")


def number_of(subtask: SubtaskConfig, position: int) -> int:
    return subtask.id if subtask.id is not None else position + 1


def required_names(subtask: HydroSubtask, subtasks: dict[str, HydroSubtask]) -> tuple[str, ...]:
    names = tuple(f"subtask{each}" for each in subtask.config.requires)
    for name in names:
        if name not in subtasks:
            key_path = subtask.key_path.removesuffix(".cases")
            raise refused(f"{key_path}.if", f"names {name}, which is not there: correct it.")
    return names


def group_of(
    root: Path,
    config: HydroConfig,
    subtask: HydroSubtask,
    score: float,
    requires: tuple[str, ...],
) -> Group:
    kind = KINDS[subtask.kind]
    given = [case.score for case in subtask.cases]
    points: Sequence[float | None] = given
    if kind is Aggregation.SUM:
        points = shares(score, given)
        score = sum(shares(score, given))
    return Group(
        subtask.name,
        tuple(
            case_of(root, config, subtask, number, worth)
            for number, worth in enumerate(points, start=1)
        ),
        Subtask(score, kind, requires, whole_score_only=False),
        stop_at_reject=kind is Aggregation.MIN,
    )


def case_of(
    root: Path, config: HydroConfig, subtask: HydroSubtask, number: int, points: float | None
) -> Case:
    case = subtask.cases[number - 1]
    key_path = f"{subtask.key_path}.{number - 1}"
    time_ms = case.time or subtask.config.time or config.time
    memory_bytes = case.memory or subtask.config.memory or config.memory
    return Case(
        name=f"{subtask.name}/{number}",
        input=find_file(root, case.input, f"{key_path}.input") if case.input else "",
        answer=find_file(root, case.output, f"{key_path}.output") if case.output else "",
        points=points,
        time_ms=None if time_ms == config.time else time_ms,
        memory_bytes=None if memory_bytes == config.memory else memory_bytes,
    )


def shares(total: float, given: Sequence[float | None]) -> list[float]:
    """Distributes the remaining points among items without a score, as Hydro does:
    in whole points, and the later items get the larger shares."""
    rest = max(0, int(total - sum(each or 0.0 for each in given)))
    open_count = sum(1 for each in given if not each)
    base, over = divmod(rest, open_count) if open_count else (0, 0)
    from_here = open_count - over
    found, seen = [], 0
    for each in given:
        if each:
            found.append(float(each))
            continue
        found.append(float(base + (seen >= from_here)))
        seen += 1
    return found
