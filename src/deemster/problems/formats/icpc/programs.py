"""Finds the validators and graders of an ICPC package."""

from deemster.domain.errors import Refused
from deemster.domain.problem import (
    Checker,
    InputValidator,
    JuryProgram,
    ProgramCheck,
    ProtocolName,
)
from deemster.problems.formats.icpc.folder import Folder, below
from deemster.problems.formats.icpc.languages import is_header, is_python2, is_source
from deemster.problems.formats.icpc.settings import IcpcSettings
from deemster.problems.formats.yaml_file import key_error

SCRIPTS = ("build", "run")
GRAMMAR_ENDINGS = (".ctd", ".viva")
FIRST_LINE_BYTES = 200


def read_input_validators(folder: Folder, settings: IcpcSettings) -> tuple[InputValidator, ...]:
    found: list[InputValidator] = []
    for directory in ("input_validators", "input_format_validators", "input_validator"):
        if directory != "input_validators" and folder.is_directory(directory):
            folder.warn(f"{directory}: the name is outdated: call it input_validators.")
        grammars = [n for n in folder.names(directory) if n.endswith(GRAMMAR_ENDINGS)]
        folder.warn_ignored(
            directory, grammars, "Checktestdata and VIVA validators can't be run here"
        )
        programs = programs_in(folder, directory, settings)
        found.extend(InputValidator(program, ProtocolName.ICPC) for program in programs)
    if not found:
        folder.warn("input_validators: there is no program that checks the inputs.")
    return tuple(found)


def read_output_validators(folder: Folder, settings: IcpcSettings) -> tuple[JuryProgram, ...]:
    """The package's output validators; empty: the default one is used."""
    legacy = settings.version.is_legacy
    usual, other = ("output_validators", "output_validator")
    if not legacy:
        usual, other = other, usual
    found: tuple[JuryProgram, ...] = ()
    for directory in (usual, other):
        if not found and folder.is_directory(directory):
            if directory == other:
                folder.warn(f"{other}: this version calls it {usual}.")
            if legacy and directory == usual:
                found = tuple(programs_in(folder, directory, settings))
            else:
                found = single_program(folder, directory, settings)
    return chosen_validators(folder, settings, found, usual)


def chosen_validators(
    folder: Folder, settings: IcpcSettings, found: tuple[JuryProgram, ...], directory: str
) -> tuple[JuryProgram, ...]:
    needed = settings.custom or settings.interactive or settings.multi_pass
    if needed and not found:
        key = "validation" if settings.version.is_legacy else "type"
        raise key_error(
            "problem.yaml", key, f"needs an output validator: put a program in {directory}/."
        )
    if settings.custom is False and found:
        folder.warn(f"{directory}: ignored, because problem.yaml says 'validation: default'.")
        return ()
    if settings.interactive and len(found) > 1:
        raise Refused(f"{directory}: an interactive problem has one validator: remove others.")
    return found


def checker_of(programs: tuple[JuryProgram, ...], default: Checker) -> Checker:
    return ProgramCheck(programs, ProtocolName.ICPC) if programs else default


def read_grader(folder: Folder, settings: IcpcSettings) -> JuryProgram | None:
    """The program for `grading: custom` of the legacy format."""
    found = list(programs_in(folder, "graders", settings))
    if found and not settings.scoring:
        folder.warn("graders: only scoring problems use a grader.")
    if len(found) > 1:
        raise Refused(f"graders: expected one program, found {len(found)}.")
    return found[0] if found else None


def read_static_validator(folder: Folder, settings: IcpcSettings) -> JuryProgram | None:
    if settings.version.is_legacy or not folder.is_directory("static_validator"):
        return None
    found = single_program(folder, "static_validator", settings)
    if found and settings.submit_answer:
        raise Refused("static_validator: a submit-answer problem has none: remove it.")
    return found[0] if found else None


# ---- programs in directories ----


def programs_in(folder: Folder, directory: str, settings: IcpcSettings) -> list[JuryProgram]:
    """Each source file, and each directory with source files or scripts."""
    if is_scripted(folder, directory):
        return [JuryProgram(directory, directory, scripted=True)]
    names = folder.names(directory)
    headers = tuple(below(directory, name) for name in names if is_header(name))
    found: list[JuryProgram] = []
    ignored: list[str] = []
    for name in names:
        path = below(directory, name)
        if folder.is_directory(path):
            program = directory_program(folder, path, settings)
            if program is not None:
                found.append(program)
            else:
                ignored.append(name)
        elif is_source(name):
            warn_of_python2(folder, [path], settings)
            found.append(JuryProgram(name, path, resources=headers))
    folder.warn_ignored(directory, ignored, "they contain no program")
    return found


def single_program(
    folder: Folder, directory: str, settings: IcpcSettings
) -> tuple[JuryProgram, ...]:
    """The program in a directory: its own files, or its only subdirectory."""
    program = directory_program(folder, directory, settings, own_files_only=True)
    if program is not None:
        return (program,)
    found = programs_in(folder, directory, settings)
    if len(found) > 1:
        raise Refused(f"{directory}: expected one program, found {len(found)}.")
    if not found:
        raise Refused(f"{directory}: there is no program in it: put one there or remove it.")
    return tuple(found)


def directory_program(
    folder: Folder, directory: str, settings: IcpcSettings, *, own_files_only: bool = False
) -> JuryProgram | None:
    name = directory.rpartition("/")[2]
    if is_scripted(folder, directory):
        return JuryProgram(name, directory, scripted=True)
    files = [below(directory, each) for each in folder.names(directory)]
    if own_files_only:
        files = [path for path in files if folder.is_file(path)]
    else:
        files = list(folder.files_below(directory))
    sources = [path for path in files if is_source(path)]
    if not sources:
        return None
    if len(files) == 1:
        directory = files[0]
    warn_of_python2(folder, sources, settings)
    return JuryProgram(name, directory)


def is_scripted(folder: Folder, directory: str) -> bool:
    return any(folder.is_file(below(directory, script)) for script in SCRIPTS)


def warn_of_python2(folder: Folder, paths: list[str], settings: IcpcSettings) -> None:
    """Legacy packages may need Python 2, which is not supported."""
    python = [path for path in paths if path.endswith(".py")]
    if not settings.version.is_legacy or len(python) != len(paths):
        return
    if is_python2(first_line(folder, path) for path in python):
        folder.warn(f"{python[0]}: is for Python 2, and is run with Python 3.")


def first_line(folder: Folder, path: str) -> bytes:
    with folder.path(path).open("rb") as stream:
        return stream.readline(FIRST_LINE_BYTES)
