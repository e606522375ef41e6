"""Reads the checker, the interactor and the validator of a Hydro package."""

from pathlib import Path

from deemster.domain.problem import (
    Checker,
    Compare,
    Comparison,
    InputValidator,
    JuryProgram,
    PointsUnit,
    ProgramCheck,
    ProtocolName,
)
from deemster.problems.formats.hydro.config import HydroConfig, SourceFile, find_file, refused
from deemster.problems.formats.testlib_checkers import COMPARISONS

PROTOCOLS = {
    "testlib": ProtocolName.TESTLIB,
    "kattis": ProtocolName.ICPC,
    "syzoj": ProtocolName.SYZOJ,
    "hustoj": ProtocolName.HUSTOJ,
    "lemon": ProtocolName.LEMON,
    "qduoj": ProtocolName.QDUOJ,
}


def read_checker(root: Path, config: HydroConfig) -> Checker:
    match config.checker_type:
        case "default":
            return Comparison(mode=Compare.LINES)
        case "strict":
            return Comparison(mode=Compare.EXACT)
    if config.checker_type not in PROTOCOLS:
        known = ", ".join(("default", "strict", *PROTOCOLS))
        raise refused("checker_type", f"is '{config.checker_type[:40]}': known are {known}.")
    if config.checker is None:
        raise refused("checker", "is missing, though checker_type asks for one: name its file.")
    name = config.checker if isinstance(config.checker, str) else config.checker.file
    if "." not in name:
        return built_in(name)
    program = read_program(root, config, config.checker, "checker")
    return ProgramCheck((program,), PROTOCOLS[config.checker_type], PointsUnit.SHARE_OR_PERCENT)


def built_in(name: str) -> Comparison:
    if name not in COMPARISONS:
        known = ", ".join(COMPARISONS)
        raise refused("checker", f"is '{name[:40]}', without a file: known are {known}.")
    return COMPARISONS[name]


def read_interactor(root: Path, config: HydroConfig) -> ProgramCheck | None:
    if config.type != "interactive":
        return None
    if config.interactor is None:
        raise refused(
            "interactor", "is missing, though the type is interactive: name its file."
        )
    program = read_program(root, config, config.interactor, "interactor")
    return ProgramCheck((program,), ProtocolName.TESTLIB, PointsUnit.SHARE_OR_PERCENT)


def read_validators(root: Path, config: HydroConfig) -> tuple[InputValidator, ...]:
    if config.validator is None:
        return ()
    program = read_program(root, config, config.validator, "validator")
    return (InputValidator(program, ProtocolName.TESTLIB),)


def read_program(
    root: Path, config: HydroConfig, given: str | SourceFile, name: str
) -> JuryProgram:
    source = SourceFile(file=given) if isinstance(given, str) else given
    path = find_file(root, source.file, name)
    beside = [find_file(root, each, "judge_extra_files") for each in config.judge_extra_files]
    return JuryProgram(
        name=name,
        path=path,
        language=None if source.lang == "auto" else source.lang,
        resources=tuple(each for each in beside if each != path),
    )
