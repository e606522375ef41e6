"""Test data of the legacy format: groups in groups, with a testdata.yaml or their parent's."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Aggregation,
    Case,
    Checker,
    CustomGrader,
    DefaultGrader,
    Grading,
    Group,
    ProgramCheck,
    ProtocolName,
    SampleFiles,
    ValidatorArgs,
)
from deemster.problems.formats.icpc.cases import (
    CaseConfig,
    Jury,
    Shows,
    check_pairs,
    make_case,
    read_shelf,
    samples_without_case,
)
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.values import Finite, Flags, as_flags
from deemster.problems.formats.yaml_file import FileModel, Misfit, checked, key_error

CONFIG_FILE = "testdata.yaml"
VerdictMode = Literal["worst_error", "first_error", "always_accept"]
VERDICT_MODES: tuple[VerdictMode, ...] = ("worst_error", "first_error", "always_accept")
SCORE_MODES = frozenset({"sum", "avg", "min", "max"})
GRADER_FLAGS = SCORE_MODES | {*VERDICT_MODES, "ignore_sample", "accept_if_any_accepted"}
SCORING_KEYS = ("accept_score", "reject_score", "range")
OLD_KEYS = frozenset({"on_reject", "grading", "grader_flags", *SCORING_KEYS})
"""By which a draft's groups are seen to be of this format."""


def score_range(value: object) -> tuple[float, float]:
    """Two numbers in a text; infinity is allowed."""
    parts = value.split() if isinstance(value, str) else []
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise Misfit("must be two numbers with a space between, such as 0 100.") from None
    if not low <= high:
        raise Misfit("must have its smaller number first.")
    return (low, high)


def as_validator_flags(value: object) -> object:
    """For all validators, under '', or by the name of each."""
    if not isinstance(value, dict):
        return {"": as_flags(value)}
    if value.keys() <= {"name", "flags"}:
        if not isinstance(value.get("name"), str):
            raise Misfit("names no validator: give it a name.")
        return {value["name"]: as_flags(value.get("flags") or "")}
    return {name: as_flags(flags or "") for name, flags in value.items()}


ValidatorFlags = Annotated[dict[str, tuple[str, ...]], BeforeValidator(as_validator_flags)]


class TestdataYaml(FileModel):
    on_reject: Literal["break", "continue"] = "break"
    grading: Literal["default", "custom"] = "default"
    grader_flags: Flags = ()
    input_validator_flags: ValidatorFlags = Field(default={"": ()})
    output_validator_flags: ValidatorFlags = Field(default={"": ()})
    accept_score: Finite = 1.0
    reject_score: Finite = 0.0
    range: Annotated[tuple[float, float], BeforeValidator(score_range)] = (
        float("-inf"),
        float("inf"),
    )


@dataclass(frozen=True, slots=True)
class Inherited:
    """The keys that hold for a group, with the file that each is from."""

    values: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def model(self) -> TestdataYaml:
        return TestdataYaml.model_validate(dict(self.values))

    def file(self, key: str, otherwise: str = "problem.yaml") -> str:
        return self.files.get(key, otherwise)


