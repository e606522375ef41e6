"""Maps DMOJ's checkers and interactors to comparisons and programs."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from deemster.domain.problem import (
    Checker,
    Compare,
    Comparison,
    JuryProgram,
    PointsUnit,
    ProgramCheck,
    ProtocolName,
)
from deemster.problems.formats.dmoj.init_file import (
    FILE,
    Files,
    Interactive,
    Kilobytes,
    Seconds,
    find_file,
    refused,
)
from deemster.problems.formats.yaml_file import FileModel, checked, mapping_of

NATIVE = "_checkers"
"""Directory for our programs that replace checkers without an equivalent comparison."""
PYTHON_CALLER = "main.py"
PROTOCOLS = {
    "default": ProtocolName.DMOJ,
    "testlib": ProtocolName.TESTLIB,
    "coci": ProtocolName.DMOJ_COCI,
    "peg": ProtocolName.DMOJ_PEG,
}
BuiltIn = Callable[[Mapping[str, Any], str], Checker]
HARMLESS_FLAGS = ("-O", "-std=", "-W", "-g", "-m", "-pipe", "-lm")


class NoArgs(FileModel):
    feedback: Any = None
    match: None = None


class Floats(FileModel):
    precision: Annotated[int, Field(ge=0, le=30)] = 6
    error_mode: Literal["default", "relative", "absolute"] = "default"


class Identical(FileModel):
    pe_allowed: bool = True


class Sorted(FileModel):
    split_on: Literal["lines", "whitespace"] = "lines"


class Rstripped(FileModel):
    filter_new_line: Any = None


class LineMatches(FileModel):
    point_distribution: list[Annotated[int, Field(ge=0)]] = Field(default_factory=lambda: [1])
    filler_lines_required: bool = True


class Bridged(FileModel):
    files: Files
    lang: str | None = None
    type: str = "default"
    flags: list[str] = Field(default_factory=list)
    args_format_string: str | None = None
    time_limit: Seconds | None = None
    memory_limit: Kilobytes | None = None
    compiler_time_limit: Seconds | None = None
    feedback: bool = True
    cached: bool = True
    treat_checker_points_as_percentage: bool = False


def read_checker(root: Path, given: str | Mapping[str, Any] | None, key_path: str) -> Checker:
    name, args = name_and_args(given, key_path)
    key = f"{key_path}.args"
    if name == "bridged":
        return bridged(root, checked(Bridged, args, FILE, key), key)
    if name in BUILT_IN:
        return BUILT_IN[name](args, key)
    if not name.endswith(".py"):
        raise refused(key_path, f"asks for the checker '{name[:60]}', which is not known.")
    return python_checker(find_file(root, name, key_path), args, key_path)


def name_and_args(
    given: str | Mapping[str, Any] | None, key_path: str
) -> tuple[str, dict[str, Any]]:
    if given is None or isinstance(given, str):
        return given or "standard", {}
    unknown = sorted(set(given) - {"name", "args"})
    if unknown:
        raise refused(f"{key_path}.{unknown[0]}", "is not known: correct or remove it.")
    name = given.get("name")
    if not isinstance(name, str):
        raise refused(f"{key_path}.name", "must name a checker: add it.")
    return name, mapping_of(given.get("args"), FILE, f"{key_path}.args")


def python_checker(path: str, args: Mapping[str, Any], key_path: str) -> ProgramCheck:
    """Our own program calls the checker; the case passes its points as an argument."""
    file = Path(path).name
    if file == PYTHON_CALLER:
        raise refused(key_path, f"is a file called {file}, which is reserved: rename it.")
    program = JuryProgram(
        "checker",
        f"{NATIVE}/{PYTHON_CALLER}",
        "python3",
        resources=(path,),
        args=(file, json.dumps(args, sort_keys=True)),
    )
    return ProgramCheck((program,), ProtocolName.ICPC)


def args_of_case(checker: Checker, points: float | None) -> tuple[str, ...]:
    called = isinstance(checker, ProgramCheck) and checker.programs[0].path.endswith(
        f"{NATIVE}/{PYTHON_CALLER}"
    )
    return (str(1 if points is None else points),) if called else ()


def plain(model: type[FileModel], mode: Compare) -> BuiltIn:
    def read(args: Mapping[str, Any], key: str) -> Checker:
        checked(model, args, FILE, key)
        return Comparison(mode=mode)

    return read


def floats(mode: str = "") -> BuiltIn:
    def read(args: Mapping[str, Any], key: str) -> Checker:
        given = checked(Floats, args, FILE, key)
        tolerance = 10.0**-given.precision
        asked = mode or given.error_mode
        return Comparison(
            mode=Compare.TOKENS,
            absolute=None if asked == "relative" else tolerance,
            relative=None if asked == "absolute" else tolerance,
        )

    return read


def read_sorted(args: Mapping[str, Any], key: str) -> Checker:
    on = checked(Sorted, args, FILE, key).split_on
    return Comparison(mode=Compare.SORTED_LINES if on == "lines" else Compare.SORTED_TOKENS)


def read_native(name: str, model: type[FileModel]) -> BuiltIn:
    def read(args: Mapping[str, Any], key: str) -> Checker:
        given = checked(model, args, FILE, key)
        return native(name, *([given.model_dump_json()] if model is LineMatches else []))

    return read


def native(name: str, *args: str) -> ProgramCheck:
    program = JuryProgram(name, f"{NATIVE}/{name}.py", "python3", args=args)
    return ProgramCheck((program,), ProtocolName.ICPC)


def bridged(root: Path, args: Bridged, key_path: str) -> ProgramCheck:
    unit = PointsUnit.POINTS
    if args.treat_checker_points_as_percentage:
        unit = PointsUnit.PERCENT
    program = read_bridged(root, args, "checker", key_path)
    return ProgramCheck((program,), protocol_of(args.type, key_path), unit)


def read_interactor(root: Path, given: Interactive) -> ProgramCheck:
    if given.type == "peg":
        raise refused("interactive.type", "can't be 'peg', which is for checkers: change it.")
    program = read_bridged(root, given, "interactor", "interactive")
    return ProgramCheck((program,), protocol_of(given.type, "interactive"))


def read_bridged(
    root: Path, given: Bridged | Interactive, name: str, key_path: str
) -> JuryProgram:
    files = [given.files] if isinstance(given.files, str) else given.files
    if not files:
        raise refused(f"{key_path}.files", "names no file: add the source.")
    if given.args_format_string:
        raise refused(f"{key_path}.args_format_string", "can't be chosen here: remove it.")
    for flag in given.flags:
        if not flag.startswith(HARMLESS_FLAGS):
            raise refused(f"{key_path}.flags", f"has {flag[:60]!r}, which can't be given here.")
    paths = [find_file(root, file, f"{key_path}.files") for file in files]
    return JuryProgram(name, paths[0], given.lang, resources=tuple(paths[1:]))


def protocol_of(kind: str, key_path: str) -> ProtocolName:
    if kind not in PROTOCOLS:
        known = ", ".join(PROTOCOLS)
        raise refused(f"{key_path}.type", f"is '{kind[:60]}': known are {known}.")
    return PROTOCOLS[kind]


BUILT_IN: Mapping[str, BuiltIn] = {
    "standard": plain(NoArgs, Compare.TOKENS),
    "identical": plain(Identical, Compare.EXACT),
    "rstripped": plain(Rstripped, Compare.LINES),
    "unordered": plain(NoArgs, Compare.SORTED_TOKENS),
    "sorted": read_sorted,
    "floats": floats(),
    "floatsabs": floats("absolute"),
    "floatsrel": floats("relative"),
    "easy": read_native("easy", NoArgs),
    "linecount": read_native("linecount", NoArgs),
    "linematches": read_native("linematches", LineMatches),
}
"""DMOJ's `standard` compares lines without blank ones; ours ignores all line breaks."""
