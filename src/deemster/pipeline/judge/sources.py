"""Reads the source files of programs in a package, finds their language, fills in constants."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from deemster.domain.errors import Refused
from deemster.domain.language import Catalogue, Language
from deemster.domain.problem import (
    CONSTANT,
    ExampleSubmission,
    JuryProgram,
    Problem,
    ProgramCheck,
    fill_constants,
)
from deemster.domain.source import (
    FILLED_BYTES,
    Source,
    check_admissible,
    single_file,
    with_guessed_main,
    with_included,
)
from deemster.pipeline.judge.python2 import NAMES, NEEDS_PYTHON2, is_named_python2
from deemster.programs.build.languages import shipped_directory

TESTLIB = "testlib.h"
TEXT = "text"
"""The language of submitted answers."""
IGNORED = frozenset({"__pycache__", ".git", ".svn", ".DS_Store"})


class FilledTooLarge(Refused):
    """A contestant's source is too large with the constants that it uses."""


def submission_source(
    root: Path, problem: Problem, example: ExampleSubmission, catalogue: Catalogue
) -> tuple[Language, Source]:
    """An example submission of the package, with the files that the problem includes."""
    language, sent = example_source(root, problem, example, catalogue)
    files = {name: filled(content, problem.constants) for name, content in sent.files.items()}
    source = replace(sent, files=files)
    if problem.submit_answer:
        return language, source
    included = included_files(root, problem, language, catalogue)
    if included:
        source = with_included(language, source, included, entry=example.entry)
    return language, source


def example_source(
    root: Path, problem: Problem, example: ExampleSubmission, catalogue: Catalogue
) -> tuple[Language, Source]:
    """An example submission of the package, as a contestant would send it."""
    files = read_program(root, example.path, {})
    if problem.submit_answer:
        language = catalogue.named(example.language or TEXT)
    else:
        language = language_of(catalogue, files, example.language, example.path)
    check_admissible(
        files,
        language,
        max_bytes=problem.limits.code_bytes,
        allowed_languages=problem.languages,
    )
    if problem.submit_answer:
        return language, Source(files, included=frozenset(files))
    return language, with_guessed_main(language, source_of(language, files, example.entry))


def contestant_source(
    root: Path, problem: Problem, language: Language, source: Source, catalogue: Catalogue
) -> Source:
    """A contestant's submission, with the files that the problem includes."""
    check_filled_size(source.files.values(), problem.constants)
    files = {name: filled(each, problem.constants) for name, each in source.files.items()}
    own = Source(files, main=source.main, max_bytes=FILLED_BYTES)
    if problem.submit_answer:
        return own
    included = included_files(root, problem, language, catalogue)
    return with_included(language, own, included) if included else own


def jury_source(
    root: Path, problem: Problem, program: JuryProgram, catalogue: Catalogue
) -> tuple[Language, Source]:
    files = read_program(root, program.path, problem.constants)
    for path in program.resources:
        files.setdefault(PurePosixPath(path).name, (root / path).read_bytes())
    language = language_of(catalogue, files, program.language, program.path)
    source = source_of(language, files, None)
    added = {} if TESTLIB in source.files else fallback_header(source)
    # Marked as included, because the size limit for contestants doesn't apply.
    all_files = {**source.files, **added}
    whole = Source(all_files, main=source.main, included=frozenset(all_files))
    return language, with_guessed_main(language, whole)


def source_of(language: Language, files: Mapping[str, bytes], entry: str | None) -> Source:
    if len(files) == 1 and entry is None:
        name, content = next(iter(files.items()))
        return single_file(language, name, content)
    return Source(files, main=entry, included=frozenset(files))


def read_program(root: Path, path: str, constants: Mapping[str, str]) -> dict[str, bytes]:
    """`path` is a file or a directory."""
    program = root / path
    if program.is_file():
        return {program.name: filled(program.read_bytes(), constants)}
    files = {
        str(file.relative_to(program)): filled(file.read_bytes(), constants)
        for file in sorted(program.rglob("*"))
        if file.is_file() and is_content(file.relative_to(program))
    }
    if not files:
        raise Refused(f"There is no source file in {path}: add the program.")
    return files


def is_content(path: Path) -> bool:
    return not any(part in IGNORED or part.startswith(".") for part in path.parts)


