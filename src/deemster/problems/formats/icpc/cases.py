"""Groups the files of a test-data directory into cases."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Case,
    Checker,
    Comparison,
    JuryProgram,
    SampleFiles,
    ValidatorArgs,
)
from deemster.problems.formats.icpc.comparison import comparison
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.settings import IcpcSettings

PICTURES = ("png", "jpg", "jpeg", "svg", "gif")
ENDINGS = (
    *("in.statement", "ans.statement", "in.download", "ans.download", "interaction"),
    *("in", "ans", "out", "yaml", "hint", "desc", "pdf", *PICTURES),
)
NO_ARGS = ValidatorArgs()
GROUP_FILES = frozenset({"testdata.yaml", "test_group.yaml"})


@dataclass(frozen=True, slots=True)
class CaseDirectory:
    """The files of one directory of test data."""

    directory: str
    cases: dict[str, dict[str, str]]
    """Path of each file by its extension, by the case's base name."""
    directories: tuple[str, ...]
    others: tuple[str, ...]

    def in_order(self) -> Iterator[tuple[str, dict[str, str] | None]]:
        """Cases and directories (None), sorted by name."""
        found: list[tuple[str, dict[str, str] | None]] = [
            (base, files) for base, files in self.cases.items() if "in" in files
        ]
        found.extend((name, None) for name in self.directories)
        return iter(sorted(found, key=lambda item: (item[0], item[1] is None)))


def read_case_files(folder: Folder, directory: str, *, with_files: bool) -> CaseDirectory:
    """`with_files`: a directory `x.files` belongs to the case `x`."""
    cases: dict[str, dict[str, str]] = {}
    directories: list[str] = []
    others: list[str] = []
    for name in folder.names(directory):
        path = below(directory, name)
        if folder.is_directory(path):
            base = name.removesuffix(".files")
            if with_files and base != name:
                cases.setdefault(base, {})["files"] = path
            else:
                directories.append(name)
            continue
        if name in GROUP_FILES:
            continue
        ending = next((each for each in ENDINGS if name.endswith(f".{each}")), None)
        if ending is None or name == f".{ending}":
            others.append(name)
        else:
            cases.setdefault(name.removesuffix(f".{ending}"), {})[ending] = path
    return CaseDirectory(directory, cases, tuple(directories), tuple(others))


def check_pairs(folder: Folder, case_files: CaseDirectory, *, answerless: bool) -> None:
    """Refuses inputs without an answer and answers without an input."""
    unpaired: list[str] = []
    for files in case_files.cases.values():
        if "in" in files and "ans" not in files:
            if not answerless:
                raise Refused(f"{files['in']} has no answer: add {files['in'][:-3]}.ans.")
            folder.warn(f"{files['in']} has no answer file: it counts as empty.")
        if "in" not in files:
            if "ans" in files:
                raise Refused(f"{files['ans']} has no input: add {files['ans'][:-4]}.in.")
            kinds = files.keys() - {"interaction", "in.statement", "ans.statement"}
            kinds -= {"in.download", "ans.download"}
            unpaired.extend(files[kind].rpartition("/")[2] for kind in sorted(kinds))
    folder.warn_ignored(case_files.directory, unpaired, "there is no input of that name")
    folder.warn_ignored(case_files.directory, list(case_files.others), "they are not test data")


# ---- settings of cases ----


@dataclass(frozen=True, slots=True)
class InheritedKeys:
    """The keys that hold in a directory of test data, with the file of each."""

    values: dict[str, object] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def with_own(self, own: Mapping[str, object], file: str) -> "InheritedKeys":
        return InheritedKeys({**self.values, **own}, {**self.files, **dict.fromkeys(own, file)})

    def file(self, key: str, otherwise: str = "problem.yaml") -> str:
        return self.files.get(key, otherwise)


