"""Reads an ICPC/Kattis package of any version into a `Problem`."""

import re
from dataclasses import replace
from pathlib import Path

from deemster.domain.errors import Refused
from deemster.domain.problem import Case, Group, Problem, ProgramCheck, ProtocolName
from deemster.problems.formats.icpc.cases import Jury
from deemster.problems.formats.icpc.comparison import comparison
from deemster.problems.formats.icpc.domjudge_files import INI_FILE, read_domjudge_files
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.languages import CODES
from deemster.problems.formats.icpc.programs import (
    checker_of,
    read_grader,
    read_input_validators,
    read_output_validators,
    read_static_validator,
)
from deemster.problems.formats.icpc.settings import IcpcSettings, Version
from deemster.problems.formats.icpc.settings_2025 import read_2025
from deemster.problems.formats.icpc.settings_legacy import read_legacy
from deemster.problems.formats.icpc.statements import names_of, read_statements
from deemster.problems.formats.icpc.submissions import read_submissions
from deemster.problems.formats.icpc.tests_2025 import Tests2025
from deemster.problems.formats.icpc.tests_legacy import CONFIG_FILE, OLD_KEYS, LegacyTests
from deemster.problems.formats.icpc.validator_tests import ValidatorTests
from deemster.problems.formats.yaml_file import key_error

YAML_FILE = "problem.yaml"
VERSIONS = {each.value: each for each in Version} | {"2023-07": Version.DRAFT}
DIRECTORIES = frozenset(
    {
        *("attachments", "data", "generators", "graders", "include", "solution", "submissions"),
        *("problem_statement", "statement", "problem_slide"),
        *("input_format_validators", "input_validator", "input_validators"),
        *("output_validator", "output_validators", "static_validator"),
        *("answer_validator", "answer_validators", "answer_format_validators"),
        *("input_visualizer", "output_visualizer", "visualizers"),
    }
)


def read_package(root: Path) -> Problem:
    """Errors in the package raise `Refused`."""
    folder = Folder(root)
    settings = read_settings(folder)
    folder.strict_names = not settings.version.is_legacy
    warn_of_directories(folder)
    validators = read_output_validators(folder, settings)
    input_validators = read_input_validators(folder, settings)
    static_validator = read_static_validator(folder, settings)
    grader = read_grader(folder, settings) if settings.has_legacy_groups else None
    default = comparison(
        settings.validator_flags if not validators else (),
        YAML_FILE,
        "validator_flags",
        once=not settings.version.is_legacy,
    )
    names = tuple(each.program.name for each in input_validators)
    jury = Jury(settings, validators, names, default)
    tests: LegacyTests | Tests2025
    if settings.has_legacy_groups:
        tests = LegacyTests(folder, jury, has_grader=grader is not None)
    else:
        tests = Tests2025(folder, jury, has_static_validator=static_validator is not None)
    groups = tests.read()
    has_interaction = settings.interactive or settings.multi_pass
    validator_tests = ValidatorTests(folder, tests.configure, has_interaction).read(
        sample_outputs(folder, groups)
    )
    slug = slug_of(root)
    statements = read_statements(folder, settings)
    return Problem(
        slug=slug,
        format=format_of(settings.version),
        names=names_of(folder, statements, settings, slug),
        tests=groups,
        limits=settings.limits,
        checker=default if settings.interactive else checker_of(validators, default),
        interactor=ProgramCheck(validators, ProtocolName.ICPC)
        if settings.interactive
        else None,
        scoring=settings.scoring,
        objective=settings.objective,
        grader=grader,
        static_validator=static_validator,
        submit_answer=settings.submit_answer,
        languages=settings.languages,
        includes=read_includes(folder),
        constants=settings.constants,
        input_validators=input_validators,
        validator_tests=validator_tests,
        submissions=read_submissions(folder, settings),
        statements=statements,
        attachments=tuple(folder.files_below("attachments")),
        samples=tuple(tests.samples),
        keywords=settings.keywords,
        credits=settings.credits,
        source=settings.source,
        license=settings.license,
        uuid=settings.uuid,
        show_groups=settings.show_groups,
        allow_file_writing=settings.allow_file_writing,
        warnings=folder.warnings,
    )


def read_settings(folder: Folder) -> IcpcSettings:
    if not folder.is_file(YAML_FILE) and not folder.is_file(INI_FILE):
        raise Refused(f"There is no {YAML_FILE}: this is not a problem package.")
    given = folder.read_map(YAML_FILE, on_duplicate=folder.warn_duplicate(YAML_FILE))
    version = version_of(given)
    if not version.is_legacy:
        # Read again: only the older versions allow duplicate keys.
        given = folder.read_map(YAML_FILE)
    domjudge = read_domjudge_files(folder)
    if version is Version.DRAFT:
        folder.warn(f"{YAML_FILE}: drafts are read as 2025-09: set problem_format_version so.")
    if version.is_legacy:
        return read_legacy(folder, given, version, domjudge)
    settings = read_2025(folder, given, version, domjudge)
    return replace(settings, old_groups=version is Version.DRAFT and has_old_groups(folder))


def has_old_groups(folder: Folder) -> bool:
    """Whether a testdata.yaml has keys that only the legacy format has."""
    files = [path for path in folder.files_below("data") if path.endswith(f"/{CONFIG_FILE}")]
    return any(folder.read_map(file).keys() & OLD_KEYS for file in files)


def version_of(given: dict[str, object]) -> Version:
    given_version = given.get("problem_format_version", "legacy")
    if not isinstance(given_version, str) or given_version not in VERSIONS:
        known = ", ".join(each.value for each in Version if each is not Version.DRAFT)
        raise key_error(
            YAML_FILE,
            "problem_format_version",
            f"is {given_version!r}, which isn't known: use {known}.",
        )
    return VERSIONS[given_version]


def format_of(version: Version) -> str:
    return (Version.V2025_09 if version is Version.DRAFT else version).value


def slug_of(root: Path) -> str:
    """The directory's name, reduced to lower-case letters, digits, - and _."""
    return re.sub(r"[^a-z0-9_-]+", "-", root.name.lower()).strip("-_") or "problem"


def warn_of_directories(folder: Folder) -> None:
    unknown = [
        name
        for name in folder.names("")
        if folder.is_directory(name) and name not in DIRECTORIES
    ]
    folder.warn_ignored("The package", unknown, "the format has no such directories")


def sample_outputs(folder: Folder, root: Group) -> list[tuple[Case, str]]:
    """Samples with an `.out` file, which the output validator must accept."""
    found = []
    for case in root.cases():
        output = f"{case.input.removesuffix('.in')}.out"
        if case.is_sample and folder.is_file(output):
            found.append((case, output))
    return found


def read_includes(folder: Folder) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name in folder.names("include"):
        path = below("include", name)
        if not folder.is_directory(path):
            folder.warn(f"{path}: ignored: put it into include/default or that of a language.")
        elif not any(True for _ in folder.files_below(path)):
            folder.warn(f"{path}: ignored, because it is empty.")
        else:
            if name != "default" and name not in CODES:
                folder.warn(f"{path}: the format knows no language of that name.")
            found[name] = (path,)
    return found
