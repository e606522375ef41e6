"""Reads the test data of the legacy format: nested groups with testdata.yaml files."""

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
    CaseSettings,
    InheritedKeys,
    Jury,
    SampleRules,
    check_pairs,
    make_case,
    read_case_files,
    samples_without_case,
)
from deemster.problems.formats.icpc.field_types import Finite, Flags, as_flags
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.yaml_file import FileModel, InvalidValue, checked, key_error

CONFIG_FILE = "testdata.yaml"
VerdictMode = Literal["worst_error", "first_error", "always_accept"]
VERDICT_MODES: tuple[VerdictMode, ...] = ("worst_error", "first_error", "always_accept")
SCORE_MODES = frozenset({"sum", "avg", "min", "max"})
NO_ERRORS = "no_errors"
"""What problemtools called `worst_error` at first."""
GRADER_FLAGS = SCORE_MODES | {
    *VERDICT_MODES,
    NO_ERRORS,
    "ignore_sample",
    "accept_if_any_accepted",
}
SCORING_KEYS = ("accept_score", "reject_score", "range")
OLD_KEYS = frozenset({"on_reject", "grading", "grader_flags", *SCORING_KEYS})
"""Keys that show that the groups of a draft have the legacy format."""


def score_range(value: object) -> tuple[float, float]:
    """Two numbers in a string; infinity is allowed."""
    parts = value.split() if isinstance(value, str) else []
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise InvalidValue("must be two numbers with a space between, such as 0 100.") from None
    if not low <= high:
        raise InvalidValue("must have the smaller number first.")
    return (low, high)


def as_validator_flags(value: object) -> object:
    """Flags by validator; the key '' stands for all."""
    if not isinstance(value, dict):
        return {"": as_flags(value)}
    if value.keys() <= {"name", "flags"}:
        if not isinstance(value.get("name"), str):
            raise InvalidValue("names no validator: give it a name.")
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
class LegacyTests:
    """Reads the groups of one package."""

    folder: Folder
    jury: Jury
    has_grader: bool
    samples: list[SampleFiles] = field(default_factory=list)

    def read(self) -> Group:
        case_files = read_case_files(self.folder, "data", with_files=False)
        if any("in" in files for files in case_files.cases.values()):
            raise Refused("data: test cases belong in data/sample and data/secret.")
        config = self.inherit("data", InheritedKeys())
        parts = [name for name in ("sample", "secret") if name in case_files.directories]
        groups = [self.read_group(name, config) for name in parts]
        if not any(True for group in groups for _ in group.cases()):
            raise Refused("data/secret: there are no test cases: add .in and .ans files.")
        if "secret" not in parts:
            self.folder.warn("data/secret is missing: only the samples are judged.")
        return self.make_group("", "data", [g for g in groups if g.items], config)

    def read_group(self, name: str, above: InheritedKeys) -> Group:
        directory = f"data/{name}"
        config = self.inherit(directory, above)
        case_files = read_case_files(self.folder, directory, with_files=False)
        settings = self.jury.settings
        has_interaction = settings.interactive or settings.multi_pass
        check_pairs(self.folder, case_files, answerless=has_interaction)
        sample_rules = SampleRules(has_interaction, hides_files=settings.interactive)
        items: list[Group | Case] = []
        case_settings = self.case_settings(config)
        for base, files in case_files.in_order():
            full_name = f"{name}/{base}"
            if files is not None:
                items.append(
                    make_case(self.folder, full_name, files, case_settings, sample_rules)
                )
                continue
            group = self.read_group(full_name, config)
            if group.items:
                items.append(group)
        if name == "sample":
            self.samples.extend(samples_without_case(case_files))
        if not items and name != "sample":
            self.folder.warn(f"{directory}: ignored, because there are no test cases in it.")
        return self.make_group(name, directory, items, config)

    def inherit(self, directory: str, above: InheritedKeys) -> InheritedKeys:
        """The keys of the directory's own file, and the others of its parents."""
        file = below(directory, CONFIG_FILE)
        own = self.folder.read_map(file, on_duplicate=self.folder.warn_duplicate(file))
        checked(TestdataYaml, own, file)
        if not self.jury.settings.scoring:
            for key in SCORING_KEYS:
                if key in own:
                    raise key_error(file, key, "is only for 'type: scoring': remove it.")
        return above.with_own(own, file)

    def configure(self, directory: str, _: dict[str, str]) -> CaseSettings:
        """Settings of a case outside of the groups, such as a validator test."""
        config = InheritedKeys()
        parts = directory.split("/")
        for depth in range(1, len(parts) + 1):
            config = self.inherit("/".join(parts[:depth]), config)
        return self.case_settings(config)

    # ---- conversion ----

    def make_group(
        self, name: str, directory: str, items: "list[Group | Case]", config: InheritedKeys
    ) -> Group:
        yaml = TestdataYaml.model_validate(config.values)
        overruled = self.jury.settings.grading
        low, high = yaml.range
        if overruled.range is not None:
            low, high = range_of_problem(overruled.range)
        stops = overruled.stop_at_reject
        group = Group(
            name=name,
            items=tuple(items),
            grading=self.grading(name, directory, yaml, config),
            stop_at_reject=yaml.on_reject == "break" if stops is None else stops,
            accept_score=first_given(overruled.accept_score, yaml.accept_score),
            reject_score=first_given(overruled.reject_score, yaml.reject_score),
            lowest=low,
            highest=high,
        )
        self.check_ignore_sample(group, directory)
        return group

    def grading(
        self, name: str, directory: str, yaml: TestdataYaml, config: InheritedKeys
    ) -> Grading:
        file = config.file("grader_flags", below(directory, CONFIG_FILE))
        if yaml.grading == "custom":
            if not self.has_grader:
                raise key_error(
                    config.file("grading"), "grading", "is custom: put a program into graders/."
                )
            return CustomGrader(yaml.grader_flags)
        unknown = [flag for flag in yaml.grader_flags if flag not in GRADER_FLAGS]
        if unknown:
            self.folder.warn(f"{file}: the default grader doesn't know {', '.join(unknown)}.")
        own_file = below(directory, CONFIG_FILE)
        if "ignore_sample" in yaml.grader_flags and name and file == own_file:
            raise key_error(
                file, "grader_flags", "has ignore_sample: only data/ may have that."
            )
        return default_grader(yaml.grader_flags, is_root=not name)

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

    def case_settings(self, config: InheritedKeys) -> CaseSettings:
        yaml = TestdataYaml.model_validate(config.values)
        key = "output_validator_flags"
        checker, args = self.output_validation(
            yaml.output_validator_flags, config.file(key), config.files.get(key) is not None
        )
        return CaseSettings(
            checker=checker,
            checker_args=args,
            input_validator_args=self.input_args(
                yaml.input_validator_flags, config.file("input_validator_flags")
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
            raise key_error(file, key, f"names '{name}', which is not an output validator.")
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
                self.folder.warn(f"{file}: '{name}' is not an input validator of this package.")
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
    """Of flags that exclude each other, the last one counts."""
    named = ["worst_error" if flag == NO_ERRORS else flag for flag in flags]
    verdicts = [mode for flag in named for mode in VERDICT_MODES if mode == flag]
    scores = [Aggregation(flag) for flag in flags if flag in SCORE_MODES]
    return DefaultGrader(
        verdict=verdicts[-1] if verdicts else "worst_error",
        score=scores[-1] if scores else Aggregation.SUM,
        ignore_sample=is_root and "ignore_sample" in flags,
        accept_if_any="accept_if_any_accepted" in flags,
    )
