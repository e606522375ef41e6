"""Reads the example submissions of an ICPC package and their expected results."""

from collections.abc import Iterator
from dataclasses import dataclass

from deemster.domain.expectation import Expectation, matches_name
from deemster.domain.problem import ExampleSubmission
from deemster.problems.formats.icpc.domjudge_files import EntryPoint, read_entry_points
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.labels import OFFICIAL, legacy_expectation, read_tag
from deemster.problems.formats.icpc.languages import is_source
from deemster.problems.formats.icpc.programs import warn_of_python2
from deemster.problems.formats.icpc.settings import IcpcSettings
from deemster.problems.formats.icpc.submissions_yaml import (
    DEFAULTS,
    FILE,
    Pattern,
    SubmissionExpectation,
    find_expectation,
    read_patterns,
)

ROOT = "submissions"


def read_submissions(folder: Folder, settings: IcpcSettings) -> tuple[ExampleSubmission, ...]:
    reader = SubmissionReader(folder, settings)
    found = tuple(reader.read())
    has_lower_bound = any(each.expectation.has_lower_bound for each in found)
    if not any(each.label == "accepted" for each in found):
        folder.warn("submissions/accepted: there is no accepted submission.")
    elif settings.limits.time_ms is None and not has_lower_bound:
        folder.warn("submissions: none of them is used to find the time limit.")
    return found


@dataclass(frozen=True, slots=True)
class SubmissionReader:
    folder: Folder
    settings: IcpcSettings

    def read(self) -> Iterator[ExampleSubmission]:
        entry_points = read_entry_points(self.folder)
        patterns: list[Pattern] = []
        if not self.settings.has_legacy_groups:
            patterns = read_patterns(self.folder, scoring=self.settings.scoring)
        elif self.folder.is_file(FILE):
            self.folder.warn(f"{FILE}: ignored, because it is of 2025-09.")
        names: list[str] = []
        for directory, path in self.places():
            name = path.removeprefix(f"{ROOT}/")
            expected = self.expected(directory, name, patterns)
            entry_point = entry_points.get(path, EntryPoint())
            sources = self.sources(path)
            if (
                not sources
                and not entry_point.language
                and not (expected and expected.language)
            ):
                self.folder.warn(f"{path}: ignored, because no language has such files.")
                continue
            names.append(name)
            warn_of_python2(self.folder, sources, self.settings)
            yield self.submission(directory, path, expected, entry_point)
        for pattern in patterns:
            used = any(matches_name(pattern.glob, name) for name in names)
            if not used and pattern.glob not in DEFAULTS:
                self.folder.warn(f"{FILE}: no submission is called {pattern.glob}.")

    def expected(
        self, directory: str, name: str, patterns: list[Pattern]
    ) -> SubmissionExpectation | None:
        if self.settings.has_legacy_groups:
            expectation = legacy_expectation(directory, scoring=self.settings.scoring)
            return None if expectation is None else SubmissionExpectation(expectation)
        return find_expectation(self.folder, name, patterns, scoring=self.settings.scoring)

    def submission(
        self,
        directory: str,
        path: str,
        expected: SubmissionExpectation | None,
        entry_point: EntryPoint,
    ) -> ExampleSubmission:
        if directory == "partially_accepted" and not self.settings.scoring:
            self.folder.warn(f"{path}: only scoring problems accept in part.")
        result = expected or SubmissionExpectation(Expectation())
        expectation = result.expectation
        tag = read_tag(self.folder, path)
        if directory in OFFICIAL or directory == "partially_accepted":
            if tag.verdicts and not set(tag.verdicts) & set(expectation.verdicts):
                self.folder.warn(f"{path}: its @EXPECTED_RESULTS@ don't count in {directory}/.")
            expectation = tag.add_score_to(expectation)
        else:
            expectation = tag.apply_to(expectation)
            if expected is None and tag.verdicts is None:
                self.folder.warn(f"{path}: its expected result is not given.")
        return ExampleSubmission(
            path=path,
            label=directory,
            expectation=expectation,
            language=result.language or entry_point.language,
            entry=result.entry or entry_point.entry,
            is_model=result.is_model,
        )

    def places(self) -> Iterator[tuple[str, str]]:
        """Directory and path of each possible submission."""
        loose: list[str] = []
        for directory in self.folder.names(ROOT):
            place = below(ROOT, directory)
            if self.folder.is_directory(place):
                for name in self.folder.names(place):
                    yield directory, below(place, name)
            elif is_source(directory):
                loose.append(directory)
        self.folder.warn_ignored(ROOT, loose, "submissions belong in its subdirectories")

    def sources(self, path: str) -> list[str]:
        """The source files; all files if contestants submit answers."""
        is_file = self.folder.is_file(path)
        files = [path] if is_file else list(self.folder.files_below(path))
        return [file for file in files if self.settings.submit_answer or is_source(file)]