@dataclass(frozen=True, slots=True)
class CaseSettings:
    args: tuple[str, ...] = ()
    checker: Checker | None = None
    checker_args: tuple[str, ...] = ()
    input_validator_args: ValidatorArgs = NO_ARGS
    full_feedback: bool = False
    hint: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Jury:
    """The settings and validators of the package."""

    settings: IcpcSettings
    validators: tuple[JuryProgram, ...] = ()
    """The output validators; empty: the default validator."""
    input_validators: tuple[str, ...] = ()
    default: Comparison = field(default_factory=Comparison)
    """The default validator with the flags of the whole package."""

    def checker(
        self, flags: Sequence[str], file: str, key: str
    ) -> tuple[Checker | None, tuple[str, ...]]:
        """For a case with these flags: its own checker, or arguments of the shared one."""
        if self.validators:
            return None, tuple(flags)
        own = comparison(flags, file, key, once=not self.settings.version.is_legacy)
        return (None if own == self.default else own), ()


def make_case(
    folder: Folder,
    name: str,
    files: dict[str, str],
    config: CaseSettings,
    sample_rules: "SampleRules",
) -> Case:
    shown, download = sample_rules.of(folder, name, files, config)
    return Case(
        name=name,
        input=files["in"],
        answer=files.get("ans", ""),
        is_sample=name.startswith("sample/"),
        full_feedback=config.full_feedback,
        args=config.args,
        checker=config.checker,
        checker_args=config.checker_args,
        input_validator_args=config.input_validator_args,
        files=extra_files(folder, files.get("files")),
        shown=shown,
        download=download,
        hint=config.hint or folder.read_note(files.get("hint", "")),
        description=config.description or folder.read_note(files.get("desc", "")),
    )


def extra_files(folder: Folder, directory: str | None) -> dict[str, str]:
    if directory is None:
        return {}
    return {path[len(directory) + 1 :]: path for path in folder.files_below(directory)}


# ---- samples ----


@dataclass(frozen=True, slots=True)
class SampleRules:
    """Decides which files of a sample contestants see."""

    has_interaction: bool
    """The problem is interactive or multi-pass."""
    hides_files: bool
    """A sample without an interaction is not shown (legacy, interactive)."""

    def of(
        self, folder: Folder, name: str, files: dict[str, str], config: CaseSettings
    ) -> tuple[SampleFiles, SampleFiles]:
        if not (name.startswith("sample/") or config.full_feedback):
            return SampleFiles(), SampleFiles()
        if "interaction" in files and self.has_interaction:
            if files.keys() & {"in.statement", "ans.statement", "out"}:
                folder.warn(f"{files['interaction']} is shown, and nothing else of {name}.")
            shown = SampleFiles(interaction=files["interaction"])
            return shown, with_downloads(shown, files)
        if self.hides_files and "in.statement" not in files:
            return SampleFiles(), SampleFiles()
        if {"out", "ans.statement"} <= files.keys():
            folder.warn(f"{files['ans.statement']} is shown: {name} needs no .out beside it.")
        shown = SampleFiles(
            input=first_of(files, "in.statement", "in"),
            output=first_of(files, "ans.statement", "out", "ans"),
        )
        download = SampleFiles(
            input=first_of(files, "in.download", "in"),
            output=first_of(files, "ans.download", "out", "ans"),
        )
        return shown, download


def with_downloads(shown: SampleFiles, files: dict[str, str]) -> SampleFiles:
    """The interaction, unless there are files for download."""
    given = files.keys() & {"in.download", "ans.download"}
    if not given:
        return shown
    return SampleFiles(files.get("in.download", ""), files.get("ans.download", ""))


def first_of(files: dict[str, str], *endings: str) -> str:
    return next((files[each] for each in endings if each in files), "")


def samples_without_case(case_files: CaseDirectory) -> list[SampleFiles]:
    """Samples for the statement that are not test cases, mostly interactions."""
    found = []
    for _, files in sorted(case_files.cases.items()):
        if "in" in files:
            continue
        if "interaction" in files:
            found.append(SampleFiles(interaction=files["interaction"]))
        elif "in.statement" in files:
            found.append(SampleFiles(files["in.statement"], files.get("ans.statement", "")))
    return found
