"""`deemster languages`: lists the languages with their versions, and tests them."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import typer
import uvloop
from rich.markup import escape
from rich.table import Table

from deemster.cli.exit_codes import ExitCode
from deemster.cli.options import AsJson
from deemster.cli.output import make_table, print_json, table_console
from deemster.cli.progress import Progress
from deemster.domain.language import (
    CompileStep,
    Language,
    LanguageId,
    RunStep,
    fill,
    placeholders,
)
from deemster.programs.build.languages import load_catalogue
from deemster.programs.build.toolchain import Missing, Toolchain, Toolchains, locate
from deemster.programs.selftest import SelfTestResult, self_test
from deemster.settings import load_settings
from deemster.wiring.judging import open_boxes, version_box
from deemster.wiring.privileges import without_service
from deemster.wiring.strongest_sandbox import choose_layers

Found = Toolchain | Missing
Results = Mapping[LanguageId, SelfTestResult]


def languages(
    names: Annotated[
        list[str] | None, typer.Argument(help="Languages to list. [default: all]")
    ] = None,
    as_json: AsJson = False,
    test: Annotated[
        bool, typer.Option("--test", help="Run a test program of each language in the sandbox.")
    ] = False,
    packages: Annotated[
        bool,
        typer.Option("--packages", help="Print only the Debian packages of missing languages."),
    ] = False,
) -> None:
    """List the languages, with the exact version of each that is installed.

    With `--test`, the exit code is 1 if a test program failed.
    """
    catalogue = load_catalogue()
    chosen = [catalogue.named(name) for name in names] if names else list(catalogue)
    if packages:
        for name in missing_packages(chosen):
            print(name)
        return
    found, results = uvloop.run(find_and_test(chosen, test))
    if as_json:
        print_json({"languages": [as_object(each, results) for each in found]})
    else:
        table_console().print(as_table(found, results))
    if any(result.problem for result in results.values()):
        raise typer.Exit(ExitCode.FAILED)


async def find_and_test(chosen: Iterable[Language], test: bool) -> tuple[list[Found], Results]:
    settings, _ = await choose_layers(without_service(load_settings()))
    found = await Toolchains(version_box=version_box(settings)).find_all(chosen)
    if not test:
        return found, {}
    toolchains = [each for each in found if isinstance(each, Toolchain)]
    results: dict[LanguageId, SelfTestResult] = {}
    async with open_boxes(settings, toolchains, keep_page_cache=True) as boxes:
        with Progress() as progress, progress.step("Testing", len(toolchains)) as advance:
            for toolchain in toolchains:
                result = await self_test(boxes, toolchain, settings.work_dir)
                results[toolchain.language.id] = result
                advance()
    return found, results


def missing_packages(chosen: Iterable[Language]) -> list[str]:
    """Only looks for the tools: to ask them for their versions would take a second."""
    missing = [each for each in chosen if isinstance(locate(each), Missing)]
    return sorted({package for language in missing for package in language.packages})


def as_object(each: Found, results: Results) -> dict[str, Any]:
    language = each.language
    tools = each.tools if isinstance(each, Toolchain) else {}
    values: dict[str, Any] = {
        "id": language.id,
        "name": language.name,
        "aliases": list(language.aliases),
        "extensions": list(language.extensions),
        "shared_extensions": list(language.shared_extensions),
        "source_file": language.source.file,
        "template": language.template,
        "packages": list(language.packages),
        "npm": list(language.npm),
        "install": language.installation,
        "found": isinstance(each, Toolchain),
        "version": each.version if isinstance(each, Toolchain) else None,
        "tools": dict(tools),
        "compile": language.compile and step_of(language.compile, tools),
        "run": step_of(language.run, tools),
        "problem": each.reason if isinstance(each, Missing) else None,
    }
    if result := results.get(language.id):
        values["test"] = {
            "ok": not result.problem,
            "problem": result.problem or None,
            "cpu_ms": result.cpu_ms,
            "memory_kb": result.memory_kb,
            "compile_ms": result.compile_ms,
        }
    return values


def step_of(step: CompileStep | RunStep, tools: Mapping[str, str]) -> dict[str, Any]:
    """Fills in the paths of tools; what depends on the program stays a placeholder."""
    names = placeholders((*step.argv, *step.environment.values()))
    values = {name: tools.get(name, f"{{{name}}}") for name in names}
    environment = fill(step.environment.values(), values)
    return {
        "argv": list(fill(step.argv, values)),
        "environment": dict(zip(step.environment, environment, strict=True)),
    }


def as_table(found: list[Found], results: Results) -> Table:
    table = make_table("language", "files", "version", *(("test",) if results else ()))
    for each in found:
        language = each.language
        row = [f"{language.name} [dim]({language.id})[/]"]
        row.append(" ".join(files_of(language)))
        if isinstance(each, Missing) and each.timed_out:
            row.append(f"[yellow]not usable[/]: {escape(each.reason)}")
        elif isinstance(each, Missing):
            row.append(f"[yellow]missing[/]: {escape(language.installation)}")
        else:
            row.append(each.version)
        if result := results.get(language.id):
            row.append(failed(result) if result.problem else passed(result))
        table.add_row(*row)
    return table


def files_of(language: Language) -> list[str]:
    """Extensions in brackets belong to several languages: the user must name the language."""
    own = [f".{extension}" for extension in language.extensions]
    return own + [f"(.{extension})" for extension in language.shared_extensions]


def failed(result: SelfTestResult) -> str:
    return f"[red]failed[/]: {escape(result.problem)}"


def passed(result: SelfTestResult) -> str:
    return f"[green]ok[/] [dim]{result.cpu_ms} ms, {result.memory_kb // 1024} MB[/]"
