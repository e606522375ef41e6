"""`deemster analyze`: static analysis of one program, without a server."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
import uvloop

from deemster.cli.analyze_report import as_object, print_report, tool_object, tools_table
from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson
from deemster.cli.options import Language as LanguageOption
from deemster.cli.output import print_json, table_console
from deemster.cli.run import read_program
from deemster.domain.analysis import Analysis, Analyzer, ToolStatus
from deemster.domain.errors import Refused
from deemster.domain.language import Language
from deemster.domain.source import Source
from deemster.pipeline.analyze.analysis import analyze as run_analysis
from deemster.pipeline.analyze.analyzers import for_language, load_analyzers
from deemster.pipeline.analyze.installed import find_analyzers
from deemster.pipeline.analyze.sarif_writer import sarif_log, to_json
from deemster.programs.build.installed_tool import own_places
from deemster.programs.build.toolchain import locate_tools
from deemster.settings import load_settings
from deemster.wiring.analyzing import open_analysis
from deemster.wiring.judging import version_box
from deemster.wiring.privileges import without_service


def analyze(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Source file of the program.")
    ] = None,
    language: LanguageOption = None,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print a SARIF 2.1.0 log, for editors and CI.")
    ] = False,
    as_json: AsJson = False,
    tools: Annotated[
        bool,
        typer.Option("--tools", help="List the analysers and their versions instead."),
    ] = False,
    packages: Annotated[
        bool,
        typer.Option("--packages", help="Print only the Debian packages of missing analysers."),
    ] = False,
) -> None:
    """Look for mistakes in one program without running it.

    The exit code is 0 if nothing was found, 1 if something was found, and 2 if no analyser
    could be used. For example:

        deemster analyze sum.py
        deemster analyze sum.cpp --sarif > sum.sarif
    """
    analyzers = load_analyzers()
    if packages:
        for name in missing_packages(analyzers):
            print(name)
    elif tools:
        list_tools(analyzers, as_json=as_json)
    elif file is None:
        raise Refused("There is nothing to analyse: give the program's source file.")
    else:
        raise typer.Exit(analyze_file(analyzers, file, language, sarif=sarif, as_json=as_json))


def analyze_file(
    analyzers: Sequence[Analyzer],
    file: Path,
    language_name: str | None,
    *,
    sarif: bool,
    as_json: bool,
) -> ExitCode:
    language, source = read_program(file, language_name)
    usable = for_language(analyzers, [language.id])
    if not usable:
        known = sorted({name for each in analyzers for name in each.languages})
        raise Refused(f"There is no analyser for {language.name}: use {', '.join(known)}.")
    found = uvloop.run(analyze_source(usable, language, source))
    if sarif:
        print(to_json(sarif_log(found, {name: uri_of(file) for name in found.files})))
    elif as_json:
        print_json(as_object(found, str(file)))
    else:
        print_report(found, str(file), language.name)
    if not any(result.status is ToolStatus.OK for result in found.results):
        return ExitCode.UNABLE
    return ExitCode.FAILED if any(found.findings()) else ExitCode.OK


async def analyze_source(
    analyzers: Sequence[Analyzer], language: Language, source: Source
) -> Analysis:
    async with open_analysis(without_service(load_settings()), analyzers) as (boxes, tools):
        return await run_analysis(boxes, tools, language, source)


def uri_of(file: Path) -> str:
    return file.as_uri() if file.is_absolute() else quote(file.as_posix())


def list_tools(analyzers: Sequence[Analyzer], *, as_json: bool) -> None:
    found = uvloop.run(find_analyzers(analyzers, version_box(load_settings())))
    if as_json:
        print_json({"analyzers": [tool_object(each) for each in found]})
    else:
        table_console().print(tools_table(found))


def missing_packages(analyzers: Sequence[Analyzer]) -> list[str]:
    """Only looks for the tools: to ask them for their versions would take a second."""
    places = own_places()
    missing = [each for each in analyzers if isinstance(locate_tools(each, places), str)]
    return sorted({package for analyzer in missing for package in analyzer.packages})
