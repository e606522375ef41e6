"""Reads the tests of the package's validators: inputs and outputs to accept or reject."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from deemster.domain.problem import Case, ValidatorTest
from deemster.problems.formats.icpc.cases import CaseDirectory, CaseSettings, read_case_files
from deemster.problems.formats.icpc.folder import Folder

Kind = Literal["invalid_input", "valid_output", "invalid_output"]
Configure = Callable[[str, dict[str, str]], CaseSettings]
"""Returns the settings of a case from its directory and files."""

DIRECTORIES: dict[str, Kind] = {
    "invalid_input": "invalid_input",
    "invalid_inputs": "invalid_input",
    "bad": "invalid_input",
    "invalid_output": "invalid_output",
    "invalid_outputs": "invalid_output",
    "valid_output": "valid_output",
    "valid_outputs": "valid_output",
}
ANSWER_TESTS = ("invalid_answer", "invalid_answers")
OTHERS = frozenset({"sample", "secret", "testing_tool_test"})


@dataclass(frozen=True, slots=True)
class ValidatorTests:
    folder: Folder
    configure: Configure
    has_interaction: bool
    """Interactive or multi-pass: single outputs can't be validated."""

    def read(self, samples: list[tuple[Case, str]]) -> tuple[ValidatorTest, ...]:
        """Includes the samples with an output, which must be accepted."""
        found: list[ValidatorTest] = []
        unknown: list[str] = []
        for name in self.folder.names("data"):
            if not self.folder.is_directory(f"data/{name}") or name in OTHERS:
                continue
            if name in DIRECTORIES:
                found.extend(self.read_directory(name, DIRECTORIES[name]))
            elif name in ANSWER_TESTS:
                self.folder.warn(f"data/{name}: ignored, because answers aren't validated.")
            else:
                unknown.append(name)
        self.folder.warn_ignored("data", unknown, "only sample and secret are judged")
        if not self.has_interaction:
            found.extend(
                ValidatorTest(case.name, "valid_output", case, output)
                for case, output in samples
            )
        return tuple(found)

    def read_directory(self, name: str, kind: Kind) -> Iterator[ValidatorTest]:
        if name != kind:
            self.folder.warn(f"data/{name}: the name is outdated: call it {kind}.")
        if kind != "invalid_input" and self.has_interaction:
            self.folder.warn(
                f"data/{name}: ignored, because interactive outputs can't be validated."
            )
            return
        case_files = read_case_files(self.folder, f"data/{name}", with_files=True)
        yield from self.read_case_files(name, kind, case_files)

    def read_case_files(
        self, name: str, kind: Kind, case_files: CaseDirectory
    ) -> Iterator[ValidatorTest]:
        for base, files in case_files.in_order():
            full_name = f"{name}/{base}"
            if files is None:
                inside = read_case_files(self.folder, f"data/{full_name}", with_files=True)
                yield from self.read_case_files(full_name, kind, inside)
                continue
            lacking = [] if kind == "invalid_input" else ["ans", "out"]
            lacking = [ending for ending in lacking if ending not in files]
            if lacking:
                self.folder.warn(f"{files['in']}: ignored, because it has no .{lacking[0]}.")
                continue
            if name.startswith("bad") and "ans" in files:
                self.folder.warn(f"{files['in']}: ignored, because answers aren't validated.")
                continue
            yield self.test(full_name, kind, case_files.directory, files)

    def test(
        self, name: str, kind: Kind, directory: str, files: dict[str, str]
    ) -> ValidatorTest:
        config = self.configure(directory, files)
        case = Case(
            name=name,
            input=files["in"],
            answer=files.get("ans", ""),
            args=config.args,
            checker=config.checker,
            checker_args=config.checker_args,
            input_validator_args=config.input_validator_args,
            description=config.description or self.folder.read_note(files.get("desc", "")),
        )
        output = files.get("out", "") if kind != "invalid_input" else ""
        return ValidatorTest(name, kind, case, output)
