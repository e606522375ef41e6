"""`deemster doctor`: each layer of the cage and each toolchain: ok, or how to mend it."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

import typer
import uvloop
from rich.console import Console
from rich.markup import escape

from deemster.pipeline.judge.build.languages import load_catalogue
from deemster.pipeline.judge.build.toolchain import Missing, Toolchains
from deemster.sandbox.checks import Check, check_sandbox
from deemster.settings import Settings, load_settings

EXIT_UNWELL = 1


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Check this machine: every sandbox layer and toolchain, and how to mend what is missing.

    The exit code is 1 when untrusted code can't be run safely here.
    """
    checks = uvloop.run(examine(load_settings(), show=not as_json))
    ok = all(check.ok for check in checks if check.required)
    if as_json:
        print(json.dumps({"ok": ok, "checks": [asdict(check) for check in checks]}))
    elif not ok:
        Console().print(
            "\nUntrusted code can't be run safely here yet. To do without a layer knowingly, "
            "name it in DEEMSTER_SANDBOX_WITHOUT."
        )
    if not ok:
        raise typer.Exit(EXIT_UNWELL)


async def examine(settings: Settings, *, show: bool) -> list[Check]:
    console = Console(highlight=False)
    checks = []
    async for check in all_checks(settings):
        checks.append(check)
        if show:
            console.print(as_line(check), soft_wrap=True)
    return checks


async def all_checks(settings: Settings) -> AsyncIterator[Check]:
    async for check in check_sandbox(settings.runner):
        yield check
    if settings.sandbox_without:
        without = ", ".join(sorted(settings.sandbox_without))
        mend = "Unset DEEMSTER_SANDBOX_WITHOUT when the checks above hold."
        yield Check("layers given up", ok=False, detail=without, mend=mend, required=False)
    for found in await Toolchains().find_all(load_catalogue()):
        name = f"language {found.language.id}"
        if isinstance(found, Missing):
            mend = found.language.installation
            yield Check(name, ok=False, detail=found.reason, mend=mend, required=False)
        else:
            yield Check(name, ok=True, detail=found.version)


def as_line(check: Check) -> str:
    mark = (
        "[green]ok  [/]"
        if check.ok
        else "[red]no  [/]"
        if check.required
        else "[yellow]note[/]"
    )
    line = f"{mark} {escape(check.name)}: {escape(check.detail)}"
    return f"{line}\n     [bold]{escape(check.mend)}[/]" if check.mend else line