def filled(content: bytes, constants: Mapping[str, str]) -> bytes:
    if not constants:
        return content
    text = content.decode(errors="surrogateescape")
    return fill_constants(text, constants).encode(errors="surrogateescape")


def check_filled_size(contents: Iterable[bytes], constants: Mapping[str, str]) -> None:
    """Refuses sources before they are filled: short names can stand for long values."""
    size = sum(filled_bytes(content, constants) for content in contents)
    if size > FILLED_BYTES:
        raise FilledTooLarge(
            f"The source has {size:,} bytes after the constants of the problem are filled in, "
            f"and at most {FILLED_BYTES:,} are allowed: use fewer constants."
        )


def filled_bytes(content: bytes, constants: Mapping[str, str]) -> int:
    grown = {
        name: len(value.encode()) - len(f"{{{{{name}}}}}") for name, value in constants.items()
    }
    names = CONSTANT.findall(content.decode(errors="surrogateescape")) if grown else ()
    return len(content) + sum(grown.get(name, 0) for name in names)


def language_of(
    catalogue: Catalogue, files: Mapping[str, bytes], named: str | None, path: str
) -> Language:
    """The language that the package names, else the one that all file names agree on."""
    if is_named_python2(files) or (named or "").lower() in NAMES:
        raise Refused(f"{path} {NEEDS_PYTHON2}")
    if named is not None:
        return catalogue.named(named)
    found = {str(language.id): language for language in languages_of(catalogue, files)}
    if "cpp" in found:
        found.pop("c", None)  # a C++ program may have C sources
    if len(found) != 1:
        which = " and ".join(sorted(found)) or "none that is known"
        raise Refused(
            f"The file names in {path} don't determine one language ({which}): use the usual "
            "extensions, or name the language in the package."
        )
    return next(iter(found.values()))


def languages_of(catalogue: Catalogue, files: Mapping[str, bytes]) -> Iterable[Language]:
    for name, content in files.items():
        try:
            yield catalogue.for_file(name, content[:65_536].decode(errors="replace"))
        except Refused:
            continue


def included_files(
    root: Path, problem: Problem, language: Language, catalogue: Catalogue
) -> dict[str, bytes]:
    """Files for this language take precedence over the default ones."""
    own: dict[str, bytes] = {}
    default: dict[str, bytes] = {}
    for name, paths in problem.includes.items():
        if name == "default":
            target = default
        elif is_named(catalogue, name, language):
            target = own
        else:
            continue
        for path in paths:
            target.update(read_program(root, path, problem.constants))
    return {**default, **own}


def is_named(catalogue: Catalogue, name: str, language: Language) -> bool:
    """`cpp` also means the other C++ standards, such as `cpp17`."""
    try:
        named = catalogue.named(name)
    except Refused:
        return False
    return named.id == language.id or named.extensions == language.shared_extensions


def fallback_header(source: Source) -> dict[str, bytes]:
    """Our testlib.h, for programs that include one but don't contain it."""
    if not any(b'"testlib.h"' in content for content in source.files.values()):
        return {}
    return {TESTLIB: shipped_directory("jury").joinpath(TESTLIB).read_bytes()}


def languages_needed(root: Path, problem: Problem, catalogue: Catalogue) -> list[Language]:
    """The languages of all programs in a package, as far as they can be determined."""
    programs = [(each.path, each.language) for each in jury_programs(problem)]
    programs += [
        (each.program.path, each.program.language) for each in problem.input_validators
    ]
    programs += [(each.path, each.language) for each in problem.submissions]
    found = {}
    for path, named in programs:
        try:
            language = language_of(catalogue, read_program(root, path, {}), named, path)
        except Refused:
            continue  # reported when the program is needed
        found[language.id] = language
    return list(found.values())


def jury_programs(problem: Problem) -> list[JuryProgram]:
    """The programs that judging needs; input validators are not among them."""
    checks = [problem.checker, problem.interactor]
    checks += [case.checker for case in problem.tests.cases()]
    programs = [
        program
        for check in checks
        if isinstance(check, ProgramCheck)
        for program in check.programs
    ]
    programs += [each for each in (problem.grader, problem.static_validator) if each]
    return list(dict.fromkeys(programs))
