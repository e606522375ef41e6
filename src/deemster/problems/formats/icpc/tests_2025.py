"""Test data of 2025-09: samples, and secret cases that may be parted into groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from deemster.domain.errors import Refused
from deemster.domain.problem import Case, Group, SampleFiles, StaticCheck, ValidatorArgs
from deemster.problems.formats.icpc.cases import (
    CaseConfig,
    CaseFiles,
    Jury,
    Shows,
    check_pairs,
    make_case,
    read_shelf,
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
class Inherited:
    """What holds for cases from here on, with the file that each key is from."""

    values: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def with_own(self, own: Mapping[str, object], file: str) -> "Inherited":
        passed_on = {key: value for key, value in own.items() if key in INHERITED}
        return Inherited(
            {**self.values, **passed_on}, {**self.files, **dict.fromkeys(passed_on, file)}
        )


@dataclass(frozen=True, slots=True)
class Tests2025:
    """Reads the test data of one package."""

    folder: Folder
    jury: Jury
    has_static_validator: bool
    samples: list[SampleFiles] = field(default_factory=list)

    def read(self) -> Group:
        top = read_shelf(self.folder, "data", with_files=True)
        if any("in" in files for files in top.cases.values()):
            raise Refused("data: test cases belong into data/sample and data/secret.")
        above, file = self.settle("data", Inherited())
        if file:
            self.folder.warn(f"{file}: it belongs into data/sample and data/secret.")
        plans = [self.read_secret(above)]
        if self.folder.is_directory("data/sample"):
            plans.insert(0, self.read_sample(above))
        settings = self.jury.settings
        if not plans[-1].tests_something:
            if settings.scoring or not plans[0].tests_something:
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
        score = plan.said.static_validation_score
        if score is None:
            return None
        if score != "pass-fail":
            raise key_error(
                plan.file, "static_validation_score", "must be pass-fail in such a problem."
            )
        return StaticCheck(None, plan.said.static_validator_args or ())

    # ---- directories ----

    def read_sample(self, above: Inherited) -> GroupPlan:
        inherited, said, file = self.group_settings("data/sample", above)
        for key in SCORE_KEYS:
            if key in said.model_fields_set:
                raise key_error(file, key, "is not for samples: remove it.")
        shelf = read_shelf(self.folder, "data/sample", with_files=True)
        if shelf.directories:
            self.folder.warn("data/sample: samples have no groups: take cases out of them.")
        self.samples.extend(samples_without_case(shelf))
        cases = self.read_cases("sample", shelf, inherited)
        return GroupPlan("sample", file, said, tuple(cases))

    def read_secret(self, above: Inherited) -> GroupPlan:
        inherited, said, file = self.group_settings("data/secret", above)
        shelf = read_shelf(self.folder, "data/secret", with_files=True)
        groups = [self.read_group(f"secret/{name}", inherited) for name in shelf.directories]
        kept = [group for group in groups if group.tests_something]
        empty = [group.name for group in groups if not group.tests_something]
        self.folder.warn_ignored("data", empty, "there are no test cases in them")
        own = CaseFiles(shelf.directory, shelf.cases, (), shelf.others)
        cases = self.read_cases("secret", own, inherited)
        if cases and kept:
            text = "data/secret has both test cases and groups: move the cases into groups."
            if self.jury.settings.scoring:
                raise Refused(text)
            self.folder.warn(text)
        return GroupPlan("secret", file, said, tuple(cases), tuple(kept))

    def read_group(self, name: str, above: Inherited) -> GroupPlan:
        directory = f"data/{name}"
        inherited, said, file = self.group_settings(directory, above)
        shelf = read_shelf(self.folder, directory, with_files=True)
        return GroupPlan(name, file, said, tuple(self.read_cases(name, shelf, inherited)))

    def read_cases(self, name: str, shelf: CaseFiles, inherited: Inherited) -> list[Case]:
        """Its own and those of directories in it, which are no groups."""
        settings = self.jury.settings
        talks = settings.interactive or settings.multi_pass
        check_pairs(self.folder, shelf, answerless=talks)
        shows = Shows(talks, hides_files=False)
        found: list[Case] = []
        for base, files in shelf.in_order():
            full_name = f"{name}/{base}"
            if files is None:
                deeper = f"data/{full_name}"
                below_it, file = self.settle(deeper, inherited)
                if file:
                    self.folder.warn(f"{file}: there are no groups in groups.")
                inside = read_shelf(self.folder, deeper, with_files=True)
                found.extend(self.read_cases(full_name, inside, below_it))
                continue
            self.check_name(files["in"], base, shelf)
            config = self.case_config(full_name, files, inherited)
            found.append(make_case(self.folder, full_name, files, config, shows))
        return found

    def check_name(self, path: str, base: str, shelf: CaseFiles) -> None:
        if base == "test_group":
            raise Refused(f"{path}: no test case may be called test_group: rename it.")
        if base in shelf.directories:
            self.folder.warn(f"{path}: a directory has the same name.")

    # ---- settings ----

    def group_settings(
        self, directory: str, above: Inherited
    ) -> tuple[Inherited, GroupYaml, str]:
        file, values = self.read_file(directory)
        said = checked(GroupYaml, values, file)
        if not self.jury.settings.scoring:
            for key in SCORE_KEYS:
                if key in values:
                    raise key_error(file, key, "is only for 'type: scoring': remove it.")
        if said.static_validator_args is not None and said.static_validation_score is None:
            raise key_error(
                file, "static_validator_args", "needs static_validation_score beside it."
            )
        if said.static_validation_score is not None and not self.has_static_validator:
            raise key_error(
                file, "static_validation_score", "needs a program in static_validator/."
            )
        return above.with_own(values, file), said, file

    def settle(self, directory: str, above: Inherited) -> tuple[Inherited, str]:
        """Where no group is: only what cases inherit; the file's name if there is one."""
        file, values = self.read_file(directory)
        for key in (*SCORE_KEYS, *STATIC_KEYS):
            if key in values:
                raise key_error(file, key, "is only for groups directly below data/secret.")
        checked(CaseYaml, values, file)
        return above.with_own(values, file), file if self.folder.is_file(file) else ""

    def configure(self, directory: str, files: dict[str, str]) -> CaseConfig:
        """For a case that is in no group, such as those that try validators."""
        inherited = Inherited()
        parts = directory.split("/")
        for depth in range(1, len(parts) + 1):
            inherited, _ = self.settle("/".join(parts[:depth]), inherited)
        return self.case_config(directory, files, inherited)

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

    def case_config(self, name: str, files: Mapping[str, str], above: Inherited) -> CaseConfig:
        inherited = above
        if "yaml" in files:
            file = files["yaml"]
            own = self.folder.read_map(file, constants=self.jury.settings.constants)
            if self.jury.settings.version is Version.DRAFT:
                own = from_draft(own, file)
            checked(CaseYaml, own, file)
            inherited = above.with_own(own, file)
        said = CaseYaml.model_validate(dict(inherited.values))
        key = "output_validator_args"
        checker, args = self.jury.checker(
            (*self.jury.settings.validator_flags, *said.output_validator_args),
            inherited.files.get(key, "problem.yaml"),
            key,
        )
        feedback = said.full_feedback
        return CaseConfig(
            args=said.args,
            checker=checker,
            checker_args=args,
            input_validator_args=self.input_args(said, inherited),
            full_feedback=name.startswith("sample/") if feedback is None else feedback,
            hint=said.hint,
            description=said.description,
        )

    def input_args(self, said: CaseYaml, inherited: Inherited) -> ValidatorArgs:
        """The arguments of the program follow those of the validator."""
        given = said.input_validator_args
        if "" in given:
            return ValidatorArgs(shared=(*given[""], *said.args))
        file = inherited.files.get("input_validator_args", "")
        for name in given:
            if name not in self.jury.input_validators:
                self.folder.warn(f"{file}: '{name}' is no input validator of this package.")
        return ValidatorArgs(
            by_name={
                name: (*given.get(name, ()), *said.args) for name in self.jury.input_validators
            }
        )
