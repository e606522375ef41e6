"""Reads the test data of 2025-09: samples, and secret cases with or without groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deemster.domain.errors import Refused
from deemster.domain.problem import Case, Group, SampleFiles, StaticCheck, ValidatorArgs
from deemster.problems.formats.icpc.cases import (
    CaseDirectory,
    CaseSettings,
    InheritedKeys,
    Jury,
    SampleRules,
    check_pairs,
    make_case,
    read_case_files,
    samples_without_case,
)
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.groups_2025 import (
    DRAFT_FILE,
    GROUP_FILE,
    INHERITED,
    SCORE_KEYS,
    STATIC_KEYS,
    CaseYaml,
    GroupYaml,
    from_draft,
)
from deemster.problems.formats.icpc.scoring_2025 import GroupPlan, scored_groups
from deemster.problems.formats.icpc.settings import Version
from deemster.problems.formats.yaml_file import checked, key_error


@dataclass(frozen=True, slots=True)
class Tests2025:
    """Reads the test data of one package."""

    folder: Folder
    jury: Jury
    has_static_validator: bool
    samples: list[SampleFiles] = field(default_factory=list)

    def read(self) -> Group:
        top = read_case_files(self.folder, "data", with_files=True)
        if any("in" in files for files in top.cases.values()):
            raise Refused("data: test cases belong in data/sample and data/secret.")
        above, file = self.inherit_keys("data", InheritedKeys())
        if file:
            self.folder.warn(f"{file}: it belongs in data/sample and data/secret.")
        plans = [self.read_secret(above)]
        if self.folder.is_directory("data/sample"):
            plans.insert(0, self.read_sample(above))
        settings = self.jury.settings
        if not plans[-1].has_tests:
            if settings.scoring or not plans[0].has_tests:
                raise Refused("data/secret: there are no test cases: add .in and .ans files.")
            self.folder.warn("data/secret has no test cases: only the samples are judged.")
        if settings.scoring:
            return scored_groups(self.folder, plans, self.jury)
        groups = [self.unscored(plan) for plan in plans]
        return Group("", tuple(group for group in groups if group.items or group.static))

    def unscored(self, plan: GroupPlan) -> Group:
        items: list[Group | Case] = list(plan.cases)
        items.extend(self.unscored(group) for group in plan.groups)
        items.sort(key=lambda item: item.name.split("/"))
        return Group(plan.name, tuple(items), static=self.static_check(plan))

    def static_check(self, plan: GroupPlan) -> StaticCheck | None:
        score = plan.yaml.static_validation_score
        if score is None:
            return None
        if score != "pass-fail":
            raise key_error(
                plan.file, "static_validation_score", "must be pass-fail in such a problem."
            )
        return StaticCheck(None, plan.yaml.static_validator_args or ())

    # ---- directories ----

    def read_sample(self, above: InheritedKeys) -> GroupPlan:
        inherited, yaml, file = self.group_settings("data/sample", above)
        for key in SCORE_KEYS:
            if key in yaml.model_fields_set:
                raise key_error(file, key, "is not for samples: remove it.")
        case_files = read_case_files(self.folder, "data/sample", with_files=True)
        if case_files.directories:
            self.folder.warn("data/sample: samples have no groups: take cases out of them.")
        self.samples.extend(samples_without_case(case_files))
        cases = self.read_cases("sample", case_files, inherited)
        return GroupPlan("sample", file, yaml, tuple(cases))

    def read_secret(self, above: InheritedKeys) -> GroupPlan:
        inherited, yaml, file = self.group_settings("data/secret", above)
        case_files = read_case_files(self.folder, "data/secret", with_files=True)
        groups = [
            self.read_group(f"secret/{name}", inherited) for name in case_files.directories
        ]
        kept = [group for group in groups if group.has_tests]
        empty = [group.name for group in groups if not group.has_tests]
        self.folder.warn_ignored("data", empty, "there are no test cases in them")
        own = CaseDirectory(case_files.directory, case_files.cases, (), case_files.others)
        cases = self.read_cases("secret", own, inherited)
        if cases and kept:
            text = "data/secret has both test cases and groups: move the cases into groups."
            if self.jury.settings.scoring:
                raise Refused(text)
            self.folder.warn(text)
        return GroupPlan("secret", file, yaml, tuple(cases), tuple(kept))

    def read_group(self, name: str, above: InheritedKeys) -> GroupPlan:
        directory = f"data/{name}"
        inherited, yaml, file = self.group_settings(directory, above)
        case_files = read_case_files(self.folder, directory, with_files=True)
        return GroupPlan(name, file, yaml, tuple(self.read_cases(name, case_files, inherited)))

    def read_cases(
        self, name: str, case_files: CaseDirectory, inherited: InheritedKeys
    ) -> list[Case]:
        """The cases of a directory and of its subdirectories, which are not groups."""
        settings = self.jury.settings
        has_interaction = settings.interactive or settings.multi_pass
        check_pairs(self.folder, case_files, answerless=has_interaction)
        sample_rules = SampleRules(has_interaction, hides_files=False)
        found: list[Case] = []
        for base, files in case_files.in_order():
            full_name = f"{name}/{base}"
            if files is None:
                deeper = f"data/{full_name}"
                below_it, file = self.inherit_keys(deeper, inherited)
                if file:
                    self.folder.warn(f"{file}: groups can't contain groups.")
                inside = read_case_files(self.folder, deeper, with_files=True)
                found.extend(self.read_cases(full_name, inside, below_it))
                continue
            self.check_name(files["in"], base, case_files)
            config = self.case_settings(full_name, files, inherited)
            found.append(make_case(self.folder, full_name, files, config, sample_rules))
        return found

    def check_name(self, path: str, base: str, case_files: CaseDirectory) -> None:
        if base == "test_group":
            raise Refused(f"{path}: no test case may be called test_group: rename it.")
        if base in case_files.directories:
            self.folder.warn(f"{path}: a directory has the same name.")

    # ---- settings ----

    def group_settings(
        self, directory: str, above: InheritedKeys
    ) -> tuple[InheritedKeys, GroupYaml, str]:
        file, values = self.read_file(directory)
        yaml = checked(GroupYaml, values, file)
        if not self.jury.settings.scoring:
            for key in SCORE_KEYS:
                if key in values:
                    raise key_error(file, key, "is only for 'type: scoring': remove it.")
        if yaml.static_validator_args is not None and yaml.static_validation_score is None:
            raise key_error(
                file, "static_validator_args", "needs static_validation_score beside it."
            )
        if yaml.static_validation_score is not None and not self.has_static_validator:
            raise key_error(
                file, "static_validation_score", "needs a program in static_validator/."
            )
        return above.with_own(inheritable(values), file), yaml, file

    def inherit_keys(self, directory: str, above: InheritedKeys) -> tuple[InheritedKeys, str]:
        """The keys that cases inherit from a directory that is not a group, and its file."""
        file, values = self.read_file(directory)
        for key in (*SCORE_KEYS, *STATIC_KEYS):
            if key in values:
                raise key_error(file, key, "is only for groups directly below data/secret.")
        checked(CaseYaml, values, file)
        return above.with_own(inheritable(values), file), file if self.folder.is_file(
            file
        ) else ""

    def configure(self, directory: str, files: dict[str, str]) -> CaseSettings:
        """Settings of a case outside of the groups, such as a validator test."""
        inherited = InheritedKeys()
        parts = directory.split("/")
        for depth in range(1, len(parts) + 1):
            inherited, _ = self.inherit_keys("/".join(parts[:depth]), inherited)
        return self.case_settings(directory, files, inherited)

    def read_file(self, directory: str) -> tuple[str, dict[str, object]]:
        file = below(directory, GROUP_FILE)
        older = below(directory, DRAFT_FILE)
        is_draft = self.jury.settings.version is Version.DRAFT
        if not self.folder.is_file(file) and self.folder.is_file(older):
            if not is_draft:
                raise Refused(f"{older} is of older versions: call it {GROUP_FILE}.")
            file = older
        values = self.folder.read_map(file, constants=self.jury.settings.constants)
        return file, from_draft(values, file) if is_draft else values

    def case_settings(
        self, name: str, files: Mapping[str, str], above: InheritedKeys
    ) -> CaseSettings:
        inherited = above
        if "yaml" in files:
            file = files["yaml"]
            own = self.folder.read_map(file, constants=self.jury.settings.constants)
            if self.jury.settings.version is Version.DRAFT:
                own = from_draft(own, file)
            checked(CaseYaml, own, file)
            inherited = above.with_own(inheritable(own), file)
        yaml = CaseYaml.model_validate(inherited.values)
        key = "output_validator_args"
        checker, args = self.jury.checker(
            (*self.jury.settings.validator_flags, *yaml.output_validator_args),
            inherited.file(key),
            key,
        )
        feedback = yaml.full_feedback
        return CaseSettings(
            args=yaml.args,
            checker=checker,
            checker_args=args,
            input_validator_args=self.input_args(yaml, inherited),
            full_feedback=name.startswith("sample/") if feedback is None else feedback,
            hint=yaml.hint,
            description=yaml.description,
        )

    def input_args(self, yaml: CaseYaml, inherited: InheritedKeys) -> ValidatorArgs:
        """The validator's arguments, followed by those of the program."""
        given = yaml.input_validator_args
        if "" in given:
            return ValidatorArgs(shared=(*given[""], *yaml.args))
        file = inherited.file("input_validator_args")
        for name in given:
            if name not in self.jury.input_validators:
                self.folder.warn(f"{file}: '{name}' is not an input validator of this package.")
        return ValidatorArgs(
            by_name={
                name: (*given.get(name, ()), *yaml.args) for name in self.jury.input_validators
            }
        )


def inheritable(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if key in INHERITED}