@dataclass(frozen=True, slots=True)
class LegacyTests:
    """Reads the groups of one package."""

    folder: Folder
    jury: Jury
    has_grader: bool
    samples: list[SampleFiles] = field(default_factory=list)

    def read(self) -> Group:
        shelf = read_shelf(self.folder, "data", with_files=False)
        if any("in" in files for files in shelf.cases.values()):
            raise Refused("data: test cases belong into data/sample and data/secret.")
        config = self.inherit("data", Inherited())
        parts = [name for name in ("sample", "secret") if name in shelf.directories]
        groups = [self.read_group(name, config) for name in parts]
        if not any(True for group in groups for _ in group.cases()):
            raise Refused("data/secret: there are no test cases: add .in and .ans files.")
        if "secret" not in parts:
            self.folder.warn("data/secret is missing: only the samples are judged.")
        return self.make_group("", "data", [g for g in groups if g.items], config)

    def read_group(self, name: str, above: Inherited) -> Group:
        directory = f"data/{name}"
        config = self.inherit(directory, above)
        shelf = read_shelf(self.folder, directory, with_files=False)
        settings = self.jury.settings
        talks = settings.interactive or settings.multi_pass
        check_pairs(self.folder, shelf, answerless=talks)
        shows = Shows(talks, hides_files=settings.interactive)
        items: list[Group | Case] = []
        case_config = self.case_config(config)
        for base, files in shelf.in_order():
            full_name = f"{name}/{base}"
            if files is not None:
                items.append(make_case(self.folder, full_name, files, case_config, shows))
                continue
            group = self.read_group(full_name, config)
            if group.items:
                items.append(group)
        if name == "sample":
            self.samples.extend(samples_without_case(shelf))
        if not items and name != "sample":
            self.folder.warn(f"{directory}: ignored, because there are no test cases in it.")
        return self.make_group(name, directory, items, config)

    def inherit(self, directory: str, above: Inherited) -> Inherited:
        """Its own keys, and those of the groups above it for the rest, as the tools have it."""
        file = below(directory, CONFIG_FILE)
        own = self.folder.read_map(file, on_duplicate=self.folder.warn_duplicate(file))
        checked(TestdataYaml, own, file)
        if not self.jury.settings.scoring:
            for key in SCORING_KEYS:
                if key in own:
                    raise key_error(file, key, "is only for 'type: scoring': remove it.")
        files = {**above.files, **dict.fromkeys(own, file)}
        return Inherited({**above.values, **own}, files)

    def configure(self, directory: str, _: dict[str, str]) -> CaseConfig:
        """For a case that is in no group, such as those that try validators."""
        config = Inherited()
        parts = directory.split("/")
        for depth in range(1, len(parts) + 1):
            config = self.inherit("/".join(parts[:depth]), config)
        return self.case_config(config)

    # ---- conversion ----

    def make_group(
        self, name: str, directory: str, items: "list[Group | Case]", config: Inherited
    ) -> Group:
        said = config.model()
        overruled = self.jury.settings.grading
        low, high = said.range
        if overruled.range is not None:
            low, high = range_of_problem(overruled.range)
        stops = overruled.stop_at_reject
        group = Group(
            name=name,
            items=tuple(items),
            grading=self.grading(name, directory, said, config),
            stop_at_reject=said.on_reject == "break" if stops is None else stops,
            accept_score=first_given(overruled.accept_score, said.accept_score),
            reject_score=first_given(overruled.reject_score, said.reject_score),
            lowest=low,
            highest=high,
        )
        self.check_ignore_sample(group, directory)
        return group

    def grading(
        self, name: str, directory: str, said: TestdataYaml, config: Inherited
    ) -> Grading:
        file = config.file("grader_flags", below(directory, CONFIG_FILE))
        if said.grading == "custom":
            if not self.has_grader:
                raise key_error(
                    config.file("grading"), "grading", "is custom: put a program into graders/."
                )
            return CustomGrader(said.grader_flags)
        unknown = [flag for flag in said.grader_flags if flag not in GRADER_FLAGS]
        if unknown:
            self.folder.warn(f"{file}: the default grader doesn't know {', '.join(unknown)}.")
        own_file = below(directory, CONFIG_FILE)
        if "ignore_sample" in said.grader_flags and name and file == own_file:
            raise key_error(
                file, "grader_flags", "has ignore_sample: only data/ may have that."
            )
        return default_grader(said.grader_flags, is_root=not name)

    def check_ignore_sample(self, group: Group, directory: str) -> None:
        grading = group.grading
        if (
            isinstance(grading, DefaultGrader)
            and grading.ignore_sample
            and group.stop_at_reject
        ):
            raise key_error(
                below(directory, CONFIG_FILE),
                "on_reject",
                "must be continue where samples are ignored: a failed one would end judging.",
            )

    def case_config(self, config: Inherited) -> CaseConfig:
        said = config.model()
        key = "output_validator_flags"
        checker, args = self.output_validation(
            said.output_validator_flags, config.file(key), config.files.get(key) is not None
        )
        return CaseConfig(
            checker=checker,
            checker_args=args,
            input_validator_args=self.input_args(
                said.input_validator_flags, config.file("input_validator_flags")
            ),
        )

    def output_validation(
        self, flags: Mapping[str, tuple[str, ...]], file: str, is_given: bool
    ) -> tuple[Checker | None, tuple[str, ...]]:
        always = self.jury.settings.validator_flags
        key = "output_validator_flags" if is_given else "validator_flags"
        if "" in flags:
            return self.jury.checker((*always, *flags[""]), file, key)
        name, own = next(iter(flags.items()))
        if len(flags) > 1:
            raise key_error(file, key, "names several validators: name one.")
        programs = [each for each in self.jury.validators if is_called(each.name, name)]
        if not programs:
            raise key_error(file, key, f"names '{name}', which is no output validator.")
        if self.jury.settings.interactive:
            return None, (*always, *own)
        return ProgramCheck(tuple(programs), ProtocolName.ICPC), (*always, *own)

    def input_args(self, flags: Mapping[str, tuple[str, ...]], file: str) -> ValidatorArgs:
        if "" in flags:
            return ValidatorArgs(shared=flags[""])
        named: dict[str, tuple[str, ...]] = {}
        for name, own in flags.items():
            fitting = [each for each in self.jury.input_validators if is_called(each, name)]
            if not fitting:
                self.folder.warn(f"{file}: '{name}' is no input validator of this package.")
            named.update(dict.fromkeys(fitting, own))
        return ValidatorArgs(by_name=named)


def is_called(program: str, name: str) -> bool:
    return name in {program, program.rpartition(".")[0]}


def first_given(one: float | None, other: float) -> float:
    return other if one is None else one


def range_of_problem(text: str) -> tuple[float, float]:
    try:
        return score_range(text)
    except ValueError as error:
        raise key_error("problem.yaml", "grading.range", str(error)) from None


def default_grader(flags: tuple[str, ...], *, is_root: bool) -> DefaultGrader:
    """The last of flags that exclude each other counts."""
    verdicts = [mode for flag in flags for mode in VERDICT_MODES if mode == flag]
    scores = [Aggregation(flag) for flag in flags if flag in SCORE_MODES]
    return DefaultGrader(
        verdict=verdicts[-1] if verdicts else "worst_error",
        score=scores[-1] if scores else Aggregation.SUM,
        ignore_sample=is_root and "ignore_sample" in flags,
        accept_if_any="accept_if_any_accepted" in flags,
    )
